"""Single rows of the memory tables, inside a transaction, each change with its line of audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from contextctl.io.stores.memory_table import log_table, memory_table, storable, vector_table
from contextctl.model.memory import Change, Memory

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection


class MemoryRows:
    """What can be done to rows while ``connection`` is in a transaction."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def in_slot(self, memory: Memory) -> Memory | None:
        """What stands in the slot, and the state, of ``memory`` now."""
        columns = memory_table().c
        return self._one(
            columns.subject == memory.subject,
            columns.session == memory.session,
            columns.kind == memory.kind,
            columns.key == memory.key,
            columns.state == memory.state,
        )

    def by_id(self, memory_id: str) -> Memory | None:
        """The memory of that id."""
        return self._one(memory_table().c.id == memory_id)

    def add(self, memory: Memory) -> None:
        """A new row."""
        self.connection.execute(memory_table().insert().values(**asdict(memory)))

    def update(self, memory: Memory) -> None:
        """The row of that id has these values now."""
        table = memory_table()
        values = {key: value for key, value in asdict(memory).items() if key != "id"}
        self.connection.execute(table.update().where(table.c.id == memory.id).values(**values))

    def change(self, before: Memory, after: Memory, action: str, by: str) -> None:
        """Another text in the same slot, under the same id."""
        kept = replace(after, id=before.id, created_at=before.created_at, hits=before.hits)
        self.update(kept)
        vectors = vector_table()
        self.connection.execute(vectors.delete().where(vectors.c.memory_id == kept.id))
        self.note(action, kept, by, before=before.text, after=kept.text)

    def remove(self, memories: Sequence[Memory], action: str, by: str) -> None:
        """Rows go, and their texts leave the audit; that they were there stays."""
        ids = [one.id for one in memories]
        if not ids:
            return
        table, vectors, log = memory_table(), vector_table(), log_table()
        self.connection.execute(table.delete().where(table.c.id.in_(ids)))
        self.connection.execute(vectors.delete().where(vectors.c.memory_id.in_(ids)))
        self.connection.execute(
            log.update().where(log.c.memory_id.in_(ids)).values(text_before="", text_after="")
        )
        for memory in memories:
            self.note(action, memory, by)

    def note(
        self,
        action: str,
        memory: Memory,
        by: str,
        *,
        code: str = "",
        before: str = "",
        after: str = "",
    ) -> None:
        """One line of audit."""
        self.connection.execute(
            log_table().insert().values(
                at=datetime.now(UTC).isoformat(timespec="microseconds"), action=action,
                memory_id=memory.id, subject=memory.subject, kind=memory.kind, key=memory.key,
                done_by=storable(by), code=code, text_before=before, text_after=after,
            )
        )  # fmt: skip

    def count(self, column: str, ids: Sequence[str]) -> None:
        """One more of ``hits`` or ``bad`` for each id."""
        table = memory_table()
        update = table.update().where(table.c.id.in_(list(ids)))
        self.connection.execute(update.values({column: table.c[column] + 1}))

    def lock(self, *subjects: str) -> None:
        """One writer at a time for a subject, so that its changes are numbered in the order in
        which they are seen; a SQLite writer has the whole file already."""
        import sqlalchemy as sa

        if self.connection.dialect.name == "postgresql":
            lock = sa.text("SELECT pg_advisory_xact_lock(hashtext(:subject))")
            for subject in sorted(set(subjects)):  # in one order, or two writers wait for ever
                self.connection.execute(lock, {"subject": f"contextctl memory {subject}"})

    def _one(self, *where: ColumnElement[bool]) -> Memory | None:
        query = memory_table().select().where(*where)
        row = self.connection.execute(query).mappings().first()
        return None if row is None else Memory(**dict(row))


def change_from(row: Mapping[str, Any]) -> Change:
    """A line of audit as it is read."""
    return Change(
        number=row["number"], at=row["at"], action=row["action"], memory_id=row["memory_id"],
        subject=row["subject"], kind=row["kind"], key=row["key"], by=row["done_by"],
        code=row["code"], before=row["text_before"], after=row["text_after"],
    )  # fmt: skip
