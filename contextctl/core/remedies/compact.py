"""Compact: the last remedy. Older messages leave, one structured summary stands in their place.

A summary is made once, from the messages themselves, and is frozen like a digest; it carries the
refs of the whole text. Summaries that outgrow their room are merged with new messages into the next
generation, and past the last generation refs take their place. Everything is checked afterwards; a
window that fails a check is not shown, and either way the try is audited.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from contextctl.core.compaction.audited import audited, raw_tokens
from contextctl.core.compaction.checks import faults_after
from contextctl.core.compaction.due import due, is_too_little, note_saving, pause_now
from contextctl.core.compaction.gather import standing, stretches
from contextctl.core.compaction.planned import Planned, need_of, plan_compaction
from contextctl.core.compaction.zone import Zone
from contextctl.core.count import message_parts
from contextctl.core.fold.pins import accept_pins
from contextctl.core.fold.prefix import accept_environment
from contextctl.core.fold.state import Saved, State, Waiting
from contextctl.core.fold.tail import tail_message
from contextctl.core.fold.view import Piece, Stretch, Summarised
from contextctl.core.remedies.trim import stretch_list
from contextctl.core.summary.material import Material
from contextctl.core.summary.mechanical import mechanical_summary
from contextctl.core.summary.pinned import without_pins
from contextctl.core.summary.render import HEADING, REFUSED_MORE, summary_text
from contextctl.model.audit import Compaction
from contextctl.model.history_summary import Summary, summary_from_json
from contextctl.model.ledger import Action
from contextctl.model.message import Message
from contextctl.model.record import SummaryMade, event_id

# Refs that stand in one summary; older ones stand behind a list, which is one ref itself.
MAX_REFS = 40


def compact_when_due(state: State, *, reduced: bool) -> None:
    """Compact when it is time. A model's summary is a need; the mechanical one stands till then.

    ``reduced`` tells whether the remedies before this one were tried in this step.
    """
    trigger = due(state, reduced=reduced)
    if trigger is None:
        return
    plan = plan_compaction(state, trigger)
    if plan is None:
        if trigger == "ratio":
            pause_now(state)
        return
    if trigger == "stage_end" and is_too_little(state, plan.zone.tokens):
        return
    asks = state.profile.compaction.summarizer.kind == "model" and plan.generation > 0
    if asks:
        state.waiting = Waiting(need_of(state, plan), trigger, state.save())
    _carry_out(state, plan, fallback="no model was asked" if asks else "")


def answer(state: State, event: SummaryMade) -> bool:
    """Take in the summary a model wrote; whether it was waited for.

    The window goes back to what it was before the mechanical summary, and the compaction is done
    again with the model's. One that is no summary leaves the mechanical one in place.
    """
    waiting, seq = state.waiting, state.seq
    if waiting is None or waiting.need.id != event.need:
        return False
    state.go_back(waiting.before)
    state.seq = seq
    state.compacting.usage = dict(event.usage)
    plan = plan_compaction(state, waiting.trigger)
    if plan is None:  # the same state gave one before
        raise ValueError(f"compaction {event.need} cannot be repeated")
    try:
        summary = summary_from_json(dict(event.body))
    except ValueError as error:
        _carry_out(state, plan, fallback=event.fault or str(error))
    else:
        _carry_out(state, plan, summary)
    return True


def _carry_out(
    state: State, plan: Planned, model: Summary | None = None, *, fallback: str = ""
) -> None:
    """Put the summary in its place, check the window, and note the try."""
    saved, total = state.save(), state.total
    accept_environment(state)
    accept_pins(state)
    state.tail = tail_message(state)
    zone = _found_again(state, plan.zone)
    summary = without_pins(_summary(state, plan, zone, model), state.pins)
    raw = stretches(state, zone)
    piece = _piece(state, plan, zone, summary, _listed(state, raw), _carried(plan, model))
    for staying in zone.staying:
        staying.settled = True
    state.view.replace(zone.start, zone.stop, [*zone.staying, piece], piece.event)
    by = "mechanical" if model is None else "model"
    record = replace(
        audited(state, plan, zone, summary, raw, piece, by=by),
        fallback=fallback,
        window_before=total,
        failed=faults_after(saved.state, state),
    )
    if record.failed:
        _discard(state, saved, record)
    else:
        state.take(piece.action)
        state.compacting.repaired.clear()
        state.compacting.tried.append(replace(record, window_after=state.total))
    state.compacting.last_step = state.step
    note_saving(state, total)


def _discard(state: State, saved: Saved, record: Compaction) -> None:
    """The history as it was; the try is told and audited, its raw text stored all the same."""
    offloads = state.offloads
    state.go_back(saved)
    state.offloads = offloads
    state.warn(f"compaction {record.compaction_id} was discarded: {'; '.join(record.failed)}")
    before = record.tokens_before
    state.compacting.tried.append(
        replace(record, outcome="discarded", tokens_after=before, window_after=state.total)
    )


def _found_again(state: State, zone: Zone) -> Zone:
    """The same zone after the pin block or the first message was rewritten before it."""
    first = zone.leaving[0]
    start = next(i for i, piece in enumerate(state.view.pieces) if piece is first)
    return replace(zone, start=start, stop=start + zone.stop - zone.start)


def _summary(state: State, plan: Planned, zone: Zone, model: Summary | None) -> Summary:
    if model is not None:
        return model
    if plan.generation == 0:
        return Summary(negatives=tuple(f"{step}: {text}" for step, text in plan.material.refused))
    stands = standing(state, zone)
    return mechanical_summary(plan.material, plan.budget, state.counter.text, stands)


def _carried(plan: Planned, model: Summary | None) -> Material:
    """What the next generation is made from: the lines, or what a model made of them."""
    material = plan.material
    if plan.generation == 0:
        return Material(refused=material.refused)
    if model is None:
        return material
    return Material(refused=material.refused, sources=material.sources, previous=(model,))


def _listed(state: State, raw: tuple[Stretch, ...]) -> tuple[Stretch, ...]:
    """The stretches that stand in the summary, the older ones behind the ref of a list."""
    if len(raw) <= MAX_REFS:
        return raw
    older, newer = raw[: -MAX_REFS // 2], raw[-MAX_REFS // 2 :]
    ref = state.offload(stretch_list(older, "\n") + "\n")
    return (Stretch(older[0].first, older[-1].last, ref), *newer)


def _piece(
    state: State,
    plan: Planned,
    zone: Zone,
    summary: Summary,
    shown: Sequence[Stretch],
    material: Material,
) -> Piece:
    """The summary as a message of the window, with the action that says what it replaces."""
    locale = state.profile.shaping.locale
    (first, last), events = plan.steps, plan.events
    heading = (HEADING if plan.generation else REFUSED_MORE)[locale].format(
        id=plan.id,
        first=first,
        last=last,
        generation=plan.generation,
        refs=stretch_list(shown, ", "),
    )
    message = Message(role="user", content=summary_text(summary, heading, locale))
    tokens = sum(message_parts(message, state.counter).values())
    rule = f"/compaction/when/{plan.trigger}"
    return Piece(
        seq=state.at,
        step=first,
        kind="summary",
        message=message.to_openai(),
        parts=(("history.summary", tokens),),
        raw=message.text,
        event=event_id(events[0]),
        action=Action(
            kind="compact",
            target=f"{event_id(events[0])}..{event_id(events[1])}",
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
            stretches=tuple(shown),
            generation=plan.generation,
            steps=plan.steps,
            events=events,
            before=raw_tokens(zone),
        ),
    )
