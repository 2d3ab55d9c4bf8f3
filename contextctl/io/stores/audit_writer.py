"""Adding audit rows while a run goes on: opened by the first row, shared by all of its tasks."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from contextctl.io.stores.engine import SQLITE
from contextctl.model.audit import Compaction

if TYPE_CHECKING:
    from contextctl.io.stores.audit import AuditStore


class AuditWriter:
    """Adds rows to a run's audit table.

    The file of a run that compacts nothing is never made, and SQLAlchemy never imported. A server
    is looked for at once: a run that cannot be audited does not begin. Raises ``StoreError``.
    """

    def __init__(self, address: str, folder: Path) -> None:
        self._address, self._folder = address, folder
        self._lock = threading.Lock()
        self._store: AuditStore | None = None
        if address != SQLITE:
            self._open()

    def add(self, compactions: Sequence[Compaction]) -> None:
        """Add a row for each; when it returns, all of them are on disk."""
        if compactions:
            self._open().add(compactions)

    def close(self) -> None:
        """Give up the connections."""
        with self._lock:
            if self._store is not None:
                self._store.close()
                self._store = None

    def _open(self) -> AuditStore:
        from contextctl.io.stores.audit import open_audit  # imports SQLAlchemy

        with self._lock:
            if self._store is None:
                self._store = open_audit(self._address, self._folder)
            return self._store
