"""Looking at one task again: from a run's folder, or from a trace.

A trace without a profile is looked at as it was recorded: nothing is left out, every remedy is off,
so that a window that was too large shows as too large. What would have helped is the business of
``explain``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote

from contextctl.core.explain.seen import Past
from contextctl.core.explain.whatif import settled
from contextctl.core.tools.result_pins import with_pins
from contextctl.core.trace_events import trace_events
from contextctl.core.walk import Walked, walk
from contextctl.errors import RecordError, UsageError
from contextctl.io.models.vocab import counter_for
from contextctl.io.profile.load import load_profile
from contextctl.io.profile.saved import restore_profile
from contextctl.io.profile.windows import resolve_window
from contextctl.io.runs.folder import HOME, RunFolder
from contextctl.io.runs.records import read_record
from contextctl.io.traces import read_traces
from contextctl.model.counter import Counter
from contextctl.model.ledger import LedgerReport
from contextctl.model.message import Json, JsonObject
from contextctl.model.profile import Profile
from contextctl.model.record import Event, MessageAdded, ResultArrived, StepTaken
from contextctl.model.trace import Trace
from contextctl.run.bare import bare_profile
from contextctl.run.replay import opened


@dataclass(frozen=True, slots=True)
class Asked:
    """What a command was asked to look at. ``base`` is the working directory."""

    base: Path
    source: str | None = None
    task: str | None = None
    model: str | None = None
    profile: str | None = None
    sets: Sequence[str] = ()
    format: str = "auto"


@dataclass(frozen=True, slots=True)
class Subject:
    """One task to look at.

    ``run`` is the folder it was recorded in, None for a trace; ``trace`` the file it came from.
    ``bare`` says that no profile was named; ``shown`` and ``flags`` are how a command names this
    task again.
    """

    task: str
    profile: Profile
    counter: Counter
    events: tuple[Event, ...]
    run: RunFolder | None = None
    trace: Path | None = None
    bare: bool = False
    named_by_trace: bool = False
    shown: str = ""
    flags: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def trace_shown(self) -> str:
        """The trace file as it was typed."""
        return self.shown.removesuffix(f" {quote(self.task)}")

    def steps(self) -> Iterator[Walked]:
        """Every step, assembled again."""
        return walk(self.profile, self.counter, self.events)


@dataclass(slots=True)
class Look:
    """One step of a subject, the one before it, and what is known of the steps so far."""

    step: Walked
    before: LedgerReport | None
    count: int = 0
    overflows: int = 0
    past: tuple[Past, ...] = ()
    totals: dict[int, int] = field(default_factory=dict)


def subject(asked: Asked) -> Subject:
    """The task that is asked for; the one with the worst step when none is named.

    ``source`` is a run's folder, ``latest``, a trace file, or None for the latest run. Raises
    ``UsageError`` that lists what there is when nothing matches.
    """
    source = asked.source
    if source is not None and (asked.base / source).is_file():
        here = Path(source) if asked.base == Path.cwd() else asked.base / source
        return _from_trace(here, asked)
    if source is not None and source != "latest" and not (asked.base / source).exists():
        raise UsageError(
            f"there is no file or run '{source}'; name a trace file, the folder of a run, or "
            "'latest'"
        )
    if source is None and not (asked.base / HOME).is_dir():
        raise UsageError(
            "nothing has run in this folder yet; name a trace and its model: contextctl explain "
            "TRACE --model NAME (or begin with contextctl demo)"
        )
    return _from_run(RunFolder.open(source or "latest", asked.base), asked)


def look_at(one: Subject, number: int | None) -> Look:
    """The step asked for. By default the fullest; of a bare trace the first that does not fit.

    Raises ``UsageError`` when there is no such step.
    """
    best: Look | None = None
    previous: LedgerReport | None = None
    past: list[Past] = []
    overflows, totals = 0, {}
    for step in one.steps():
        ledger = step.assembly.ledger
        past.append(_past(ledger))
        overflows += ledger.status == "overflow"
        totals[ledger.step] = ledger.total
        if ledger.step == number or (number is None and _is_worse(one, step, best)):
            best = Look(step, previous, past=tuple(past))
        previous = ledger
    if best is None:
        have = f"it has steps 1 to {len(past)}" if past else "it has no step"
        raise UsageError(f"'{one.task}' has no step {number}; {have}")
    best.count, best.overflows = len(past), overflows
    if one.run is not None:
        best.totals = totals
    return best


def _is_worse(one: Subject, step: Walked, best: Look | None) -> bool:
    if best is None:
        return True
    known = best.step.assembly.ledger
    if one.bare and known.status == "overflow":
        return False
    return _weight(step) > (known.ratio, known.total)


def _past(ledger: LedgerReport) -> Past:
    saved = sum(a.tokens_before - a.tokens_after for a in ledger.actions if a.new)
    return Past(
        ledger.step, ledger.total, ledger.ratio, ledger.status, ledger.prefix.broke_at, saved
    )


def _from_trace(path: Path, asked: Asked) -> Subject:
    traces = list(read_traces(path, asked.format))
    ids = [trace.id for trace in traces]
    if not traces:
        raise UsageError(f"'{path}' holds no trace")
    if asked.task is not None and asked.task not in ids:
        raise UsageError(f"no trace '{asked.task}' in '{asked.source}'; it holds: {_listed(ids)}")
    chosen = [trace for trace in traces if asked.task in (None, trace.id)]
    if not any(message.role == "assistant" for trace in chosen for message in trace.messages):
        raise UsageError(
            f"'{asked.source}' holds no assistant turn, so there is no step to look at"
        )
    profile = _profile_for(chosen, asked)
    found: Subject | None = None
    for trace in chosen:
        candidate = _traced(trace, profile, path, asked)
        found = candidate if found is None else _fuller(found, candidate)
    if found is None:
        raise UsageError(f"'{path}' holds no trace")
    return found if len(ids) == 1 else replace(found, shown=f"{found.shown} {quote(found.task)}")


def _profile_for(traces: Sequence[Trace], asked: Asked) -> Profile:
    if asked.profile:
        named = [f"model.name={asked.model}"] if asked.model else []
        return resolve_window(load_profile(asked.profile, [*named, *asked.sets]))
    named = [trace.model for trace in traces if trace.model]
    return bare_profile(asked.model, named, asked.sets, shown=asked.source or "")


def _traced(trace: Trace, profile: Profile, path: Path, asked: Asked) -> Subject:
    events: list[Event] = [opened(trace), *with_pins(profile, trace_events(trace))]
    if _is_waiting(events):
        turns = sum(message.role == "assistant" for message in trace.messages)
        events.append(StepTaken(turns + 1))
    return Subject(
        task=trace.id,
        profile=profile,
        counter=counter_for(profile.tokenizer, profile.model.name),
        events=tuple(settled(events)),
        trace=path,
        bare=not asked.profile,
        named_by_trace=not (asked.profile or asked.model),
        shown=quote(asked.source or str(path)),
        flags=_flags(asked, profile),
        warnings=trace.warnings,
    )


def _is_waiting(events: Sequence[Event]) -> bool:
    """Whether the trace ends where the agent was to speak: the request that may have failed."""
    for event in reversed(events):
        if isinstance(event, ResultArrived):
            return True
        if isinstance(event, MessageAdded):
            return event.message.role != "assistant"
    return False


def _fuller(first: Subject, second: Subject) -> Subject:
    return max(first, second, key=lambda one: max(map(_weight, one.steps()), default=(0.0, 0)))


def _weight(step: Walked) -> tuple[float, int]:
    return step.assembly.ledger.ratio, step.assembly.ledger.total


def _from_run(run: RunFolder, asked: Asked) -> Subject:
    about = run.read_run_json()
    saved = about.get("profile")
    if asked.profile:
        loaded = resolve_window(load_profile(asked.profile, asked.sets))
    elif asked.sets or asked.model:
        raise UsageError(
            "--set and --model put values over a profile: name it with --profile, or leave them out"
            " to see the run as it was"
        )
    elif isinstance(saved, dict):
        loaded = _with_file(restore_profile(saved), about, asked.base)
    else:
        raise RecordError(f"'{run.run_json}' holds no profile; name one with --profile")
    name = asked.task if asked.task is not None else _worst(run)
    folder = run.task(name)
    if not folder.record.exists():
        have = [one.name for one in run.tasks()]
        raise UsageError(f"no task '{name}' in '{run.path}'; it holds: {_listed(have)}")
    saved = folder.read_profile()
    if saved is not None and not asked.profile:
        loaded = restore_profile(saved)
    events, _ = read_record(folder.record)
    counter = counter_for(loaded.tokenizer, loaded.model.name)
    shown = f"{quote(asked.source or 'latest')} {quote(name)}"
    return Subject(
        name, loaded, counter, events, run, shown=shown, flags=_flags(asked, loaded, run=True)
    )


def _with_file(restored: Profile, about: JsonObject, base: Path) -> Profile:
    """The profile as it was, and the file it came from, so that an edit can be offered for it."""
    path = str(about.get("profile_path") or "")
    if not path or not (base / path).is_file():
        return restored
    arguments = about.get("arguments")
    sets = arguments.get("set") if isinstance(arguments, dict) else None
    try:
        now = load_profile(path, [str(one) for one in sets] if isinstance(sets, list) else ())
    except UsageError:  # it was changed since, and is no profile now
        return restored
    if resolve_window(now).digest == restored.digest:
        return replace(restored, path=now.path, origins=now.origins)
    # The file says something else now, and its lines with it; what --set said still holds.
    typed = {at: place for at, place in now.origins.items() if place.path.startswith("--set")}
    return replace(restored, path=now.path, origins=typed)


def _flags(asked: Asked, profile: Profile, *, run: bool = False) -> str:
    """The options that name the same profile again."""
    words = [f"--profile {quote(asked.profile)}"] if asked.profile else []
    if asked.model or not (asked.profile or run):
        words.append(f"--model {quote(profile.model.name)}")
    words += [f"--set {quote(one)}" for one in asked.sets]
    return "".join(f" {word}" for word in words)


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
