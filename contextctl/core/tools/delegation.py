"""Delegation: the brief a subagent starts from, and the result its parent gets (SPEC S7).

A subagent sees nothing of the conversation it works for, so the brief writes out in words what
holds. The result says what was looked at and what was not; that is counted from the record, since
"not found" from someone who could not look would be taken for "does not exist".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from contextctl.core.count import Counter, message_tokens
from contextctl.core.tools.coverage import Coverage, own_turns
from contextctl.model.message import Json, JsonObject, Message
from contextctl.model.record import (
    MessageAdded,
    Noted,
    PinSet,
    Record,
    ResultArrived,
    StepTaken,
    TaskGiven,
)
from contextctl.model.subagent import CONFIDENCES, STATUSES, SourceFailure, SubagentResult

BRIEF = "brief"
"""Topic of the note in a subagent's record that says who briefed it, and with what."""
NO_ANSWER = "subagent ended without an answer"
MOST_FAILURES = 10
_OWN_CHARS = 200
_HEAD_CHARS, _TAIL_CHARS = 3_200, 800
_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Held:
    """Something that holds for the parent's task: a constraint, a confirmed value, the task."""

    key: str
    text: str


_WORDS = {
    "en": {
        "alone": "You work on one delegated task, alone: you see nothing of the conversation it"
        " comes from, and nobody can be asked.",
        "task": "Task: {task}",
        "holds": "This holds, in the user's own words:",
        "known": "Known so far:",
        "whole": "The whole task that this is a part of: {task}",
        "end": "When done, answer once with this JSON and nothing else: {form}\n"
        "ok: everything was read; partial: something could not be; failed: nothing could. Say in"
        " the summary (at most 300 words) what you found and what you could not look at: 'not"
        " found' is only for what you did look at.",
    },
    "zh": {
        "alone": "你独自完成一项委派的任务：看不到它所属的对话，也无法向任何人询问。",
        "task": "任务：{task}",
        "holds": "以下约束必须遵守（用户原话）：",
        "known": "目前已知：",
        "whole": "此任务所属的整体任务：{task}",
        "end": "完成后只回答一次，只给出这个 JSON：{form}\n"
        "ok：全部读到；partial：有些没能读到；failed：什么都没能读到。在 summary 中"
        "（不超过 300 字）说明找到了什么、哪些没能查看；只有真正查看过的才能说“没有找到”。",
    },
}
FORM = '{"status": "ok|partial|failed", "summary": "…", "confidence": "low|medium|high"}'


def held_by(record: Record, keys: Sequence[str]) -> tuple[Held, ...]:
    """What the parent's record says of the pins ``keys``, in their order."""
    values: dict[str, str] = {}
    task = ""
    for event in record:
        if isinstance(event, Noted) and event.topic == BRIEF:
            passed = event.body.get("held")
            for one in passed if isinstance(passed, list) else ():
                if isinstance(one, dict):
                    values[str(one.get("key"))] = str(one.get("text"))
            task = task or values.pop("task", "") or str(event.body.get("task") or "")
        elif isinstance(event, TaskGiven):
            task = task or event.input
            values |= {f"constraints.{n}": text for n, text in enumerate(event.constraints, 1)}
            values |= {key: _text(value) for key, value in event.pins.items()}
        elif isinstance(event, PinSet) and event.value is None:
            values.pop(event.key, None)
        elif isinstance(event, PinSet):
            values[event.key] = _text(event.value)
    if task:
        values["task"] = task
    return tuple(
        Held(name, text)
        for key in keys
        for name, text in values.items()
        if name == key or name.startswith(f"{key}.")
    )


def brief_text(task: str, held: Sequence[Held], locale: str, material: str = "") -> str:
    """The first message of a subagent. ``material`` is what it works from, such as a map."""
    words = _WORDS[locale]
    constraints = [one.text for one in held if one.key.startswith("constraints")]
    known = [one for one in held if not one.key.startswith(("constraints", "task"))]
    whole = next((one.text for one in held if one.key == "task"), "")
    parts = [words["alone"], words["task"].format(task=task)]
    if whole and whole != task:
        parts.append(words["whole"].format(task=whole))
    if constraints:
        parts.append("\n".join([words["holds"], *(f"- {text}" for text in constraints)]))
    if known:
        parts.append("\n".join([words["known"], *(f"- {one.key}: {one.text}" for one in known)]))
    if material:
        parts.append(material)
    parts.append(words["end"].format(form=FORM))
    return "\n\n".join(parts)


