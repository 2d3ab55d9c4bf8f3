"""Drift: an agent that repeats itself, or that has its task far behind it (SPEC S8).

The third time the same call gives the same answer with nothing new tried in between, the model is
told so, once; likewise when it goes round between a few calls. A build after each edit is work and
no drift. Where a window is past the warn line and the task stands in its first half, the task is
said again at the tail.
"""

from __future__ import annotations

import hashlib
import json

from contextctl.core.count import message_parts
from contextctl.core.fold.reminders import ONCE
from contextctl.core.fold.state import State
from contextctl.core.fold.tail import HEADING
from contextctl.model.message import Message, ToolCall

SLOT = f"{ONCE}drift"
TIMES = 3
MEMORY = 40  # calls that are looked back on
LONGEST_ROUND = 4
TASK_CHARS, CALL_CHARS = 240, 120
FAR_STEPS = 8  # steps since the user spoke: before that nobody has lost sight of the task

SAME = {
    "en": "You have made the same call {times} times with nothing new in between: {call}. "
    "Another one will not help: use its answer, try something else, or say what is missing.",
    "zh": "同一调用已重复 {times} 次，其间没有新的尝试：{call}。再次调用不会有帮助："
    "请使用已有结果、换一种做法，或说明缺少什么。",
}
ROUND = {
    "en": "You are going round between the same {count} calls: {call}. "
    "Stop and decide: use their answers, try something else, or say what is missing.",
    "zh": "你在同样的 {count} 个调用之间来回：{call}。请停下来做决定："
    "使用已有结果、换一种做法，或说明缺少什么。",
}
TASK = {"en": "The task, once more: {text}", "zh": "再次提示任务：{text}"}

Called = tuple[str, str]
"""A call in one spelling, and the digest of its answer."""


def call_answered(state: State, call: ToolCall, answer: str) -> None:
    """Take a call and its answer into account; a repetition is put into the slot of drift."""
    if not state.profile.remedies.any_on:
        return
    said = _spelled(call)
    digest = hashlib.sha256(answer.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    state.called = (*state.called, (said, digest))[-MEMORY:]
    found = _repetition(state.called)
    if not found or state.told_calls.issuperset(found):
        return
    state.told_calls.update(found)
    form = SAME if len(found) == 1 else ROUND
    shown = "; ".join(_short(one, CALL_CHARS) for one in found)
    locale = state.profile.shaping.locale
    text = form[locale].format(times=TIMES, count=len(found), call=shown)
    state.slots[SLOT] = text
    state.warn(f"the agent repeats itself: {shown}")


def task_lines(state: State) -> list[str]:
    """What the user asked for, once more, when it is far behind: the window is past the warn line,
    it stands in the first half, and the agent has taken some steps since.

    A task that stands in the pin block is not said again.
    """
    piece, pieces = state.question, state.view.pieces
    if piece is None or state.zone == "safe" or "task" in state.pins_shown:
        return []
    place = next((at for at, one in enumerate(pieces) if one is piece), None)
    if place is None or state.step - piece.step < FAR_STEPS:
        return []
    before = state.view.total - state.view.tokens_from(place + 1)
    if before > state.view.total / 2:
        return []
    text = _short(piece.raw, TASK_CHARS)
    return [f"- {TASK[state.profile.shaping.locale].format(text=text)}"] if text else []


def with_task(state: State) -> None:
    """Add the task to the tail of a settled step, where there is room for it."""
    lines = task_lines(state)
    if not lines:
        return
    content, before = HEADING[state.profile.shaping.locale], 0
    if state.tail is not None:
        content, before = str(state.tail[0].get("content")), state.tail[1]
    message = Message(role="user", content="\n".join([content, *lines]))
    tokens = sum(message_parts(message, state.counter).values())
    if state.total + tokens - before <= state.allowance.usable:
        state.tail = (message.to_openai(), tokens)


def _repetition(called: tuple[Called, ...]) -> tuple[str, ...]:
    """The calls that are repeated, as of the last one; empty when none is."""
    said = [one for one, _ in called]
    going = _round(said)
    last = said[-1]
    places = [at for at, one in enumerate(said) if one == last][-TIMES:]
    if len(places) < TIMES:
        return going
    if places[-1] - places[0] == TIMES - 1:
        return (last,)  # nothing at all in between
    answers = {called[at][1] for at in places}
    new = {one for at, one in enumerate(said) if places[0] < at and one not in said[: places[0]]}
    if len(answers) == 1 and len(new - {last}) <= 1:
        return going or _round(said, half=True) or (last,)
    return going


def _round(said: list[str], *, half: bool = False) -> tuple[str, ...]:
    """The few calls that are made in turn, three times over (``half``: two and a half)."""
    for length in range(2, LONGEST_ROUND + 1):
        wanted = 2 * length + 1 if half else TIMES * length
        tail = said[-wanted:]
        block = tail[:length]
        again = all(one == block[at % length] for at, one in enumerate(tail))
        if again and len(tail) == wanted and len(set(block)) > 1:
            return tuple(dict.fromkeys(block))
    return ()


def _spelled(call: ToolCall) -> str:
    """Name and arguments in one spelling: key order and spaces say nothing."""
    try:
        arguments = json.dumps(json.loads(call.arguments or "{}"), sort_keys=True,
                               ensure_ascii=False)  # fmt: skip
    except (ValueError, RecursionError):
        arguments = call.arguments
    return f"{call.name} {arguments}"


def _short(text: str, longest: int) -> str:
    text = " ".join(text.split())
    if len(text) <= longest:
        return text
    return f"{text[: longest * 3 // 4].rstrip()} … {text[-longest // 5 :].lstrip()}"
