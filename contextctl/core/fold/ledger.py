"""The report of one step, read off the state. Nothing is decided here."""

from __future__ import annotations

import hashlib

from contextctl.core.count import scaled
from contextctl.core.fold.state import DEFAULT_WINDOW, State
from contextctl.core.fold.tool_array import held_tool_tokens
from contextctl.model.ledger import BUCKETS, Action, Item, LayerUse, LedgerReport, PrefixUse

# Layers and pins are written by contextctl itself: without any action they would be the same.
_NEVER_REDUCED = ("system", "memory")


def report(state: State, tail_mark: bytes) -> LedgerReport:
    """The ledger of the window as it stands, with the tail block of this step."""
    tail_tokens = state.tail[1] if state.tail else 0
    parts = {part: tokens for part, tokens in state.view.parts.items() if tokens}
    parts.update(state.tool_parts)
    if state.unseen:
        parts["system.unseen"] = state.unseen
    if tail_tokens:
        parts["query.reminders"] = tail_tokens
    total = state.total
    allowed, factor = state.allowance, state.factor
    counted = scaled(dict(sorted(parts.items())), factor)
    model = state.profile.model
    usable = (model.window or DEFAULT_WINDOW) - model.reserve_output
    zone = allowed.zone(total, state.fixed)
    sent = sum(counted.values())
    return LedgerReport(
        task=state.task,
        step=state.step + 1,
        status="overflow" if zone == "overflow" else "ok",
        model=model.name,
        tokenizer=state.counter.name,
        exact=state.counter.exact,
        factor=factor,
        window=model.window or DEFAULT_WINDOW,
        reserve_output=model.reserve_output,
        usable=usable,
        buckets=_buckets(counted),
        parts=counted,
        raw_buckets=_buckets(scaled(_raw(state, tail_tokens), factor)),
        total=sent,
        ratio=round(min(allowed.ratio(total, state.fixed), 9999.0), 4),
        zone=zone,
        zone_before=state.zone_before,
        actions=_actions(state),
        prefix=_prefix(state),
        digest=_digest(state, tail_mark),
        items=_items(state, tail_tokens),
        warnings=tuple(state.warnings),
        measured={"summary": dict(state.compacting.usage)} if state.compacting.usage else {},
    )


def _raw(state: State, tail_tokens: int) -> dict[str, int]:
    raw = dict(state.raw_parts)
    for name, tokens in state.view.parts.items():
        own = name.partition(".")[0] in _NEVER_REDUCED or name == "history.pins"
        if own and name not in raw:
            raw[name] = tokens
    for name, tokens in (*state.tool_parts.items(), *state.waiting_schemas.items()):
        raw[name] = raw.get(name, 0) + tokens
    raw["system.unseen"] = state.unseen
    raw["query.reminders"] = tail_tokens
    return dict(sorted(raw.items()))


def _buckets(parts: dict[str, int]) -> dict[str, int]:
    buckets = dict.fromkeys(BUCKETS, 0)
    for part, tokens in parts.items():
        buckets[part.partition(".")[0]] += tokens
    return buckets


def _actions(state: State) -> tuple[Action, ...]:
    """Those in force in this window, in its order; the ones this step took are marked new."""
    fresh = {(action.kind, action.target): action for action in state.new_actions}
    standing = (piece.action for piece in state.view.pieces if piece.action is not None)
    actions = (*state.deferrals.values(), *standing)
    out = tuple(fresh.get((action.kind, action.target), action) for action in actions)
    pause = state.compacting.pause
    return out if pause is None else (*out, fresh.get((pause.kind, pause.target), pause))


def _prefix(state: State) -> PrefixUse:
    layers = tuple(
        LayerUse(name, tokens, digest, name in state.layers_changed)
        for name, (_, tokens, digest) in state.layers.items()
    )
    if state.tools_changed:
        return PrefixUse(layers, held_tool_tokens(state), "tools")
    held = state.view.held_tokens() + sum(state.tool_parts.values())
    return PrefixUse(layers, held if state.step else 0, state.view.broke_at)


def _digest(state: State, tail_mark: bytes) -> str:
    joined = state.tools_mark + state.view.chain() + tail_mark
    return "sha256:" + hashlib.sha256(joined).hexdigest()


def _items(state: State, tail_tokens: int) -> tuple[Item, ...]:
    items = [piece.item for piece in state.view.pieces]
    if tail_tokens:
        items.append(Item("tail", "user", "query", "query.reminders", tail_tokens))
    return tuple(items)
