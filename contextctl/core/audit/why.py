"""Why something was forgotten: the three cases that need three different repairs.

A user says the agent forgot. Either it was never said; or it was said and a summary dropped it; or
it left the window by another way and no pin held it. Every step's window is looked at, so that the
answer also names the last step that had it and what took it away.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from contextctl.core.count import json_text
from contextctl.core.search.bm25 import Bm25
from contextctl.core.search.terms import query_terms
from contextctl.model.assembly import Assembly
from contextctl.model.audit import Compaction
from contextctl.model.ledger import Action
from contextctl.model.message import Json, JsonObject
from contextctl.model.record import (
    Event,
    MessageAdded,
    PinSet,
    ResultArrived,
    RetrievedAdded,
    StepTaken,
    TaskGiven,
)
from contextctl.model.why import Covered, Said, Why

_SHOWN = 80  # characters around the text in an excerpt
_PLACES = 8  # places shown at most
_CLOSE_ENOUGH = 0.5  # share of the question that the closest texts must have


def why(
    text: str,
    task: str,
    events: Sequence[Event],
    steps: Iterable[Assembly],
    compactions: Sequence[Compaction],
    until: int | None = None,
) -> Why:
    """What became of ``text`` in ``task`` by step ``until`` (the last one by default).

    ``steps`` are the assemblies of ``events`` in order; ``compactions`` the audited ones of the
    task. Case, width and spacing do not matter. Raises ``ValueError`` for a text of spaces only.
    """
    wanted = folded(text)
    if not wanted:
        raise ValueError("the text to look for is empty")
    past = _until(events, until)
    texts = list(_texts(past))
    said = tuple(_said(one, [text]) for one in texts if wanted in folded(one.text))
    if not said:
        return Why(text, task, "never_said", until or 0, closest=_closest(text, texts))
    trail = _trail(wanted, steps, until)
    covered = tuple(_covered(one, wanted) for one in _taking(compactions, said, trail.step))
    answer = Why(
        text,
        task,
        "not_pinned",
        trail.step,
        trail.last_step,
        pin=_pin(past, wanted),
        said=said[:_PLACES],
        covered=covered,
        refs=tuple(trail.refs),
    )
    return _judged(answer, trail)


def folded(text: str) -> str:
    """``text`` as it is compared: one width, one case, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _until(events: Sequence[Event], step: int | None) -> Sequence[Event]:
    """The events before ``step`` was taken; all of them when it never was."""
    for index, event in enumerate(events):
        if isinstance(event, StepTaken) and event.step == step:
            return events[:index]
    return events


@dataclass(frozen=True, slots=True)
class _Text:
    event: int
    turn: int
    by: str
    text: str


@dataclass(slots=True)
class _Trail:
    """Where the text was seen, step by step; ``gone_with`` is what was done when it went."""

    step: int = 0
    last_step: int = 0
    gone_with: tuple[Action, ...] = ()
    refs: list[str] = field(default_factory=list)


def _judged(answer: Why, trail: _Trail) -> Why:
    """The verdict, by the strongest evidence."""
    if trail.step and trail.last_step == trail.step:
        return replace(answer, verdict="in_window")
    dropping = [one for one in answer.covered if not (one.in_summary or one.in_pins)]
    if dropping and not answer.pin:
        return replace(answer, verdict="dropped_by_summary", by=dropping[0].compaction_id)
    exact = [one for one in trail.gone_with if one.ref in trail.refs]
    actions = dict.fromkeys(f"{one.kind} {one.target}" for one in exact or trail.gone_with)
    return replace(answer, by=", ".join([*actions][:3]))


def _trail(wanted: str, steps: Iterable[Assembly], until: int | None) -> _Trail:
    trail = _Trail()
    for assembly in steps:
        ledger = assembly.ledger
        if until is not None and ledger.step > until:
            break
        had_it = 0 < trail.last_step == trail.step
        trail.step = ledger.step
        held = [one.ref for one in assembly.offloads if wanted in folded(one.text)]
        trail.refs += [ref for ref in held if ref not in trail.refs]
        fresh = [action for action in ledger.actions if action.new]
        if wanted in folded(window_text(assembly.messages)):
            trail.last_step = ledger.step
        elif had_it:
            trail.gone_with = tuple(fresh)
        elif not trail.last_step:  # it never was in a window: something took it as it came
            trail.gone_with += tuple(action for action in fresh if action.ref in held)
    return trail


