"""The journal of one task: its facts, its ledger and its windows, written as steps are taken.

What a window refers to is stored before the window is written or sent, so that a ref that anybody
can see always leads somewhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol, cast

from contextctl.io.recorder.masking import masked_values
from contextctl.io.runs.folder import TaskFolder
from contextctl.io.runs.records import RecordWriter
from contextctl.io.text.jsonl import JsonlWriter, json_text
from contextctl.model.assembly import Assembly, Offload
from contextctl.model.audit import Compaction
from contextctl.model.ledger import LedgerReport
from contextctl.model.message import JsonObject
from contextctl.model.record import Event


class Store(Protocol):
    """Where offloaded text goes."""

    def put_many(self, offloads: Iterable[Offload]) -> None:
        """Store each text under its ref; storing one twice is harmless."""


class Audit(Protocol):
    """Where compactions are audited."""

    def add(self, compactions: Sequence[Compaction]) -> None:
        """Add a row for each; adding one twice is harmless."""


class Journal:
    """Open files of one task. ``close`` gives them up for another process.

    ``secrets`` are values that a profile took from the environment: they may stand in a window
    that is sent, and stand in no file.
    """

    def __init__(
        self,
        folder: TaskFolder,
        store: Store,
        audit: Audit | None = None,
        *,
        windows: bool,
        secrets: Iterable[str] = (),
    ) -> None:
        folder.path.mkdir(parents=True, exist_ok=True)
        self._store, self._audit = store, audit
        self._secrets = tuple(secrets)
        self._record = RecordWriter(folder.record)
        self._ledger = JsonlWriter(folder.ledger)
        self._windows = JsonlWriter(folder.windows) if windows else None
        self.repaired = self._record.repaired

    def facts(self, events: Sequence[Event]) -> None:
        """Append facts to the record."""
        self._record.append(events)

    def keep(self, assembly: Assembly) -> None:
        """Store what left the window, then audit what was compacted: a row's text is there."""
        if assembly.offloads:
            self._store.put_many(assembly.offloads)
        if self._audit is not None:
            self._audit.add(assembly.compactions)

    def window(self, task: str, assembly: Assembly) -> None:
        """Write the exact window of a step, when windows are kept and there is one."""
        if self._windows is not None and assembly.ledger.status == "ok":
            self._windows.append([window_line(task, assembly, self._secrets)])

    def step(self, ledger: LedgerReport) -> None:
        """Write the report of a step."""
        self._ledger.append([ledger.to_json()])

    def close(self) -> None:
        """Close every file."""
        self._record.close()
        self._ledger.close()
        if self._windows is not None:
            self._windows.close()


def window_line(task: str, assembly: Assembly, secrets: Iterable[str] = ()) -> JsonObject:
    """One line of ``windows.jsonl``: what a step's window is, with every secret as ``***``."""
    line: JsonObject = {
        "task": task,
        "step": assembly.ledger.step,
        "messages": list(assembly.messages),
        "tools": list(assembly.tools),
    }
    hidden = [json_text({"": secret})[5:-2] for secret in secrets]  # as they stand in JSON
    return (
        cast("JsonObject", json.loads(masked_values(json_text(line), hidden))) if hidden else line
    )


def fresh(folder: TaskFolder) -> None:
    """Remove what an earlier try of this task left: it is run again from its first step."""
    for path in (folder.record, folder.ledger, folder.windows):
        Path(path).unlink(missing_ok=True)
