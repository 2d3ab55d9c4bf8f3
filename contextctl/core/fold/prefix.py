"""The prefix: resident layers, most stable first, and the tool array, both with stable bytes.

A provider's cache reuses a request up to its first changed byte, so what changes rarely stands
first, whatever order a profile declares. Cache is an ordering principle only: a layer or a tool
that really changed is always sent (SPEC P3), and the ledger says what that broke.
"""

from __future__ import annotations

import hashlib

from contextctl.core.fold.index_layer import index_changes, index_text
from contextctl.core.fold.state import State
from contextctl.core.fold.view import Piece
from contextctl.model.profile_parts import STABILITIES, PrefixLayer

_JOIN = "\n\n"
_MESSAGE_OVERHEAD = 4
_JOIN_TOKENS = 1


def refresh_layers(state: State) -> None:
    """Render the resident layers into the first message, if any of them changed.

    The environment layer shows the readings accepted last (``environment_shown``): a new date
    enters it at a batch, when the prefix is rewritten anyway, and stands at the tail until then.
    """
    texts = {la.id: _layer_text(la, state) for la in _ordered(state.profile.prefix)}
    texts = {name: text for name, text in texts.items() if text.strip()}
    known = {name: digest for name, (_, _, digest) in state.layers.items()}
    digests = {name: _digest(text) for name, text in texts.items()}
    if digests == known:
        return
    state.layers_changed = frozenset(
        name for name, digest in digests.items() if known.get(name) != digest
    ) | frozenset(known.keys() - digests.keys())
    count = state.counter.text
    state.layers = {
        name: (text, count(text) + (_JOIN_TOKENS if index else _MESSAGE_OVERHEAD), digests[name])
        for index, (name, text) in enumerate(texts.items())
    }
    _place(state, had=bool(known))


def _place(state: State, *, had: bool) -> None:
    view = state.view
    fresh = []
    if state.layers:
        content = _JOIN.join(text for text, _, _ in state.layers.values())
        buckets = {la.id: _bucket(la) for la in state.profile.prefix}
        parts = tuple(
            (f"{buckets[name]}.{name}", tokens) for name, (_, tokens, _) in state.layers.items()
        )
        fresh = [
            Piece(
                seq=0,
                step=0,
                kind="system",
                message={"role": "system", "content": content},
                parts=parts,
                event="profile",
            )
        ]
    first = next((n for n in state.layers if n in state.layers_changed), "")
    view.replace(0, 1 if had else 0, fresh, f"layer:{first or min(state.layers_changed)}")


def environment_news(state: State) -> list[str]:
    """Readings that changed since the environment layer was last written, one line each."""
    declared = [key for layer in state.profile.prefix for key in layer.environment]
    now, shown = state.environment, state.environment_shown
    return [
        f"- {key} is now: {now[key]}"
        for key in declared
        if key in now and now[key] != shown.get(key)
    ]


def index_news(state: State) -> list[str]:
    """What an index lists now and its layer does not show yet, and what it shows that is gone."""
    lines = []
    for layer in state.profile.prefix:
        now = state.indexes.get(layer.index or "", ())
        shown = state.indexes_shown.get(layer.index or "", ())
        if now != shown:
            lines += index_changes(layer, state, shown, now)
    return lines


def accept_environment(state: State) -> None:
    """Let the newest readings into the environment and index layers."""
    state.environment_shown = dict(state.environment)
    state.indexes_shown = dict(state.indexes)
    refresh_layers(state)


def _ordered(layers: tuple[PrefixLayer, ...]) -> list[PrefixLayer]:
    return sorted(layers, key=lambda layer: STABILITIES.index(layer.stability))


def _bucket(layer: PrefixLayer) -> str:
    return "memory" if layer.index == "memory" else "system"


def _layer_text(layer: PrefixLayer, state: State) -> str:
    if layer.kind == "environment":
        shown = state.environment_shown
        return "\n".join(f"{key}: {shown[key]}" for key in layer.environment if key in shown)
    if layer.index is not None:
        return index_text(state, layer, state.indexes_shown.get(layer.index, ()))
    return layer.text


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
