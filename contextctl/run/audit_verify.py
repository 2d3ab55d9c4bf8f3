"""Whether the audit of a run is true.

A row is true when folding the record again gives it, and when its raw text can be read back and
holds what every event it covers said. Nothing is asked and nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from contextctl.core.audit.raw import listed_refs, missing_text
from contextctl.io.stores.audit_table import as_stored
from contextctl.io.workspace.of_run import run_workspace
from contextctl.io.workspace.session import Workspace
from contextctl.model.audit import Compaction
from contextctl.model.audited import AuditChecked, AuditFault
from contextctl.model.profile import Profile
from contextctl.model.record import Record
from contextctl.run.audit import AuditedRun, thread_steps


def verify_audit(run: AuditedRun) -> AuditChecked:
    """Compare every row with what folding the record gives, and read its raw text back."""
    rows = {row.compaction.compaction_id: row.compaction for row in run.rows()}
    workspace = run_workspace(str(run.folder.path), Path())
    faults: list[AuditFault] = []
    events = checked = 0
    for thread in run.tasks():
        opened, record = thread.opened, thread.record
        implied = {one.compaction_id: one for one in _compactions(thread.profile, record)}
        faults += _missing_or_other(thread.name, rows, implied)
        mine = [one for one in rows.values() if one.thread_id == thread.name]
        if run.is_shared:
            mine = [one for one in mine if one.compaction_id in implied]
        else:
            faults += _unknown(mine, implied)
        own = None
        if workspace.store is not None:
            own = Workspace(workspace.store, opened.session, opened.key)
        for one in mine:
            found, looked = _raw_faults(one, record, own)
            faults += found
            events += looked
        checked += len(mine)
    return AuditChecked(run.name, checked, events, tuple(faults))


def _compactions(profile: Profile, record: Record) -> Iterator[Compaction]:
    for assembly, _ in thread_steps(profile, record):
        yield from assembly.compactions


def _missing_or_other(
    task: str, rows: Mapping[str, Compaction], implied: Mapping[str, Compaction]
) -> Iterator[AuditFault]:
    for name, one in implied.items():
        row, now = rows.get(name), as_stored(one)
        if row is None:
            yield AuditFault(name, task, "missing", f"step {one.step} compacts, and no row says so")
        elif row != now:
            yield AuditFault(name, task, "differs", _difference(row, now))


def _unknown(rows: Sequence[Compaction], implied: Mapping[str, Compaction]) -> Iterator[AuditFault]:
    for row in rows:
        if row.compaction_id not in implied:
            message = "the record does not lead to this compaction"
            yield AuditFault(row.compaction_id, row.thread_id, "unknown", message)


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
