"""Shape: tool results show what a step needs, say what they leave out, and keep the rest by ref."""

from __future__ import annotations

from dataclasses import dataclass, replace

from contextctl.core.digest.facts import omitted_names
from contextctl.core.fold.state import State
from contextctl.core.fold.stretches import older_units
from contextctl.core.fold.view import Piece
from contextctl.core.reading.refs import content_hash, make_ref
from contextctl.core.remedies.reference import reduced_form
from contextctl.core.shaping import Shaped, shape_result, unwrapped
from contextctl.model.ledger import Action
from contextctl.model.own_sources import OWN_SOURCES
from contextctl.model.record import ResultArrived
from contextctl.model.shaping import ShapeCall, ShapeRule
from contextctl.model.tool_rules import ResultRule

EMPTY = "(no output)"


@dataclass(frozen=True, slots=True)
class Arrival:
    """A result as it enters the window. ``raw_tokens`` is what it would have cost whole."""

    text: str
    tokens: int
    raw_tokens: int
    ref: str = ""
    action: Action | None = None
    raw: str = ""
    whitelisted: bool = False

    @property
    def telling(self) -> str:
        """The text whose facts a digest may carry: a whitelist has said which ones matter, a cut
        has not."""
        return self.text if self.whitelisted else self.raw


def shape_arrival(state: State, event: ResultArrived) -> Arrival:
    """Shape a new result by its rule, in the mode of the zone before it arrived."""
    profile, raw = state.profile, event.content
    raw_tokens = state.counter.text(raw)
    if not profile.remedies.shape or event.name in state.readers or _is_own(state, event.name):
        text = raw or EMPTY
        return Arrival(text, state.counter.text(text), raw_tokens, raw=raw)
    mode = profile.shaping.by_zone.at(state.zone)
    call = ShapeCall(event.call_id, event.status, omitted_facts=omitted_names)
    shaped = _shape(state, event.name, raw, mode, call)
    kind = "refer" if mode == "ref" else "shape"
    if profile.remedies.offload and shaped.tokens > profile.workspace.offload_over:
        shaped, kind = _shape(state, event.name, raw, "ref", call), "offload"
    for warning in shaped.warnings:
        state.warn(f"{event.name}: {warning}")
    if shaped.text == raw or (shaped.lossless and shaped.tokens >= raw_tokens):
        return Arrival(shaped.text, shaped.tokens, raw_tokens, raw=raw)
    ref = "" if shaped.lossless else state.offload(unwrapped(raw), shaped.media)
    action = _action(state, kind, event.name, raw_tokens, shaped.tokens, ref)
    whitelisted = profile.result_rule(event.name).fields is not None
    return Arrival(shaped.text, shaped.tokens, raw_tokens, ref, action, raw, whitelisted)


def shape_older(state: State, goal: int) -> None:
    """Turn large results outside the protected steps into references, oldest first."""
    profile = state.profile
    if not profile.remedies.shape:
        return
    for unit in older_units(state.view.pieces, profile.compaction.protect_steps):
        for offset, piece in enumerate(unit.pieces):
            if state.total <= goal:
                return
            large = piece.tokens > profile.compaction.pre_compact_over
            if large and piece.kind in ("result", "note"):
                refer(state, unit.start + offset, piece)


def refer(state: State, index: int, piece: Piece) -> None:
    """Show a result that already stands in the window as a reference to its whole text."""
    session = (state.session, state.key)
    shaped = reduced_form(
        state.profile, state.counter, session, piece.name, piece.call_id, piece.raw
    )
    shown = str(piece.message["content"]).removeprefix(piece.label)
    framing = piece.tokens - state.counter.text(shown)
    if shaped.tokens + framing >= piece.tokens:
        return
    ref = state.offload(unwrapped(piece.raw), shaped.media)
    tokens = shaped.tokens + framing
    before = piece.action.tokens_before if piece.action else piece.tokens
    action = replace(_action(state, "refer", piece.name, before, tokens, ref), target=piece.event)
    fresh = Piece(
        seq=piece.seq,
        step=piece.step,
        kind=piece.kind,
        message={**piece.message, "content": piece.label + shaped.text},
        parts=((piece.parts[0][0], tokens),),
        raw=piece.raw,
        name=piece.name,
        call_id=piece.call_id,
        label=piece.label,
        facts=piece.facts,
        action=action,
        ref=ref,
        event=piece.event,
    )
    state.view.replace(index, index + 1, [fresh])
    state.take(action)


def _shape(state: State, name: str, raw: str, mode: str, call: ShapeCall) -> Shaped:
    ref = make_ref(state.session, state.key, content_hash(unwrapped(raw)))
    rule = ShapeRule.of(state.profile, name)
    return shape_result(raw, rule, mode, state.counter, ref, state.profile.shaping.locale, call)


def _is_own(state: State, name: str) -> bool:
    """Whether a tool is one that contextctl brings along: its answers are bounded already."""
    if any(spec.name == name for spec in state.listed.get("profile", ())):
        return False
    return any(spec.name == name for source in OWN_SOURCES for spec in state.listed.get(source, ()))


def _action(state: State, kind: str, name: str, before: int, after: int, ref: str) -> Action:
    declared = state.profile.result_rule(name) != ResultRule()
    rule = f"/tools/{name}/result" if declared else "/shaping"
    if kind == "offload":
        rule = "/workspace/offload_over"
    return Action(
        kind=kind,
        target=state.event,
        bucket="tool_results",
        tokens_before=before,
        tokens_after=after,
        rule=rule,
        origin=state.profile.origin(f"{rule}/max_tokens" if rule == "/shaping" else rule),
        ref=ref,
    )