def result_of(record: Record, covered: Coverage, fault: str) -> SubagentResult:
    """What the parent is told. ``fault`` says why the subagent did not end by itself, or is empty.

    The answer is its last text that is not empty; a form whose summary is blank is empty. It may
    call its own work worse than the record shows, never better.
    """
    turns = [turn.message for turn in own_turns(record)]
    texts = [_answer_in(turn.text) for turn in turns]
    said = next(filter(None, reversed(texts)), "")
    stopped = not turns or bool(turns[-1].tool_calls)  # else its last turn was its end, if empty
    reason = fault if stopped or texts[-1] else ""
    facts = SubagentResult(
        status="ok",
        summary=said,
        sources_attempted=covered.attempted,
        sources_succeeded=covered.succeeded,
        failures=covered.failures[:MOST_FAILURES],
        steps=len(turns),
        reason=reason,
    )
    if not said:
        why = fault or "the model answered nothing"
        return replace(facts, status="failed", summary=NO_ANSWER, confidence="low", reason=why)
    declared = _declared(said)
    summary = str(declared.get("summary") or "").strip() or said
    status = _worst(_by_facts(covered, reason), str(declared.get("status") or "ok"))
    confidence = _confidence(status, covered, str(declared.get("confidence") or ""))
    failures = (*covered.failures, *_own_failures(declared, covered))[:MOST_FAILURES]
    return replace(facts, status=status, summary=summary, confidence=confidence, failures=failures)


def cut_summary(text: str, ref: str) -> str:
    """A long summary cut in the middle, so that it cannot fill its parent's window; all of it is
    under ``ref``."""
    left = len(text) - _HEAD_CHARS - _TAIL_CHARS
    if left <= 200:
        return text
    note = f"\n[… {left} characters left out; all of it: read_workspace {ref} …]\n"
    return text[:_HEAD_CHARS] + note + text[-_TAIL_CHARS:]


def material_tokens(record: Record, counter: Counter) -> int:
    """What the subagent's turns and results would have added to its parent's window."""
    total, begun = 0, False
    for event in record:
        begun = begun or isinstance(event, StepTaken)
        if begun and isinstance(event, MessageAdded):
            total += message_tokens(event.message, counter)
        elif begun and isinstance(event, ResultArrived):
            message = Message("tool", event.content, tool_call_id=event.call_id)
            total += message_tokens(message, counter)
    return total


def transcript(record: Record) -> str:
    """The subagent's work as text: what it was asked, did, got and said."""
    out: list[str] = []
    for event in record:
        if isinstance(event, MessageAdded):
            said = event.message
            out.append(f"[{said.role}] {said.text}".rstrip())
            out += [f"[call {call.id}] {call.name} {call.arguments}" for call in said.tool_calls]
        elif isinstance(event, ResultArrived):
            out.append(f"[result {event.call_id} {event.name}: {event.status}] {event.content}")
    return "\n".join(out) + "\n"


def _by_facts(covered: Coverage, reason: str) -> str:
    if covered.attempted and not covered.succeeded:
        return "failed"
    return "partial" if reason or covered.failures else "ok"


def _confidence(status: str, covered: Coverage, own: str) -> str:
    """Its own word, as far as the facts allow it."""
    if status == "failed" or (status == "partial" and not covered.succeeded):
        return "low"
    highest = "medium" if status == "partial" else "high"
    said = own if own in CONFIDENCES else "high" if covered.succeeded else "medium"
    return min(said, highest, key=CONFIDENCES.index)


def _worst(*statuses: str) -> str:
    known = [status for status in statuses if status in STATUSES]
    return max(known, key=STATUSES.index)


def _own_failures(declared: JsonObject, covered: Coverage) -> Iterator[SourceFailure]:
    """Sources that it says itself it could not use, and that the record counts as read."""
    known = {failure.source for failure in covered.failures}
    listed = declared.get("failures")
    for one in listed if isinstance(listed, list) else ():
        source = str(one.get("source") or "").strip() if isinstance(one, dict) else ""
        if isinstance(one, dict) and source and source not in known:
            known.add(source)
            error = str(one.get("error") or "").strip()
            yield SourceFailure(source[:_OWN_CHARS], error[:_OWN_CHARS])


def _declared(text: str) -> JsonObject:
    """The JSON a subagent was asked to answer with; empty when it wrote something else."""
    forms = (form for form in _objects(text) if str(form.get("summary") or "").strip())
    return next(forms, {})


def _answer_in(text: str) -> str:
    """What a turn says; a form that is all of it and has nothing in its summary says nothing."""
    said = text.strip()
    form = next(_objects(said, whole=True), {})
    return "" if "summary" in form and not str(form["summary"] or "").strip() else said


def _objects(text: str, *, whole: bool = False) -> Iterator[JsonObject]:
    """JSON objects that a text is, has fenced, or (not ``whole``) has in it."""
    fenced = _FENCE.findall(text)
    if whole:
        fenced = fenced if text.startswith("```") and text.endswith("```") else []
    inner = () if whole else (text[text.find("{") : text.rfind("}") + 1],)
    for candidate in (text, *fenced[-1:], *inner):
        try:
            value: Json = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
