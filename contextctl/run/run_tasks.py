"""A run: tasks through a profile, into a run's folder."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Event as Flag

from contextctl.errors import UsageError
from contextctl.io.mcp.recorded import RecordedServers, keep_lists, recorded_servers
from contextctl.io.mcp.servers import McpServers, open_servers
from contextctl.io.models.call import open_model
from contextctl.io.models.embeddings import open_embedder
from contextctl.io.models.map import model_facts
from contextctl.io.models.vocab import counter_for
from contextctl.io.recorder.masking import masked_values
from contextctl.io.runs.folder import RunFolder
from contextctl.io.runs.lock import holding
from contextctl.io.runs.sessions import new_session
from contextctl.io.stores.audit_writer import AuditWriter
from contextctl.io.stores.leases import Leases
from contextctl.io.text.jsonl import JsonlWriter
from contextctl.io.tools.toolbox import open_tools, own_names
from contextctl.io.workspace.blobs import open_store
from contextctl.io.workspace.session import Workspace
from contextctl.model.ledger import ZONES
from contextctl.model.memory_keys import is_subject
from contextctl.model.message import Json, JsonObject
from contextctl.model.profile import Profile
from contextctl.model.record import Event
from contextctl.model.result import TaskResult
from contextctl.model.summary import RunSummary
from contextctl.model.task import Task
from contextctl.run.batch import BatchEnd, run_batch
from contextctl.run.dry import dry_task
from contextctl.run.extract import open_extractor
from contextctl.run.meter import Meter
from contextctl.run.opening import opening_events
from contextctl.run.own_tools import OwnTools, before_messages, open_own_tools, own_facts
from contextctl.run.resume import INPUT, Plan, plan_resume
from contextctl.run.setting import Model, Setting, Tools
from contextctl.run.snapshots import open_snapshots
from contextctl.run.summarize import open_summariser
from contextctl.run.task_state import TaskState, open_state
from contextctl.version import __version__

Progress = Callable[[TaskResult], None]
FINDING, BUG, OUTSIDE, OVERFLOW, INTERRUPTED = 1, 3, 4, 5, 130


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be run, and how. The profile's windows are resolved.

    ``folder`` makes or finds the run's folder: it is asked for once nothing is in the way any more,
    so that what cannot be begun leaves nothing behind. ``arguments`` are the command's, for
    ``run.json``; ``inputs`` where the tasks came from.
    """

    profile: Profile
    tasks: tuple[Task, ...]
    folder: Callable[[], RunFolder]
    concurrency: int = 1
    max_cost: float | None = None
    fail_on: str = ""
    dry_run: bool = False
    resume: bool = False
    windows: bool = False
    inputs: tuple[str, ...] = ()
    arguments: JsonObject = field(default_factory=dict)


def run_tasks(order: Order, progress: Progress = lambda _result: None) -> tuple[RunSummary, int]:
    """Run the tasks of ``order``; the summary and the exit code.

    Raises ``UsageError`` for what cannot be begun, and ``ToolError`` when a tool or a server that
    is required cannot be had: both before any model is asked.
    """
    _refuse_impossible(order)
    servers = _servers(order)
    with closing(open_tools(order.profile, servers)) as tools:
        return _run(order, tools, servers.warnings if servers else [], progress)


def _servers(order: Order) -> McpServers | RecordedServers | None:
    """The profile's servers, or for a dry run the lists they gave last."""
    memory = order.profile.memory
    wanted = order.profile.defer.embeddings or (memory.enabled and memory.embeddings)
    if wanted and not order.dry_run:
        open_embedder()  # missing, it is told before anything is paid
    if not order.profile.mcp:
        return None
    base = Path.cwd()
    if order.dry_run:
        return recorded_servers(order.profile, base)
    servers = open_servers(order.profile, own_names(order.profile))
    keep_lists(order.profile, servers.specs(), base, servers.missing)
    return servers


