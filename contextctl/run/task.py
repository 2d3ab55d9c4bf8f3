"""One task from its first fact to its answer, or from where a crash left it.

The loop is short on purpose: everything that decides what a window holds is the fold's business,
everything that must survive a crash is a fact, and what is left is to ask, to call and to stop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from contextctl.core.measure.totals import Totals
from contextctl.errors import ContextctlError, ContextOverflow, ModelError, OutsideError
from contextctl.io.runs.folder import TaskFolder
from contextctl.io.runs.sessions import new_session
from contextctl.io.stores.leases import LeaseHeldError
from contextctl.model.message import JsonObject
from contextctl.model.record import Event, Opened, SlotSet
from contextctl.model.result import TaskResult
from contextctl.model.task import Task
from contextctl.run.calls import answer_calls
from contextctl.run.expect import check_answer, failed_checks
from contextctl.run.live import Live
from contextctl.run.opening import opening_events
from contextctl.run.own_tools import before_messages, own_facts
from contextctl.run.past import catch_up, missing_pins, past_record
from contextctl.run.setting import Setting
from contextctl.run.step import take_step
from contextctl.run.together import Stopped


@dataclass(frozen=True, slots=True)
class Ended:
    """How a task ended. ``outside`` is true when something outside failed, not the task."""

    result: TaskResult
    outside: bool = False
    totals: Totals = field(default_factory=Totals)


class _Ending(NamedTuple):
    status: str
    answer: str = ""
    error: str = ""
    outside: bool = False
    checks: tuple[JsonObject, ...] = ()


def run_task(
    setting: Setting,
    task: Task,
    folder: TaskFolder,
    *,
    anew: bool = False,
    session: tuple[str, str] | None = None,
    given: Sequence[Event] = (),
) -> Ended:
    """Run ``task``, or go on where its record ends. An expected failure is a result, never raised.

    ``anew`` runs an answered task again whose answer was not what it expects, unless it made calls.
    A subagent is given its parent's ``session`` (name and key), and facts of its own.
    """
    remark = ""
    lease = None
    try:
        lease = setting.leases.claim(task.id) if setting.leases is not None else None
        record, remark = past_record(task, folder, anew=anew)
        if record and isinstance(record[0], Opened):
            opened = record[0]
        else:
            opened = Opened(task.id, *(session or new_session()))
        live = Live(setting, task, folder, opened)
        live.lease = lease
    except ContextctlError as error:
        if lease is not None:
            lease.release()
        status = "interrupted" if isinstance(error, LeaseHeldError) else "failed"
        return Ended(TaskResult(task.id, status, error=str(error)), _is_outside(error))
    if remark:
        live.warnings.append(remark)
    try:
        catch_up(live, record)
        setting.model.continued(task.id, live.said)
        if live.sent is not None:  # nobody answered it: the first model is tried again first
            live.use(setting.profile.model.name, record)
        live.open()
        live.facts(*missing_pins(live, record))
        if not record:
            session = (opened.session, opened.key)
            tools = setting.tools
            opening = opening_events(setting.profile, task, tools.specs(), session, tools.missing())
            state = setting.state
            kept = state.opening(task, opened.session) if state is not None else []
            live.facts(*before_messages(opening, kept))
        elif setting.state is not None:
            previous = lease.previous if lease is not None else ""
            live.facts(*setting.state.resumed(record, previous))
        live.facts(*(given if not record else ()), *own_facts(setting.own, task, record))
        live.warnings += setting.own.remarks(task) if setting.own is not None else []
        ending = _run(live)
    except ContextctlError as error:
        ending = _ended_by(error)
    finally:
        live.close()
    return _ended(live, ending)


def _run(live: Live) -> _Ending:
    """Steps and calls by turns, until there is an answer or a limit is met."""
    limit = live.profile.limits.max_steps
    while True:
        if live.setting.stop.is_set():
            raise Stopped("the run was interrupted")
        if live.turn is not None and not live.turn.message.tool_calls and not _goes_on(live):
            return _answered(live, live.turn.message.text)
        if live.steps >= limit:
            return _Ending("max_steps", error=f"no answer after {limit} steps (limits.max_steps)")
        if live.setting.meter.exhausted:
            limit_usd = live.setting.meter.max_cost
            return _Ending("cost", error=f"stopped before step {live.steps + 1}: --max-cost "
                           f"{limit_usd:g} USD is spent")  # fmt: skip
        answer_calls(live)
        take_step(live)


def _goes_on(live: Live) -> bool:
    """Whether an answer does not end the task: its plan is not complete, and the model is told."""
    state = live.setting.state
    why = state.unfinished(live.record()) if state is not None else ""
    if why:
        live.facts(SlotSet("once:plan", why))
        live.turn = None
    return bool(why)


def _answered(live: Live, answer: str) -> _Ending:
    if not answer.strip():
        return _Ending("failed", error="the model answered nothing")
    checks = check_answer(live.task, answer)
    fault = failed_checks(checks)
    if live.setting.state is not None and not fault:
        live.setting.state.finished(live)
    return _Ending("failed" if fault else "ok", answer, error=fault, checks=checks)


def _ended_by(error: ContextctlError) -> _Ending:
    if isinstance(error, LeaseHeldError):
        return _Ending("interrupted", error=str(error), outside=True)
    if isinstance(error, Stopped):
        return _Ending("interrupted", error="interrupted; --resume continues it")
    if isinstance(error, ContextOverflow) or (isinstance(error, ModelError) and error.overflow):
        return _Ending("overflow", error=str(error))
    return _Ending("failed", error=str(error), outside=_is_outside(error))


def _is_outside(error: ContextctlError) -> bool:
    return isinstance(error, OutsideError)


def _ended(live: Live, ending: _Ending) -> Ended:
    totals = live.totals
    if _was_stopped(live, ending):
        ending = _ended_by(Stopped("stopped"))
    result = TaskResult(
        id=live.task.id,
        status=ending.status,
        answer=ending.answer,
        steps=live.steps,
        tokens=totals.tokens(),
        cost_usd=round(totals.cost, 10),
        peak=totals.peak,
        actions=dict(sorted(totals.actions.items())),
        isolated=totals.isolated(),
        checks=ending.checks,
        error=ending.error,
        warnings=tuple(live.warnings),
    )
    return Ended(result, ending.outside, totals)


def _was_stopped(live: Live, ending: _Ending) -> bool:
    """A model that was not waited for because the run stopped has not failed."""
    return ending.status == "failed" and ending.outside and live.setting.stop.is_set()
