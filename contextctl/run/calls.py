"""The calls of one turn, run to their results.

What runs when: calls without side effects that stand together run at the same time; a call with
side effects runs alone, after everything before it and before everything after it. Each call is a
fact on the disk before it starts and its result is one when it is there, in the order of the calls,
so that a crash shows at any moment what is done, what may be done, and what is not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

from contextctl.core.reading.refs import make_ref
from contextctl.core.tools.workspace import WORKSPACE_TOOLS
from contextctl.io.text.jsonl import append_line, read_jsonl
from contextctl.model.failure import GRANT
from contextctl.model.message import Json, ToolCall
from contextctl.model.outcome import ToolOutcome
from contextctl.model.profile import pointer_to
from contextctl.model.record import CallStarted, ResultArrived
from contextctl.model.record_json import event_from_json, event_to_json
from contextctl.run.live import Live
from contextctl.run.on_demand import FAILURE, ToolsOnDemand
from contextctl.run.together import Stopped, run_together
from contextctl.run.workspace_calls import WorkspaceCalls, is_error

AT_ONCE = 8
"""Calls of one turn that run at the same time."""

UNCERTAIN = {
    "en": "(uncertain: this call had started when the run was interrupted. Whether it took effect "
    "is not known, and it was not repeated. Check before you call it again.)",
    "zh": "（结果不确定：运行中断时此调用已经开始，是否生效未知，且没有重复执行。"
    "再次调用前请先核实。）",
}


def answer_calls(live: Live) -> None:
    """Give every open call of the last turn its result.

    A call that had started before a crash and whose tool has side effects is answered as uncertain
    and never repeated. Raises ``Stopped`` when the run is stopped; what had finished is written.
    """
    turn = live.turn
    if turn is None:
        return
    early = _Early(live.folder.path / "early.jsonl")
    demand = ToolsOnDemand(live.fold.on_demand, live.tool_search, live.fold.offered)
    meant = [demand.target(call) for call in turn.open_calls]
    for alone, group in groupby(meant, lambda call: _is_alone(live, call)):
        calls = tuple(group)
        if not alone:
            _run(live, demand, calls, early)
            continue
        for call in calls:
            started = call.id in turn.started and call.id not in early.results
            if started and _has_effects(live, call):
                live.facts(_uncertain(live, call))
            else:
                _run(live, demand, (call,), early)
    early.clear()


def _run(live: Live, demand: ToolsOnDemand, calls: Sequence[ToolCall], early: _Early) -> None:
    """Run ``calls`` at the same time and write their results in their order."""
    arrived = {
        place: early.results[call.id]
        for place, call in enumerate(calls)
        if call.id in early.results
    }
    waiting = [place for place in range(len(calls)) if place not in arrived]
    known = live.turn.started if live.turn is not None else set()
    new = [calls[place] for place in waiting if calls[place].id not in known]
    live.check_owner()
    if new:
        live.facts(*(CallStarted(call.id, call.name) for call in new))
    jobs = [partial(_outcome, live, demand, calls[place]) for place in waiting]
    written = _write_ready(live, calls, arrived, 0)
    for number, outcome in run_together(jobs, live.setting.stop, AT_ONCE):
        place = waiting[number]
        if live.setting.stop.is_set() and outcome.status == "error":
            raise Stopped("stopped")  # the stop ended this tool: what it said is no result
        arrived[place] = _result(live, calls[place], outcome)
        if place > written:
            early.keep(arrived[place])
        written = _write_ready(live, calls, arrived, written)


def _write_ready(
    live: Live, calls: Sequence[ToolCall], arrived: dict[int, ResultArrived], written: int
) -> int:
    """Write the results before which none is missing; how many of ``calls`` are then written."""
    while written < len(calls) and written in arrived:
        live.facts(*live.pinned(arrived.pop(written)))
        written += 1
    return written


def _is_alone(live: Live, call: ToolCall) -> bool:
    """Whether it runs by itself: it changes something, or has to see what was changed before it."""
    state = live.setting.state
    return _has_effects(live, call) or (state is not None and state.is_alone(call.name))


def _has_effects(live: Live, call: ToolCall) -> bool:
    rule = live.profile.tools.get(call.name)
    if rule is not None and rule.side_effects:
        return True
    declared = pointer_to(("tools", call.name, "side_effects")) in live.profile.origins
    return not declared and live.setting.tools.has_effects(call.name)


def _outcome(live: Live, demand: ToolsOnDemand, call: ToolCall) -> ToolOutcome:
    """The raw outcome of one call. What is not allowed is refused here, whatever was shown."""
    answered = demand.answer(call)
    if answered is not None:
        return answered
    allowed = live.task.tools
    own = {spec.name for spec in live.setting.tools.specs()}
    if live.setting.own is not None and call.name not in own:
        outcome = live.setting.own.outcome(live, call)
        if outcome is not None:
            return outcome
    if live.setting.state is not None and call.name not in own:
        outcome = live.setting.state.outcome(live, call)
        if outcome is not None:
            return outcome
    if call.name in live.profile.workspace.tools and call.name not in own:
        if call.name in WORKSPACE_TOOLS:
            answer = WorkspaceCalls(live.workspace, live.key, live.record).execute(
                call.name, call.arguments
            )
            return ToolOutcome(answer, status="error" if is_error(answer) else "ok")
    elif allowed is not None and call.name in own and call.name not in allowed:
        text = f"error: '{call.name}' is not among this task's tools"
        return ToolOutcome(text, status="error", failure=GRANT)
    known = call.name in own or call.name in live.profile.tools or demand.offers(call.name)
    if not known:
        return demand.unknown(call)
    return live.setting.tools.call(call.name, call.arguments, call.id, live.task.id)


def _result(live: Live, call: ToolCall, outcome: ToolOutcome) -> ResultArrived:
    """The outcome as a fact; bytes go to the workspace, and the fact names their hash."""
    blob = ""
    if outcome.data is not None:
        blob = hashlib.sha256(outcome.data).hexdigest()
        ref = make_ref(live.workspace.session, live.key, blob)
        media = outcome.media or "application/octet-stream"
        live.workspace.put_bytes(ref, blob, outcome.data, media)
    content, kept = _attached(live, outcome)
    extra = dict(outcome.extra)
    if kept:
        extra["attachments"] = kept
    if outcome.failure:
        extra[FAILURE] = outcome.failure
    return ResultArrived(
        call_id=call.id,
        name=call.name,
        content=content,
        status=outcome.status,
        media=outcome.media,
        blob=blob,
        extra=extra,
    )


def _attached(live: Live, outcome: ToolOutcome) -> tuple[str, list[Json]]:
    """The text with a line where each attachment belongs, and what was kept of each."""
    content, kept = outcome.content, list[Json]()
    for one in reversed(outcome.attachments):
        sha256 = hashlib.sha256(one.data).hexdigest()
        ref = make_ref(live.workspace.session, live.key, sha256)
        live.workspace.put_bytes(ref, sha256, one.data, one.media)
        about = f", {one.about}" if one.about else ""
        line = f"[{one.media}, {len(one.data):,} bytes{about}; kept as {ref}]"
        before, after = content[: one.place], content[one.place :]
        content = "\n".join(part for part in (before, line, after.removeprefix("\n")) if part)
        kept.insert(0, {"ref": ref, "media": one.media, "bytes": len(one.data), "about": one.about})
    return content, kept


def _uncertain(live: Live, call: ToolCall) -> ResultArrived:
    text = UNCERTAIN[live.profile.shaping.locale]
    return ResultArrived(call_id=call.id, name=call.name, content=text, status="unknown")


class _Early:
    """Results that came before the result of a call asked earlier.

    The record holds results in the order of their calls. Until the earlier one is there, a later
    one stands in this file, so that a crash does not lose it and nothing is run twice.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.results: dict[str, ResultArrived] = dict(self._read())

    def keep(self, result: ResultArrived) -> None:
        """Put a result on the disk until the ones before it are there."""
        append_line(self._path, event_to_json(result))

    def clear(self) -> None:
        """The record holds them all now."""
        self._path.unlink(missing_ok=True)

    def _read(self) -> Iterator[tuple[str, ResultArrived]]:
        for value in read_jsonl(self._path).values:
            event = event_from_json(value)
            if isinstance(event, ResultArrived):
                yield event.call_id, event