def _run(
    order: Order, tools: Tools, warnings: list[str], progress: Progress
) -> tuple[RunSummary, int]:
    stop = Flag()
    model = None if order.dry_run else open_model(order.profile, stop=stop)
    own = open_own_tools(order.profile)
    folder = order.folder()
    summary = RunSummary(str(folder.path), dry_run=order.dry_run)
    rule = order.profile.workspace
    with holding(folder.path):
        summary.warnings += [*warnings, *_compared(order, folder), *_nameless(order)]
        plan = plan_resume(order.tasks, folder) if order.resume else Plan([*order.tasks])
        summary.warnings += [*plan.warnings, *own.warnings()]
        summary.skipped = len(plan.done)
        about = {**_about(order), "run_id": _run_id(folder)}
        folder.write_run_json({**about, "status": "running"})
        store = open_store(rule.path or folder.workspace, rule.size_limit)
        with (
            closing(store),
            closing(own),
            closing(open_state(order.profile, Path.cwd(), dry=order.dry_run)) as state,
            closing(_leases(order.profile, folder, str(about["run_id"]))) as leases,
            closing(AuditWriter(order.profile.stores.audit, folder.path)) as audit,
        ):
            workspace = Workspace(store, "s", "00", run=folder.path.name)
            if model is None:
                opening = partial(_opening, order.profile, tools, own, state)
                end = _dry(order, opening, workspace, audit, folder, plan.todo, progress)
            else:
                setting = _setting(order, tools, model, workspace, audit, stop)
                end = run_batch(
                    replace(setting, own=own, state=state, leases=leases),
                    plan.todo,
                    folder,
                    concurrency=order.concurrency,
                    unmet=frozenset(plan.unmet),
                    progress=progress,
                )
        summary.warnings += [text for text in warnings if text not in summary.warnings]
        _sum_up(order, summary, end)
        folder.write_run_json({**about, "status": summary.status, "totals": summary.totals})
    return summary, _exit_code(order, summary, end)


def _run_id(folder: RunFolder) -> str:
    """What tells this run from all others, from its first start on."""
    before = folder.read_run_json() if folder.run_json.exists() else {}
    return str(before.get("run_id") or new_session()[1][:16])


def _leases(profile: Profile, folder: RunFolder, run_id: str) -> Leases:
    return Leases(profile.stores.leases, folder.tasks_folder, run_id, profile.plan.lease_s)


def _setting(
    order: Order, tools: Tools, model: Model, workspace: Workspace, audit: AuditWriter, stop: Flag
) -> Setting:
    profile = order.profile
    counter_of = partial(counter_for, profile.tokenizer)
    meter = Meter(order.max_cost, profile.limits.requests_per_minute)
    return Setting(
        profile=profile,
        counter_of=counter_of,
        model=model,
        tools=tools,
        workspace=workspace,
        audit=audit,
        meter=meter,
        stop=stop,
        windows=order.windows,
        summariser=open_summariser(profile, counter_of, meter, stop),
        snapshots=open_snapshots(profile, Path.cwd()),
        extractor=open_extractor(profile, counter_of, meter, stop),
    )


def _dry(
    order: Order,
    opening: Callable[[Task, tuple[str, str]], list[Event]],
    workspace: Workspace,
    audit: AuditWriter,
    folder: RunFolder,
    todo: Sequence[Task],
    progress: Progress,
) -> BatchEnd:
    profile, end = order.profile, BatchEnd()
    counter = counter_for(profile.tokenizer, profile.model.name)
    with closing(JsonlWriter(folder.results)) as results:
        for task in todo:
            place = folder.task(task.id)
            stores = (workspace, place, audit)
            opened = partial(opening, task)
            ended = dry_task(profile, counter, task, opened, *stores, windows=order.windows)
            results.append([{**ended.result.to_json(), INPUT: task.digest}])
            end.ended.append(ended)
            progress(ended.result)
    return end


def _opening(
    profile: Profile,
    tools: Tools,
    own: OwnTools,
    state: TaskState,
    task: Task,
    session: tuple[str, str],
) -> list[Event]:
    opening = opening_events(profile, task, tools.specs(), session, tools.missing())
    kept = state.opening(task, session[0])
    return before_messages(opening, [*own_facts(own, task, ()), *kept])


def _refuse_impossible(order: Order) -> None:
    """What would fail for certain is refused before anything is asked or paid."""
    for task in order.tasks:
        unknown = [name for name in task.tools or () if not _is_known(order.profile, name)]
        if unknown:
            known = ", ".join(f"'{name}'" for name in order.profile.tools) or "none"
            raise UsageError(
                f"{task.source}: 'tools': the profile has no tool '{unknown[0]}'; it has {known}"
            )
    if order.dry_run:
        return
    answered = [task for task in order.tasks if task.asks_nothing]
    if answered:
        raise UsageError(
            f"{answered[0].source}: the conversation of task '{answered[0].id}' ends with an "
            "answer, so there is nothing to ask; walk it with --dry-run or contextctl replay"
        )
    if order.max_cost is not None and model_facts(order.profile.model.name).prices is None:
        raise UsageError(
            f"--max-cost cannot be kept: no price is known for model '{order.profile.model.name}'"
        )


