"""The audit of one run: its rows, whether they are true, and what became of something said.

A row is true when folding the record again gives it, and when its raw text can be read back and
holds what every event it covers said. Nothing is asked and nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from contextctl.core.assemble import Fold
from contextctl.core.audit import ratios
from contextctl.core.audit_raw import listed_refs, missing_text
from contextctl.core.refs import safe_session
from contextctl.core.why import why
from contextctl.errors import RecordError, UsageError
from contextctl.io.audit_store import AuditStore, find_audit
from contextctl.io.audit_table import as_stored
from contextctl.io.profile_saved import restore_profile
from contextctl.io.records import read_record
from contextctl.io.run_folder import RunFolder
from contextctl.io.run_workspace import run_workspace
from contextctl.io.vocab import counter_for
from contextctl.io.workspace import Workspace
from contextctl.model.assembly import Assembly
from contextctl.model.audit import Compaction
from contextctl.model.audited import AuditChecked, Audited, AuditFault, AuditList
from contextctl.model.profile import Profile
from contextctl.model.record import Opened, Record, StepTaken
from contextctl.model.why import Why
from contextctl.run.variants import for_model

NO_ROWS = "(no audit rows)"


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

    def tasks(self) -> Iterator[tuple[Opened, Record]]:
        """Every task that has begun, with its record."""
        for folder in self.folder.tasks():
            record, _ = read_record(folder.record)
            if record and isinstance(record[0], Opened):
                yield record[0], record

    def rows(self, task: str | None = None) -> tuple[Audited, ...]:
        """The run's rows, newest first. Several runs may share a table: those of other sessions
        are none of this run's."""
        sessions = {opened.task: safe_session(opened.session) for opened, _ in self.tasks()}
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


def verify_audit(run: AuditedRun) -> AuditChecked:
    """Compare every row with what folding the record gives, and read its raw text back."""
    rows = {row.compaction.compaction_id: row.compaction for row in run.rows()}
    workspace = run_workspace(str(run.folder.path), Path())
    faults: list[AuditFault] = []
    events = 0
    for opened, record in run.tasks():
        implied = {one.compaction_id: one for one in _compactions(run.profile, record)}
        faults += _compared(opened.task, rows, implied)
        own = None
        if workspace.store is not None:
            own = Workspace(workspace.store, opened.session, opened.key)
        for one in rows.values():
            if one.thread_id == opened.task:
                found, looked = _raw_faults(one, record, own)
                faults += found
                events += looked
    return AuditChecked(run.name, len(rows), events, tuple(faults))


def why_forgotten(run: AuditedRun, text: str, task: str | None, step: int | None) -> Why:
    """What became of ``text`` in a task; in the only one, or the only one that holds it."""
    if not text.strip():
        raise UsageError("TEXT must not be empty")
    answers = []
    for opened, record in run.tasks():
        if task in (None, opened.task):
            rows = [row.compaction for row in run.rows(opened.task)]
            steps = (assembly for assembly, _ in _steps(run.profile, record))
            answers.append(why(text, opened.task, record, steps, rows, step))
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


def _is_of(compaction: Compaction, sessions: Mapping[str, str]) -> bool:
    session = sessions.get(compaction.thread_id)
    return session is not None and compaction.raw_ref.rpartition("-")[0] in ("", session)


def _steps(profile: Profile, record: Record) -> Iterator[tuple[Assembly, StepTaken]]:
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


def _compactions(profile: Profile, record: Record) -> Iterator[Compaction]:
    for assembly, _ in _steps(profile, record):
        yield from assembly.compactions


def _fold(profile: Profile) -> Fold:
    return Fold(profile, counter_for(profile.tokenizer, profile.model.name))


def _compared(
    task: str, rows: Mapping[str, Compaction], implied: Mapping[str, Compaction]
) -> Iterator[AuditFault]:
    for name, one in implied.items():
        row, now = rows.get(name), as_stored(one)
        if row is None:
            yield AuditFault(name, task, "missing", f"step {one.step} compacts, and no row says so")
        elif row != now:
            yield AuditFault(name, task, "differs", _difference(row, now))
    for name, row in rows.items():
        if row.thread_id == task and name not in implied:
            yield AuditFault(name, task, "unknown", "the record does not lead to this compaction")


def _difference(row: Compaction, now: Compaction) -> str:
    was, becomes = row.to_json(), now.to_json()
    names = [name for name in becomes if was[name] != becomes[name]]
    shown = [f"{n} {was[n]} in the row, {becomes[n]} by the record" for n in names[:3]]
    return "; ".join(text if len(text) < 200 else f"{text[:200]}…" for text in shown)


def _raw_faults(
    one: Compaction, record: Record, workspace: Workspace | None
) -> tuple[list[AuditFault], int]:
    """What is wrong with the raw text of a row, and how many events were looked for in it."""
    parts: list[str] = []
    waiting = [one.raw_ref, *(ref for ref in one.raw_refs if ref != one.raw_ref)]
    while waiting:
        ref = waiting.pop(0)
        text = None if workspace is None else workspace.get(ref)
        if text is None:
            message = f"'{ref}' cannot be read from the workspace"
            return [AuditFault(one.compaction_id, one.thread_id, "raw_gone", message)], 0
        listed = listed_refs(text)
        waiting[:0] = listed
        if not listed:
            parts.append(text)
    # A text that was too long for one stretch goes on in the next one.
    looked, missing = missing_text(record, one.event_from, one.event_to, "".join(parts))
    faults = [
        AuditFault(one.compaction_id, one.thread_id, "raw_differs", f"it lacks the text of {name}")
        for name in missing[:3]
    ]
    return faults, looked
