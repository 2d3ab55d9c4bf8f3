"""A compaction as it is audited: everything that a later question about it can be answered from."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from contextctl.core.compaction.planned import Planned
from contextctl.core.compaction.zone import Zone
from contextctl.core.fold.state import State
from contextctl.core.fold.view import Piece, Stretch
from contextctl.core.remedies.trim import stretch_list
from contextctl.core.summary.mechanical import VERSION
from contextctl.model.audit import Compaction, PinKept
from contextctl.model.history_summary import Summary


def audited(
    state: State,
    plan: Planned,
    zone: Zone,
    summary: Summary,
    raw: Sequence[Stretch],
    piece: Piece,
    *,
    by: str,
) -> Compaction:
    """The record of one try. ``raw`` are the stretches of the whole text, all of them."""
    refs = tuple(one.ref for one in raw)
    return Compaction(
        compaction_id=plan.id,
        thread_id=state.task,
        step=state.step + 1,
        trigger=plan.trigger,
        outcome="committed" if plan.generation else "replaced",
        raw_ref=refs[0] if len(refs) == 1 else state.offload(stretch_list(raw, "\n") + "\n"),
        raw_refs=refs,
        summary=summary.to_json(),
        pinned_keys=(*state.pins, *(("todo",) if state.todo else ())),
        pins=tuple(_kept(state, zone, key, text) for key, text in state.pins.items()),
        tokens_before=zone.tokens,
        tokens_after=piece.tokens,
        tokens_raw=raw_tokens(zone),
        messages=len(zone.leaving),
        generation=plan.generation,
        event_from=plan.events[0],
        event_to=plan.events[1],
        repaired=tuple(call_id for call_id, _ in state.compacting.repaired),
        loaded=tuple(name for name in state.loaded if name in state.deferred),
        by=by,
        version=VERSION if by == "mechanical" else "",
        usage=dict(state.compacting.usage),
    )


def raw_tokens(zone: Zone) -> int:
    """What the messages that leave took before anything was trimmed."""
    return sum(
        piece.segment.before
        if piece.segment
        else piece.summarised.before
        if piece.summarised
        else piece.tokens
        for piece in zone.leaving
    )


def _kept(state: State, zone: Zone, key: str, text: str) -> PinKept:
    sha256 = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return PinKept(key, text, sha256, _source(state, zone, key, text))


def _source(state: State, zone: Zone, key: str, text: str) -> str:
    """Where a pin comes from: a message of the user that holds it verbatim, else what set it."""
    for piece in (*zone.leaving, *state.view.pieces):
        if piece.kind == "user" and text in piece.raw:
            return piece.event
    return state.pin_sources.get(key, "")