def window_text(messages: Iterable[JsonObject]) -> str:
    """All text of a window: contents and the arguments of calls."""
    lines: list[str] = []
    for message in messages:
        content = message.get("content")
        lines.append(content if isinstance(content, str) else json_text(content))
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict):
                lines.append(f"{function.get('name')} {function.get('arguments')}")
    return "\n".join(lines)


def _texts(events: Sequence[Event]) -> Iterator[_Text]:
    """Everything that was said, with who said it. A user's turn is that of the step it leads to."""
    turn = 0
    for number, event in enumerate(events, start=1):
        if isinstance(event, MessageAdded):
            message = event.message
            turn += message.role == "assistant"
            calls = [f"{call.name} {call.arguments}" for call in message.tool_calls]
            text = "\n".join([message.text, *calls])
            yield _Text(number, turn + (message.role != "assistant"), message.role, text)
        elif isinstance(event, ResultArrived):
            yield _Text(number, turn, f"tool {event.name}", event.content)
        elif isinstance(event, TaskGiven):
            pins = [f"{key}: {_plain(value)}" for key, value in event.pins.items()]
            yield _Text(number, turn + 1, "task", "\n".join([*event.constraints, *pins]))
        elif isinstance(event, PinSet):
            yield _Text(number, turn, f"pin {event.key}", _plain(event.value))
        elif isinstance(event, RetrievedAdded):
            passages = "\n".join(str(passage.get("text") or "") for passage in event.passages)
            yield _Text(number, turn + 1, "retrieved", passages)


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json_text(value)


def _said(one: _Text, needles: Sequence[str]) -> Said:
    """A place, with the text around the first of ``needles`` that stands there literally."""
    low = one.text.casefold()
    places = ((low.find(needle.casefold()), len(needle)) for needle in needles)
    at, length = next((place for place in places if place[0] >= 0), (0, 0))
    start, stop = max(at - _SHOWN // 2, 0), at + length + _SHOWN // 2
    shown = " ".join(one.text[start:stop].split())
    before, after = "…" if start else "", "…" if stop < len(one.text) else ""
    return Said(one.event, one.turn, one.by, f"{before}{shown}{after}")


def _taking(
    compactions: Sequence[Compaction], said: Sequence[Said], step: int
) -> Iterator[Compaction]:
    """The committed compactions up to ``step`` whose stretch holds a place where it was said, in
    their order."""
    for one in sorted(compactions, key=lambda one: (one.step, one.event_to)):
        inside = any(one.event_from <= place.event <= one.event_to for place in said)
        if one.outcome != "discarded" and inside and (not step or one.step <= step):
            yield one


def _covered(one: Compaction, wanted: str) -> Covered:
    return Covered(
        compaction_id=one.compaction_id,
        generation=one.generation,
        event_from=one.event_from,
        event_to=one.event_to,
        raw_ref=one.raw_ref,
        in_summary=any(wanted in folded(entry) for entry in _leaves(dict(one.summary))),
        in_pins=any(wanted in folded(pin.text) for pin in one.pins),
        pinned_keys=one.pinned_keys,
    )


def _leaves(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif value is not None:
        yield _plain(value)


def _pin(events: Sequence[Event], wanted: str) -> str:
    """The key under which the text was once given to be pinned; empty when it never was."""
    for event in reversed(events):
        if isinstance(event, PinSet) and wanted in folded(_plain(event.value)):
            return event.key
        if isinstance(event, TaskGiven):
            held = [key for key, value in event.pins.items() if wanted in folded(_plain(value))]
            if held:
                return held[0]
    return ""


def _closest(text: str, texts: Sequence[_Text]) -> tuple[Said, ...]:
    index = Bm25()
    for one in texts:
        index.add(one.text[:20_000])
    hits = [hit for hit in index.search(text, 3) if hit.coverage >= _CLOSE_ENOUGH]
    return tuple(_said(texts[hit.number], query_terms(text)) for hit in hits)
