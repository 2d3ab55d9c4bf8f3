"""The audit table: one row for every compaction that a run tried, in SQLite or PostgreSQL.

Rows are only ever added, and adding one twice changes nothing: a run that was killed between the
row and the step does it again on resume. The raw text is not here but in the workspace, under the
row's ``raw_ref``. What a database cannot hold in a text (NUL, half surrogate pairs) is written as
a visible sign, in both kinds alike, so that both give the same rows back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextctl.errors import StoreError
from contextctl.io.stores.audit_table import MIGRATIONS, audit_table, from_row, storable, to_row
from contextctl.io.stores.engine import SQLITE, Store, open_database
from contextctl.model.audit import Compaction
from contextctl.model.audited import Audited

if TYPE_CHECKING:
    from sqlalchemy import Select, Table
    from sqlalchemy.sql.dml import ReturningInsert

FILE = "audit.db"
PART = "agent_compaction"
# A statement takes only so many values.
_NAMES = 1_000


class AuditStore:
    """The rows of one database. ``name`` is what people are shown."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._table = audit_table()
        store.migrate(PART, MIGRATIONS)

    @property
    def name(self) -> str:
        """The file, or the URL without its password."""
        return self._store.name

    def add(self, compactions: Iterable[Compaction], at: datetime | None = None) -> int:
        """Add rows in one transaction; how many of them were new. ``at`` is now by default.

        A row that is there already stays as it is, its time included. Raises ``StoreError``.
        """
        now = at or datetime.now(UTC)
        values = [to_row(one, now, postgres=self._store.is_postgres) for one in compactions]
        if not values:
            return 0
        statement = _insert(self._table, postgres=self._store.is_postgres)
        with self._store.writing("add audit rows") as connection:
            # Drivers do not agree on how many rows an insert made; what it returns is certain.
            return sum(len(connection.execute(statement, row).all()) for row in values)

    def rows(self, threads: Collection[str] | None = None) -> tuple[Audited, ...]:
        """Rows of some threads or of all, newest first; of one moment, the later events first."""
        import sqlalchemy as sa

        query: Select[Any] = sa.select(self._table)
        thread, queries = self._table.c.thread_id, [query]
        if threads is not None:
            names = sorted(map(storable, threads))
            parts = (names[at : at + _NAMES] for at in range(0, len(names), _NAMES))
            queries = [query.where(thread.in_(part)) for part in parts]
        found: list[Audited] = []
        with self._store.reading("read audit rows") as connection:
            for one in queries:
                found += (from_row(dict(row)) for row in connection.execute(one).mappings())
        # Databases sort equal rows, and texts, each in its own way.
        return tuple(sorted(found, key=_newest, reverse=True))

    def close(self) -> None:
        """Give up the connections."""
        self._store.close()


def open_audit(address: str, folder: Path) -> AuditStore:
    """The audit table of a run, made where there is none: ``sqlite`` is the file ``audit.db`` in
    ``folder``, else a PostgreSQL URL. Raises ``StoreError``."""
    if address == SQLITE and not folder.is_dir():
        raise StoreError(f"no folder '{folder}' for the audit table")
    return AuditStore(open_database(address, folder / FILE))


def find_audit(address: str, folder: Path) -> AuditStore | None:
    """The audit table of a run; None for a file that is not there: looking never makes one."""
    if address == SQLITE and not (folder / FILE).is_file():
        return None
    return open_audit(address, folder)


def _insert(table: Table, *, postgres: bool) -> ReturningInsert[Any]:
    """An insert that leaves a row of the same id alone and returns the id of a new one."""
    same, added = [table.c.compaction_id], table.c.compaction_id
    if postgres:
        from sqlalchemy.dialects.postgresql import insert as into_postgres

        return into_postgres(table).on_conflict_do_nothing(index_elements=same).returning(added)
    from sqlalchemy.dialects.sqlite import insert as into_sqlite

    return into_sqlite(table).on_conflict_do_nothing(index_elements=same).returning(added)


def _newest(row: Audited) -> tuple[str, int, str]:
    return row.created_at, row.compaction.event_to, row.compaction.compaction_id
