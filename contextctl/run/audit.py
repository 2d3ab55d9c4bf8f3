"""The audit of one run: its rows, and what became of something that was said in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from contextctl.core.assemble import Fold
from contextctl.core.audit.ratios import ratios
from contextctl.core.audit.why import why
from contextctl.core.reading.refs import safe_session
from contextctl.errors import RecordError, UsageError
from contextctl.io.models.vocab import counter_for
from contextctl.io.profile.saved import restore_profile
from contextctl.io.runs.folder import RunFolder
from contextctl.io.runs.records import read_record
from contextctl.io.stores.audit import AuditStore, find_audit
from contextctl.io.stores.engine import SQLITE
from contextctl.model.assembly import Assembly
from contextctl.model.audit import Compaction
from contextctl.model.audited import Audited, AuditList
from contextctl.model.profile import Profile
from contextctl.model.record import Opened, Record, StepTaken
from contextctl.model.why import Why
from contextctl.run.variants import for_model

NO_ROWS = "(no audit rows)"


@dataclass(frozen=True, slots=True)
class Thread:
    """One record, and the profile it was made under."""

    opened: Opened
    record: Record
    profile: Profile

    @property
    def name(self) -> str:
        """The task, as rows name it."""
        return self.opened.task


@dataclass(frozen=True, slots=True)
class AuditedRun:
    """A run with its audit table; ``store`` is None when it has no row."""

    folder: RunFolder
    profile: Profile
    store: AuditStore | None

    @property
    def name(self) -> str:
        """Where the rows are."""
        return NO_ROWS if self.store is None else self.store.name

    @property
    def is_shared(self) -> bool:
        """Whether other runs of the same session may have rows there: the same trace replayed
        under another profile."""
        return self.profile.stores.audit != SQLITE

    def tasks(self) -> Iterator[Thread]:
        """Every task that has begun, subagents' tasks included."""
        for folder in self.folder.tasks():
            for path in (folder.record, *sorted(folder.path.glob("**/sub/*/record.jsonl"))):
                record, _ = read_record(path)
                if record and isinstance(record[0], Opened):
                    yield Thread(record[0], record, _own_profile(path.parent) or self.profile)

    def rows(self, task: str | None = None) -> tuple[Audited, ...]:
        """The run's rows, newest first. Several runs may share a table: those of other sessions
        are none of this run's."""
        sessions = {one.name: safe_session(one.opened.session) for one in self.tasks()}
        if task is not None and task not in sessions:
            raise UsageError(
                f"no task '{task}' in '{self.folder.path}'; it holds: {', '.join(sessions)}"
            )
        if self.store is None:
            return ()
        rows = self.store.rows([task] if task is not None else list(sessions))
        return tuple(row for row in rows if _is_of(row.compaction, sessions))


def audited_run(name: str, base: Path) -> AuditedRun:
    """The run called ``name`` (a folder, or ``latest``) and its audit table.

    Raises ``UsageError``, ``RecordError`` or ``StoreError``.
    """
    folder = RunFolder.open(name, base)
    saved = folder.read_run_json().get("profile")
    if not isinstance(saved, dict):
        raise RecordError(f"'{folder.run_json}' holds no profile")
    profile = restore_profile(saved)
    return AuditedRun(folder, profile, find_audit(profile.stores.audit, folder.path))


def list_audit(run: AuditedRun, task: str | None = None, limit: int | None = None) -> AuditList:
    """The rows of a run, or of one of its tasks; the ratios are those of all of these rows."""
    rows = run.rows(task)
    return AuditList(run.name, rows if limit is None else rows[:limit], ratios(rows))


def find_row(run: AuditedRun, name: str) -> Audited:
    """The row whose id is ``name`` or begins with it. Raises ``UsageError``."""
    rows = run.rows()
    found = [row for row in rows if row.compaction.compaction_id == name]
    found = found or [row for row in rows if row.compaction.compaction_id.startswith(name)]
    if len(found) == 1 and name:
        return found[0]
    known = ", ".join(f"'{row.compaction.compaction_id}'" for row in (found or rows)[:8])
    what = "several compactions begin with" if found else "there is no compaction"
    raise UsageError(f"{what} '{name}' in '{run.name}'; it holds: {known or 'none'}")


def last_two(run: AuditedRun, task: str | None = None) -> tuple[Audited, Audited]:
    """The last two committed compactions of a task, the older one first."""
    rows = [row for row in run.rows(task) if row.compaction.outcome == "committed"]
    of_task = [row for row in rows if row.compaction.thread_id == rows[0].compaction.thread_id]
    if len(of_task) < 2:
        raise UsageError(f"there are not two compactions to compare in '{run.name}'")
    return of_task[1], of_task[0]


def why_forgotten(run: AuditedRun, text: str, task: str | None, step: int | None) -> Why:
    """What became of ``text`` in a task; in the only one, or the only one that holds it."""
    if not text.strip():
        raise UsageError("TEXT must not be empty")
    answers = []
    for one in run.tasks():
        if task in (None, one.name):
            rows = [row.compaction for row in run.rows(one.name)]
            steps = (assembly for assembly, _ in thread_steps(one.profile, one.record))
            answers.append(why(text, one.name, one.record, steps, rows, step))
    if not answers:
        raise UsageError(f"no task '{task or ''}' in '{run.folder.path}'")
    said = [one for one in answers if one.said]
    if len(said) > 1:
        names = ", ".join(f"'{one.task}'" for one in said[:8])
        raise UsageError(f"several tasks hold that text; choose one with --task: {names}")
    return said[0] if said else _nowhere(answers)


def _nowhere(answers: Sequence[Why]) -> Why:
    """Never said in any of the tasks, and what comes closest in all of them."""
    if len(answers) == 1:
        return answers[0]
    closest = tuple(one for answer in answers for one in answer.closest[:1])
    return replace(answers[0], task="", closest=closest[:3])


def _own_profile(folder: Path) -> Profile | None:
    """The profile that a subagent's folder names; None where the run's own holds."""
    try:
        saved = json.loads((folder / "profile.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise RecordError(f"cannot read '{folder / 'profile.json'}': {error}") from error
    return restore_profile(saved) if isinstance(saved, dict) else None


def _is_of(compaction: Compaction, sessions: Mapping[str, str]) -> bool:
    session = sessions.get(compaction.thread_id)
    return session is not None and compaction.raw_ref.rpartition("-")[0] in ("", session)


def thread_steps(profile: Profile, record: Record) -> Iterator[tuple[Assembly, StepTaken]]:
    """Each recorded step assembled again. A fallback model folds the past anew under its own
    window; what it compacts then is compacted in its first step."""
    current = profile
    fold = _fold(current)
    for place, event in enumerate(record):
        if isinstance(event, StepTaken):
            wanted = for_model(profile, event.model)
            if wanted.model.name != current.model.name:
                current, fold = wanted, _fold(wanted)
                for past in record[:place]:
                    if isinstance(past, StepTaken):
                        yield fold.assemble(), past
                    fold.advance(past)
            yield fold.assemble(), event
        fold.advance(event)


def _fold(profile: Profile) -> Fold:
    return Fold(profile, counter_for(profile.tokenizer, profile.model.name))
