"""Compact: the last remedy. Older messages leave, one structured summary stands in their place.

A summary is made once, from the messages themselves, and is frozen like a digest; it carries the
refs of the whole text. Summaries that outgrow their room are merged with new messages into the next
generation, and past the last generation refs take their place. Everything is checked afterwards; a
window that fails a check is not shown, and either way the try is audited.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from contextctl.core.checks import faults_after
from contextctl.core.compaction.due import (
    due,
    note_saving,
    out_of_reach,
    pause_now,
    saved_enough,
    threshold,
)
from contextctl.core.compaction.gather import gather, standing, stretches
from contextctl.core.compaction.zone import Zone, find_zone, summary_tokens, user_pieces
from contextctl.core.count import message_parts
from contextctl.core.pins import accept_pins
from contextctl.core.prefix import accept_environment
from contextctl.core.remedies.trim import stretch_list
from contextctl.core.state import Saved, State, Waiting
from contextctl.core.summary.material import Material
from contextctl.core.summary.mechanical import VERSION, mechanical_summary
from contextctl.core.summary.pinned import without_pins
from contextctl.core.summary.render import HEADING, REFUSED_MORE, summary_text
from contextctl.core.tail import tail_message
from contextctl.core.view import Piece, Stretch, Summarised
from contextctl.model.assembly import Need
from contextctl.model.audit import Compaction, PinKept
from contextctl.model.history_summary import Summary, summary_from_json
from contextctl.model.ledger import Action
from contextctl.model.message import Message
from contextctl.model.record import SummaryMade, event_id

# What a summary keeps of the lines that the same steps would have in digests, and of the window.
KEEP_LINES, KEEP_WINDOW = 0.6, 0.5
LEAST_BUDGET = 100
# Summaries that take more of the room than this are merged at the next compaction.
SUMMARY_SHARE = 0.25
# Refs that stand in one summary; older ones stand behind a list, which is one ref itself.
MAX_REFS = 40


@dataclass(frozen=True, slots=True)
class _Plan:
    """One compaction before it is carried out. ``generation`` 0: a further one is refused."""

    id: str
    trigger: str
    zone: Zone
    material: Material
    budget: int
    generation: int
    steps: tuple[int, int]
    events: tuple[int, int]


def compact_when_due(state: State, *, reduced: bool) -> None:
    """Compact when it is time. A model's summary is a need; the mechanical one stands till then."""
    trigger = due(state, reduced=reduced)
    if trigger is None:
        return
    plan = _plan(state, trigger)
    if plan is None:
        if trigger == "ratio":
            pause_now(state, trigger)
        return
    summarizer = state.profile.compaction.summarizer
    asked = summarizer.kind == "model" and plan.generation > 0
    if asked:
        state.waiting = Waiting(_need(state, plan), trigger, state.save())
    _carry_out(state, plan, fallback="no model was asked" if asked else "")


def answer(state: State, event: SummaryMade) -> bool:
    """Take in the summary a model wrote; whether it was waited for.

    The window goes back to what it was before the mechanical summary, and the compaction is done
    again with the model's. One that is no summary leaves the mechanical one in place.
    """
    waiting = state.waiting
    if waiting is None or waiting.need.id != event.need:
        return False
    seq = state.seq
    state.go_back(waiting.before)
    state.seq = seq
    state.compacting.usage = dict(event.usage)
    plan = _plan(state, waiting.trigger)
    if plan is None:  # it was made from the same state before
        raise ValueError(f"compaction {event.need} cannot be repeated")
    try:
        summary = summary_from_json(dict(event.body))
    except ValueError as error:
        _carry_out(state, plan, fallback=event.fault or str(error))
    else:
        _carry_out(state, plan, summary)
    return True


def _plan(state: State, trigger: str) -> _Plan | None:
    """What to compact and how far; None when there is nothing, or nothing to be gained."""
    room = max(state.allowance.usable - state.fixed, 1)
    merge = summary_tokens(state) > SUMMARY_SHARE * room
    zone = find_zone(state, merge=merge)
    if trigger == "ratio":
        zone = _wide_enough(state, zone, merge=merge)
        if zone is not None and out_of_reach(state) is not None:
            after = state.total - int((1 - KEEP_WINDOW) * zone.tokens)
            fits = state.total <= state.allowance.usable
            if fits and not saved_enough(state, state.total, after):
                return None
    if zone is None:
        return None
    material = gather(state, zone)
    lines = state.counter.text("\n".join(map(str, material.lines)))
    most = int(KEEP_WINDOW * zone.tokens)
    budget = max(min(int(KEEP_LINES * lines), most), min(LEAST_BUDGET, most))
    generation = 1 + max((p.summarised.generation for p in zone.merged if p.summarised), default=0)
    if generation > state.profile.compaction.max_generation:
        generation = 0
    steps, events = _covers(state, zone)
    return _Plan(
        _compaction_id(state, events), trigger, zone, material, budget, generation, steps, events
    )


