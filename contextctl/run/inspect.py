"""Looking at one task again: from a run's folder, or from a bare trace under a profile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from contextctl.core.trace_events import trace_events
from contextctl.core.walk import Walked, walk
from contextctl.errors import RecordError, UsageError
from contextctl.io.model_windows import resolve_window
from contextctl.io.profile_saved import restore_profile
from contextctl.io.profiles import load_profile
from contextctl.io.records import read_record
from contextctl.io.run_folder import RunFolder, safe_name
from contextctl.io.traces import read_traces
from contextctl.io.vocab import counter_for
from contextctl.model.counter import Counter
from contextctl.model.message import Json, JsonObject
from contextctl.model.profile import Profile, profile_from_mapping
from contextctl.model.record import Event
from contextctl.run.replay import opened


@dataclass(frozen=True, slots=True)
class Subject:
    """One task to look at. ``run`` is the folder it was recorded in, None for a bare trace."""

    task: str
    profile: Profile
    counter: Counter
    events: tuple[Event, ...]
    run: RunFolder | None = None

    def steps(self) -> Iterator[Walked]:
        """Every step, assembled again."""
        return walk(self.profile, self.counter, self.events)


def subject(
    source: str | None, task: str | None, *, model: str | None, profile: str | None, base: Path
) -> Subject:
    """The task that is asked for; the worst one when none is named.

    ``source`` is a run's folder, ``latest``, a trace file, or None for the latest run. Raises
    ``UsageError`` that lists what there is when nothing matches.
    """
    if source is not None and (base / source).is_file():
        return _from_trace(base / source, task, model, profile)
    run = RunFolder.open(source or "latest", base)
    return _from_run(run, task, profile)


def pick(steps: Iterator[Walked], number: int | None, task: str) -> tuple[Walked, Walked | None, int]:
    """The step asked for (the fullest one by default), the one before it, and how many there are."""
    best: tuple[Walked, Walked | None] | None = None
    previous, count = None, 0
    for step in steps:
        count += 1
        wanted = step.assembly.ledger.step == number
        worse = best is None or _weight(step) > _weight(best[0])
        if wanted or (number is None and worse):
            best = (step, previous)
        previous = step
    if best is None:
        have = f"it has steps 1 to {count}" if count else "it has no step"
        raise UsageError(f"'{task}' has no step {number}; {have}")
    return best[0], best[1], count


def _weight(step: Walked) -> float:
    return step.assembly.ledger.ratio


def _from_trace(path: Path, task: str | None, model: str | None, profile: str | None) -> Subject:
    if profile:
        loaded = load_profile(profile, [f"model.name={model}"] if model else [])
    elif model:
        loaded = profile_from_mapping({"version": 1, "name": model, "model": {"name": model}})
    else:
        raise UsageError(
            f"to explain the bare trace '{path}', say which model it is for: --model NAME "
            "(for its window and tokenizer), or --profile PROFILE"
        )
    loaded = resolve_window(loaded)
    counter = counter_for(loaded.tokenizer, loaded.model.name)
    traces = list(read_traces(path))
    ids = [trace.id for trace in traces]
    if task is not None and task not in ids:
        raise UsageError(f"no trace '{task}' in '{path}'; it holds: {_listed(ids)}")
    found = None
    for trace in traces:
        if task in (None, trace.id):
            events = (opened(trace), *trace_events(trace))
            candidate = Subject(trace.id, loaded, counter, events)
            found = _fuller(found, candidate)
    if found is None:
        raise UsageError(f"'{path}' holds no trace")
    return found


def _fuller(first: Subject | None, second: Subject) -> Subject:
    if first is None:
        return second
    return max(first, second, key=lambda one: max(map(_weight, one.steps()), default=0.0))


def _from_run(run: RunFolder, task: str | None, profile: str | None) -> Subject:
    about = run.read_run_json()
    saved = about.get("profile")
    if profile:
        loaded = resolve_window(load_profile(profile))
    elif isinstance(saved, dict):
        loaded = restore_profile(saved)
    else:
        raise RecordError(f"'{run.run_json}' holds no profile; name one with --profile")
    name = task if task is not None else _worst(run)
    folder = run.task(name)
    if not folder.record.exists():
        have = [one.name for one in run.tasks()]
        raise UsageError(f"no task '{name}' in '{run.path}'; it holds: {_listed(have)}")
    events, _ = read_record(folder.record)
    return Subject(name, loaded, counter_for(loaded.tokenizer, loaded.model.name), events, run)


def _worst(run: RunFolder) -> str:
    """The task with the fullest step, by its ledger."""
    fullest: list[tuple[float, str]] = []
    for folder in run.tasks():
        lines = folder.read_ledger().values
        ratios = [_number(line.get("ratio")) for line in lines]
        if ratios:
            fullest.append((max(ratios), str(lines[0].get("task") or folder.name)))
    if not fullest:
        raise UsageError(f"'{run.path}' has no step yet")
    return max(fullest)[1]


def _number(value: Json) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _listed(names: list[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "") if names else "none"