def _is_known(profile: Profile, tool: str) -> bool:
    """Servers may offer any tool; what they offer is not known before they are asked."""
    named = (profile.tools, profile.workspace.tools, profile.subagents)
    return any(tool in names for names in named) or bool(profile.mcp)


def _compared(order: Order, folder: RunFolder) -> list[str]:
    """What a run that is continued was before. Raises ``UsageError`` when it was something else."""
    if not order.resume or not folder.run_json.exists():
        return []
    before = folder.read_run_json()
    path = folder.path
    if before.get("kind") != "run" or before.get("dry_run", False) != order.dry_run:
        was = "a dry run" if before.get("dry_run") else f"a {before.get('kind')}"
        raise UsageError(f"'{path}' holds {was}, which this cannot continue; choose another --out")
    if before.get("profile_digest") != order.profile.digest:
        changed = f"the profile has changed since '{path}' was begun: results that are there stay"
        return [f"{changed}, what is left runs under the new one"]
    return []


def _nameless(order: Order) -> list[str]:
    """Tasks whose subject is nobody: they go on without a memory."""
    wrong = [t for t in order.tasks if t.subject and not is_subject(t.subject)]
    if not wrong or not order.profile.memory.enabled:
        return []
    some = ", ".join(f"'{task.id}' ('{task.subject}')" for task in wrong[:5])
    return [f"no subject is user:ID or tenant:ID, so nothing is remembered, in: {some}"]


def _about(order: Order) -> JsonObject:
    """``run.json``, less its status and totals. No value of a ``${VAR}`` is in it."""
    profile = order.profile
    arguments = json.dumps(order.arguments, ensure_ascii=False)
    masked: Json = json.loads(masked_values(arguments, profile.secrets.values()))
    return {
        "kind": "run",
        "contextctl": __version__,
        "profile": profile.to_json(),
        "profile_path": profile.path,
        "profile_digest": profile.digest,
        "versions": {
            "contextctl": __version__,
            "python": platform.python_version(),
            "litellm": _version("litellm"),
        },
        "inputs": [*order.inputs],
        "arguments": masked,
        "dry_run": order.dry_run,
        "started_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _sum_up(order: Order, summary: RunSummary, end: BatchEnd) -> None:
    """The sums over all tasks, and the one word for how the run ended."""
    prices = model_facts(order.profile.model.name).prices
    summary.results, summary.left = end.results, len(end.left)
    if prices is not None:
        summary.input_raw_usd = summary.input_usd = 0.0
    for one in end.ended:
        summary.tokens_raw += one.totals.raw
        summary.tokens_sent += one.totals.sent
        summary.tokens_held += one.totals.held
        summary.cost_usd += one.totals.cost
        raw, cost = one.totals.input_cost(prices)
        if summary.input_usd is not None and summary.input_raw_usd is not None:
            summary.input_raw_usd += raw
            summary.input_usd += cost
    statuses = summary.counts
    if end.interrupted:
        summary.status = "interrupted"
    elif end.left:
        summary.status = "cost"
    else:
        summary.status = next((word for word in _WORST_FIRST if word in statuses), "ok")


_WORST_FIRST = ("interrupted", "overflow", "failed", "cost", "max_steps")


def _exit_code(order: Order, summary: RunSummary, end: BatchEnd) -> int:
    """The contract's exit code: the gravest thing that happened decides."""
    statuses = summary.counts
    failed = [one for one in end.ended if one.result.status != "ok"]
    if end.interrupted:
        return INTERRUPTED
    if end.bugs:
        return BUG
    if "overflow" in statuses:
        return OVERFLOW
    if failed and all(one.outside for one in end.ended) and not summary.skipped:
        return OUTSIDE
    return FINDING if failed or end.left or _gated(order, summary) else 0


def _gated(order: Order, summary: RunSummary) -> bool:
    """Whether a step was as full as ``--fail-on`` forbids."""
    if not order.fail_on:
        return False
    limit = ZONES.index(order.fail_on)
    return any(ZONES.index(result.peak.zone) >= limit for result in summary.results)
