"""A replay run: trace files through a profile, into a run's folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from contextctl.core.count import Counter
from contextctl.core.measure.totals import Totals
from contextctl.io.models.map import model_facts
from contextctl.io.runs.folder import RunFolder
from contextctl.io.stores.audit_writer import AuditWriter
from contextctl.io.text.jsonl import JsonlWriter
from contextctl.io.traces import read_traces
from contextctl.io.workspace.blobs import open_store
from contextctl.io.workspace.session import Workspace
from contextctl.model.message import JsonObject
from contextctl.model.profile import Profile
from contextctl.model.result import TaskResult
from contextctl.model.trace import Trace
from contextctl.run.journal import Journal, fresh
from contextctl.run.replay import opened, replay_result, replay_trace
from contextctl.version import __version__

Progress = Callable[[str, int], None]


@dataclass(slots=True)
class ReplayOutcome:
    """Every trace's result, and the sums over all of them."""

    results: list[TaskResult] = field(default_factory=list)
    raw_tokens: int = 0
    sent_tokens: int = 0
    held_tokens: int = 0
    cost_raw: float = 0.0
    cost: float = 0.0
    warnings: list[str] = field(default_factory=list)

    @property
    def steps(self) -> int:
        """Steps walked."""
        return sum(result.steps for result in self.results)

    @property
    def worst(self) -> TaskResult | None:
        """The trace with the fullest step."""
        return max(self.results, key=lambda result: result.peak.ratio, default=None)


def replay_files(
    profile: Profile,
    counter: Counter,
    paths: Sequence[Path],
    folder: RunFolder,
    *,
    format_name: str = "auto",
    windows: bool = False,
    progress: Progress = lambda _task, _step: None,
) -> ReplayOutcome:
    """Replay every trace of ``paths``. ``run.json`` says ``running`` until the last one is done."""
    outcome = ReplayOutcome()
    prices = model_facts(profile.model.name).prices
    about = _about(profile, paths, windows=windows)
    folder.write_run_json({**about, "status": "running"})
    folder.results.unlink(missing_ok=True)
    address = profile.workspace.path or folder.workspace
    with (
        closing(open_store(address, profile.workspace.size_limit)) as store,
        closing(AuditWriter(profile.stores.audit, folder.path)) as audit,
        closing(JsonlWriter(folder.results)) as results,
    ):
        for trace in _distinct(paths, format_name):
            first = opened(trace)
            workspace = Workspace(store, first.session, first.key, run=folder.path.name)
            task = folder.task(trace.id)
            fresh(task)
            totals = Totals()
            secrets = profile.secrets.values()
            with closing(
                Journal(task, workspace, audit, windows=windows, secrets=secrets)
            ) as journal:
                for ledger in replay_trace(profile, counter, trace, journal, totals):
                    progress(trace.id, ledger.step)
            cost_raw, cost = totals.input_cost(prices)
            result = replay_result(trace, totals, cost)
            results.append([result.to_json()])
            _add(outcome, result, totals, cost_raw, cost)
    folder.write_run_json({**about, "status": "done", "totals": _totals(outcome)})
    return outcome


def _distinct(paths: Iterable[Path], format_name: str) -> Iterator[Trace]:
    """All traces in order; an id that an earlier file had gets a number, and a warning says so."""
    seen: dict[str, int] = {}
    for path in paths:
        for trace in read_traces(path, format_name):
            seen[trace.id] = seen.get(trace.id, 0) + 1
            if seen[trace.id] == 1:
                yield trace
                continue
            name = f"{trace.id}-{seen[trace.id]}"
            told = f"{path}: another trace is called '{trace.id}' too; this one is '{name}' here"
            yield replace(trace, id=name, warnings=(*trace.warnings, told))


def _add(
    outcome: ReplayOutcome, result: TaskResult, totals: Totals, cost_raw: float, cost: float
) -> None:
    outcome.results.append(result)
    outcome.raw_tokens += totals.raw
    outcome.sent_tokens += totals.sent
    outcome.held_tokens += totals.held
    outcome.cost_raw += cost_raw
    outcome.cost += cost
    outcome.warnings.extend(result.warnings)


def _about(profile: Profile, paths: Sequence[Path], *, windows: bool) -> JsonObject:
    return {
        "kind": "replay",
        "contextctl": __version__,
        "profile": profile.to_json(),
        "profile_path": profile.path,
        "profile_digest": profile.digest,
        "inputs": [str(path) for path in paths],
        "arguments": {"windows": windows},
    }


def _totals(outcome: ReplayOutcome) -> JsonObject:
    return {
        "tasks": len(outcome.results),
        "steps": outcome.steps,
        "overflows": sum(result.status == "overflow" for result in outcome.results),
        "tokens_raw": outcome.raw_tokens,
        "tokens_sent": outcome.sent_tokens,
        "tokens_held": outcome.held_tokens,
        "cost_raw_usd": round(outcome.cost_raw, 6),
        "cost_usd": round(outcome.cost, 6),
    }