def _wide_enough(state: State, zone: Zone | None, *, merge: bool) -> Zone | None:
    """The zone, with as many users' messages, oldest first, as the window has to do without.

    They stay when the window gets below the ratio without that; else it goes down to the target.
    """
    allowed = state.allowance
    after = state.total - int((1 - KEEP_WINDOW) * (zone.tokens if zone else 0))
    if after < threshold(state):
        return zone
    excess = after - allowed.tokens(allowed.target, state.fixed)
    users: set[int] = set()
    for piece in user_pieces(state):
        if excess <= 0:
            break
        users.add(id(piece))
        excess -= int((1 - KEEP_WINDOW) * piece.tokens)
    return find_zone(state, merge=merge, users=users) if users else zone


def _carry_out(
    state: State, plan: _Plan, model: Summary | None = None, *, fallback: str = ""
) -> None:
    """Put the summary in its place, check the window, and note the try."""
    saved, total = state.save(), state.total
    accept_environment(state)
    accept_pins(state)
    state.tail = tail_message(state)
    zone = _found_again(state, plan.zone)
    summary = _summary(state, plan, zone, model)
    summary = without_pins(summary, state.pins)
    shown = stretches(state, zone)
    listed = _listed(state, shown)
    piece = _piece(state, plan, zone, summary, listed, _carried(plan, model))
    for staying in zone.staying:
        staying.settled = True
    state.view.replace(zone.start, zone.stop, [*zone.staying, piece], piece.event)
    failed = faults_after(saved.state, state)
    record = _audited(state, plan, zone, summary, shown, piece)
    record = replace(
        record,
        window_before=total,
        by="mechanical" if model is None else "model",
        version=VERSION if model is None else "",
        fallback=fallback,
        failed=failed,
        usage=dict(state.compacting.usage),
    )
    if failed:
        _discard(state, saved, record)
    else:
        state.take(piece.action)
        state.compacting.repaired.clear()
        state.compacting.tried.append(replace(record, window_after=state.total))
    state.compacting.last_step = state.step
    note_saving(state, total, trigger=plan.trigger)


def _discard(state: State, saved: Saved, record: Compaction) -> None:
    """The history as it was; the try is told and audited."""
    state.go_back(saved)
    state.warn(f"compaction {record.compaction_id} was discarded: {'; '.join(record.failed)}")
    state.compacting.tried.append(
        replace(record, outcome="discarded", tokens_after=record.tokens_before,
                window_after=record.window_before)
    )  # fmt: skip


def _found_again(state: State, zone: Zone) -> Zone:
    """The same zone after the pin block or the first message was rewritten before it."""
    first = zone.leaving[0]
    start = next(i for i, piece in enumerate(state.view.pieces) if piece is first)
    return replace(zone, start=start, stop=start + zone.stop - zone.start)


def _summary(state: State, plan: _Plan, zone: Zone, model: Summary | None) -> Summary:
    if model is not None:
        return model
    if plan.generation == 0:
        return Summary(negatives=tuple(f"{step}: {text}" for step, text in plan.material.refused))
    stands = standing(state, zone)
    return mechanical_summary(plan.material, plan.budget, state.counter.text, stands)


def _piece(
    state: State,
    plan: _Plan,
    zone: Zone,
    summary: Summary,
    shown: tuple[Stretch, ...],
    material: Material,
) -> Piece:
    locale = state.profile.shaping.locale
    form = (HEADING if plan.generation else REFUSED_MORE)[locale]
    first, last = plan.steps
    heading = form.format(
        id=plan.id, first=first, last=last, generation=plan.generation,
        refs=stretch_list(shown, ", ") if shown else "-",
    )  # fmt: skip
    message = Message(role="user", content=summary_text(summary, heading, locale))
    tokens = sum(message_parts(message, state.counter).values())
    rule = f"/compaction/when/{plan.trigger}"
    first_event, last_event = map(event_id, plan.events)
    return Piece(
        seq=state.seq,
        step=first,
        kind="summary",
        message=message.to_openai(),
        parts=(("history.summary", tokens),),
        raw=str(message.content),
        event=first_event,
        action=Action(
            kind="compact",
            target=f"{first_event}..{last_event}",
            bucket="history",
            tokens_before=zone.tokens,
            tokens_after=tokens,
            rule=rule,
            origin=state.profile.origin(rule),
            ref=shown[0].ref if shown else "",
        ),
        settled=True,
        summarised=Summarised(
            material=material,
            stretches=shown,
            generation=plan.generation,
            steps=plan.steps,
            events=plan.events,
            before=_before(zone),
        ),
    )


