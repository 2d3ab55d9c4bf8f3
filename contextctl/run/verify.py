"""Verify: a recorded run assembled again from its own facts, every difference named.

No model is asked and no tool is called: the record holds every reply and every result. Under the
run's own profile each step must give the digest that was recorded; under another profile each
step's window is compared with the one the run's own profile gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from contextctl.core.assemble import Fold
from contextctl.errors import RecordError
from contextctl.io.models.vocab import counter_for
from contextctl.io.profile.saved import restore_profile
from contextctl.io.profile.windows import resolve_window
from contextctl.io.runs.folder import RunFolder, TaskFolder
from contextctl.io.runs.records import read_record
from contextctl.model.assembly import Assembly
from contextctl.model.message import Json, JsonObject
from contextctl.model.profile import Profile
from contextctl.model.record import MessageAdded, Opened, Record, StepTaken
from contextctl.run.differences import Difference, compare_windows, compare_with_files
from contextctl.run.journal import window_line
from contextctl.run.variants import for_model


def verify_run(folder: RunFolder, profile: Profile | None = None) -> list[Difference]:
    """Every difference of a run, task by task in the order of their names; none is the good case.

    Under ``profile`` instead of the run's own, the differences are those that the edit makes.
    Raises ``RecordError`` when ``run.json`` or a record cannot be read.
    """
    about = folder.read_run_json()
    own = _saved_profile(folder, about.get("profile"))
    is_whole = about.get("profile_digest") == own.digest
    other = None if profile is None else resolve_window(profile)
    results = {str(value.get("id")): value for value in folder.read_results().values}
    out = [_lost(name) for name, result in results.items() if _is_lost(folder, name, result)]
    for task in folder.tasks():
        for one in _with_subs(task):
            record, _ = read_record(one.record)
            saved = one.read_profile()
            profiles = (own, other) if saved is None else (_restored(one.profile, saved), None)
            if not record and one.read_ledger().values and one.name not in results:
                out.append(_lost(one.name))
            if record:
                checks = _Task(one, record, *profiles, results, is_whole=is_whole)
                out += _told_once(checks.differences())
    return out


def _is_lost(folder: RunFolder, task: str, result: JsonObject) -> bool:
    """Whether a task took steps of which no record is left."""
    record, _ = read_record(folder.task(task).record)
    return not record and bool(result.get("steps"))


def _lost(task: str) -> Difference:
    text = "the record of step 1 is missing, and of all after it: there is no record"
    return Difference(task, 1, "record", text)


def _with_subs(task: TaskFolder) -> Iterator[TaskFolder]:
    """A task and its subagents, which ran under profiles of their own."""
    yield task
    for sub in task.subs():
        yield from _with_subs(sub)


def _told_once(differences: Iterable[Difference]) -> Iterator[Difference]:
    """What differs stays in the window: it is a difference of the first step that has it."""
    told: set[tuple[str, str, str, str]] = set()
    for one in differences:
        what = (one.where, one.message, one.recorded, one.now)
        if what not in told:
            told.add(what)
            yield one


def _saved_profile(folder: RunFolder, saved: Json) -> Profile:
    if not isinstance(saved, dict):
        raise RecordError(f"'{folder.run_json}' holds no profile to verify under")
    return _restored(folder.run_json, saved)


def _restored(path: Path, saved: JsonObject) -> Profile:
    try:
        return restore_profile(saved)
    except ValueError as error:
        raise RecordError(
            f"'{path}': the profile in it cannot be read by this version: {error}"
        ) from None


class _Task:
    """One task's record, and the files beside it that say what its steps were."""

    def __init__(
        self,
        folder: TaskFolder,
        record: Record,
        own: Profile,
        other: Profile | None,
        results: Mapping[str, JsonObject],
        *,
        is_whole: bool,
    ) -> None:
        first = record[0]
        self.name = first.task if isinstance(first, Opened) else folder.name
        self._record, self._own, self._other = record, own, other
        self._is_whole = is_whole
        self._windows = {_step(line): line for line in folder.read_windows().values}
        self._ledger = {_step(line): line for line in folder.read_ledger().values}
        self._result = results.get(self.name)

    def differences(self) -> Iterator[Difference]:
        """Step by step; a fact that is missing ends it, since nothing after it can be verified."""
        seen = 0
        edited = None if self._other is None else _steps(self._other, self._record)
        for step, assembly in _steps(self._own, self._record):
            missing = self._missing(step, assembly, seen)
            if missing:
                yield self._no_record(missing, seen)
                return
            seen = step.step
            if edited is not None:
                _, now = next(edited)
                yield from compare_windows(self.name, assembly, now)
            elif step.digest != assembly.ledger.digest and self._is_comparable(step):
                line, window = self._ledger.get(seen), self._windows.get(seen)
                shown = window_line(self.name, assembly, self._own.secrets.values())
                yield from compare_with_files(self.name, assembly, line, window, shown)
        yield from self._cut_short(seen)

    def _missing(self, step: StepTaken, assembly: Assembly, seen: int) -> int:
        """The first step that should stand before ``step`` and does not; 0 when none is missing."""
        if step.step != assembly.ledger.step:
            return assembly.ledger.step
        begun = seen or min([step.step, *self._ledger]) - 1
        return begun + 1 if step.step > begun + 1 else 0

    def _is_comparable(self, step: StepTaken) -> bool:
        """A step of a run that was continued under another profile has nothing to compare with."""
        mine = for_model(self._own, step.model).digest
        return step.profile in ("", mine) or not self._is_whole

    def _cut_short(self, last: int) -> Iterator[Difference]:
        """A record that ends before the steps that its ledger or its result tells of."""
        if max([0, *self._ledger]) > last:
            yield self._no_record(last + 1, last)
            return
        result = self._result
        if result is None or result.get("status") != "ok" or not result.get("answer"):
            return
        turns = [e.message for e in self._record if isinstance(e, MessageAdded)]
        answers = [message.text for message in turns if message.role == "assistant"]
        if not answers or answers[-1] != result["answer"]:
            text = f"the reply of step {last} is missing, or is not the answer that was given"
            yield Difference(self.name, last, "record", text)

    def _no_record(self, step: int, nearest: int) -> Difference:
        near = f"nearest recorded: step {nearest}" if nearest else "none is recorded before it"
        text = f"the record of step {step} is missing; {near}"
        return Difference(self.name, step, "record", text)


def _steps(profile: Profile, record: Record) -> Iterator[tuple[StepTaken, Assembly]]:
    """Each recorded step with the window it has under ``profile``, or under its fallback."""
    current = profile
    fold = _fold(current)
    for place, event in enumerate(record):
        if isinstance(event, StepTaken):
            wanted = for_model(profile, event.model)
            if wanted.model.name != current.model.name:
                current, fold = wanted, _fold(wanted)
                for past in record[:place]:
                    fold.advance(past)
            yield event, fold.assemble()
        fold.advance(event)


def _fold(profile: Profile) -> Fold:
    return Fold(profile, counter_for(profile.tokenizer, profile.model.name))


def _step(line: JsonObject) -> int:
    step = line.get("step")
    return step if isinstance(step, int) else 0