def _carried(plan: _Plan, model: Summary | None) -> Material:
    """What the next generation is made from: the lines, or what a model made of them."""
    material = plan.material
    if plan.generation == 0:
        return Material(refused=material.refused)
    if model is None:
        return material
    return Material(refused=material.refused, sources=material.sources, previous=(model,))


def _audited(
    state: State,
    plan: _Plan,
    zone: Zone,
    summary: Summary,
    shown: tuple[Stretch, ...],
    piece: Piece,
) -> Compaction:
    refs = tuple(one.ref for one in shown)
    raw_ref = refs[0] if len(refs) == 1 else state.offload(stretch_list(shown, "\n") + "\n")
    pins = tuple(
        PinKept(
            key, text, hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
            _source(state, key, text, zone),
        )
        for key, text in state.pins.items()
    )  # fmt: skip
    return Compaction(
        compaction_id=plan.id,
        thread_id=state.task,
        step=state.step + 1,
        trigger=plan.trigger,
        outcome="committed" if plan.generation else "replaced",
        raw_ref=raw_ref,
        raw_refs=refs,
        summary=summary.to_json(),
        pinned_keys=tuple(state.pins) + (("todo",) if state.todo else ()),
        pins=pins,
        tokens_before=zone.tokens,
        tokens_after=piece.tokens,
        tokens_raw=_before(zone),
        messages=len(zone.leaving),
        generation=plan.generation,
        event_from=plan.events[0],
        event_to=plan.events[1],
        repaired=tuple(call_id for call_id, _ in state.compacting.repaired),
    )


def _source(state: State, key: str, text: str, zone: Zone) -> str:
    """Where a pin comes from: a message that holds it verbatim, else what set it."""
    for piece in (*zone.leaving, *state.view.pieces):
        if piece.kind == "user" and text in piece.raw:
            return piece.event
    return state.pin_sources.get(key, "")


def _need(state: State, plan: _Plan) -> Need:
    """What the loop is asked for: a summary of the events of the record, by the model named."""
    return Need(
        id=plan.id,
        kind="summary",
        body={
            "compaction_id": plan.id,
            "generation": plan.generation,
            "event_from": plan.events[0],
            "event_to": plan.events[1],
            "step_from": plan.steps[0],
            "step_to": plan.steps[1],
            "pinned_keys": list(state.pins),
            "previous": [str(piece.message.get("content")) for piece in plan.zone.merged],
        },
    )


def _covers(state: State, zone: Zone) -> tuple[tuple[int, int], tuple[int, int]]:
    """First and last step, first and last event of what leaves."""
    steps: list[int] = []
    events: list[int] = []
    for piece in zone.leaving:
        known = piece.summarised
        steps += known.steps if known else (piece.step,)
        events += known.events if known else (int(piece.event[1:] or 0),)
        if piece.segment is not None:
            steps += [line.number for line in piece.segment.lines[-1:]]
            steps += [one.last for one in piece.segment.stretches[-1:]]
    behind = state.view.pieces[zone.stop : zone.stop + 1]
    last_event = int(behind[0].event[1:]) - 1 if behind else state.seq
    return (min(steps), max(steps)), (min(events), max(last_event, *events))


def _before(zone: Zone) -> int:
    return sum(
        piece.segment.before
        if piece.segment
        else piece.summarised.before
        if piece.summarised
        else piece.tokens
        for piece in zone.leaving
    )


def _listed(state: State, shown: tuple[Stretch, ...]) -> tuple[Stretch, ...]:
    """The stretches that stand in the summary, the older ones behind the ref of a list."""
    if len(shown) <= MAX_REFS:
        return shown
    older, newer = shown[: -MAX_REFS // 2], shown[-MAX_REFS // 2 :]
    ref = state.offload(stretch_list(older, "\n") + "\n")
    return (Stretch(older[0].first, older[-1].last, ref), *newer)


def _compaction_id(state: State, events: tuple[int, int]) -> str:
    text = f"{state.key} {state.task} {state.step} {events[0]} {events[1]}"
    return "c" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]
