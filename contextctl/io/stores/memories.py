"""Long-term memory in a database: written once a slot, read by subject, and really deleted.

A slot is (subject, session, kind, key): a later value takes the place of the one before. Every
change is a line of the audit in the same transaction. Whoever reads names the subject, and rows of
others are never looked at.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from contextctl.errors import StoreError, UsageError
from contextctl.io.stores.engine import SQLITE, Store, open_database
from contextctl.io.stores.memory_rows import MemoryRows, change_from
from contextctl.io.stores.memory_table import (
    MIGRATIONS,
    PART,
    log_table,
    memory_table,
    storable,
    subject_name,
    vector_table,
)
from contextctl.model.memory import CURRENT, HELD, Candidate, Change, Memory, Written
from contextctl.model.memory_keys import key_of_text, normal_key

FILE = "memory.db"
_AT_ONCE = 500
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


class MemoryStore:
    """The memories of one database. ``name`` is what people are shown."""

    def __init__(self, store: Store) -> None:
        self._store = store
        store.migrate(PART, MIGRATIONS)

    @property
    def name(self) -> str:
        """The file, or the URL without its password."""
        return self._store.name

    def write(
        self,
        candidate: Candidate,
        *,
        held: bool = False,
        lifetime_s: float | None = None,
        by: str = "",
        at: datetime | None = None,
    ) -> Written:
        """Put a candidate that passed the gates into its slot. The same text again adds nothing.

        ``held``: it waits for a person, beside what stands in the slot now.
        """
        now = at or datetime.now(UTC)
        memory = _made(candidate, now, lifetime_s, held=held)
        with self._writing("write a memory") as rows:
            rows.lock(memory.subject)
            before = rows.in_slot(memory)
            if before is None:
                rows.add(memory)
                rows.note("held" if held else "added", memory, by, after=memory.text)
                return Written("held" if held else "added", memory.id)
            if before.text == memory.text:
                rows.update(_refreshed(before, memory))
                return Written("same", before.id)
            rows.change(before, memory, "held" if held else "changed", by)
            return Written("held" if held else "changed", before.id)

    def refused(self, candidate: Candidate, code: str, by: str = "") -> None:
        """Note that a candidate was refused; its text is not kept, since it may be the reason."""
        with self._writing("note a refusal") as rows:
            memory = Memory("", subject_name(candidate.subject), candidate.kind, "", "")
            rows.lock(memory.subject)
            rows.note("refused", memory, by, code=code)

    def rows(
        self,
        subject: str | None,
        *,
        session: str | None = "",
        states: Collection[str] = (CURRENT,),
        at: datetime | None = None,
    ) -> tuple[Memory, ...]:
        """Memories of a subject (None: of everybody, for the person who keeps the store), newest
        first. ``session`` adds that session's own; None: those of all sessions. What has expired
        is not among them."""
        import sqlalchemy as sa

        table = memory_table()
        columns = table.c
        where = [
            columns.state.in_(sorted(states)),
            sa.or_(columns.expires_at == "", columns.expires_at > _iso(at or datetime.now(UTC))),
        ]
        if subject is not None:
            where.append(columns.subject == subject_name(subject))
        if session is not None:
            where.append(columns.session.in_(sorted({"", session})))
        query = sa.select(table).where(*where)
        with self._store.reading("read memories") as connection:
            found = [Memory(**dict(row)) for row in connection.execute(query).mappings()]
        return tuple(sorted(found, key=lambda one: (one.updated_at, one.id), reverse=True))

    def changed(self, subject: str, since: int) -> tuple[int, frozenset[str], tuple[Memory, ...]]:
        """What became of a subject's memories after change ``since``: the number of the last
        change, the ids of all that were touched, and those of them that are remembered now."""
        import sqlalchemy as sa

        log, table, name = log_table().c, memory_table(), subject_name(subject)
        query = sa.select(log.number, log.memory_id).where(log.subject == name, log.number > since)
        with self._store.reading("read changes of memory") as connection:
            lines = connection.execute(query).all()
            ids = frozenset(line[1] for line in lines)
            found: list[Memory] = []
            for some in _some(sorted(ids)):
                rows = table.select().where(table.c.id.in_(some), table.c.state == CURRENT)
                found += (Memory(**dict(row)) for row in connection.execute(rows).mappings())
        return max((line[0] for line in lines), default=since), ids, tuple(found)

    def get(self, memory_id: str, subject: str | None = None) -> Memory:
        """The memory of that id. Raises ``UsageError`` when ``subject`` has none such."""
        with self._store.reading("read a memory") as connection:
            found = MemoryRows(connection).by_id(memory_id)
        if found is None or (subject is not None and found.subject != subject):
            raise UsageError(f"no memory '{memory_id}' in '{self.name}'; memory ls shows their ids")
        return found

    def correct(
        self, memory_id: str, candidate: Candidate, by: str = "", at: datetime | None = None
    ) -> Written:
        """Put another text in the place of a memory's; it keeps its id and its slot."""
        with self._writing("correct a memory") as rows:
            before = self._still(rows, memory_id)
            after = replace(
                before, text=storable(candidate.text), source=candidate.source, turn=candidate.turn,
                confidence=candidate.confidence, updated_at=_iso(at or datetime.now(UTC)), bad=0,
            )  # fmt: skip
            rows.change(before, after, "corrected", by)
        return Written("changed", before.id)

    def confirm(self, memory_id: str, by: str = "", at: datetime | None = None) -> Written:
        """Let a held memory in: it takes the place of what stands in its slot."""
        now = _iso(at or datetime.now(UTC))
        with self._writing("confirm a memory") as rows:
            held = self._still(rows, memory_id)
            if held.state != HELD:
                return Written("same", held.id)
            before = rows.in_slot(replace(held, state=CURRENT))
            if before is not None:
                rows.remove([before], "superseded", by)
            after = replace(held, state=CURRENT, updated_at=now)
            rows.update(after)
            rows.note("confirmed", after, by, after=after.text)
        return Written("added", held.id)

    def forget(self, memories: Iterable[Memory], by: str = "") -> tuple[str, ...]:
        """Delete memories, their texts in the audit too; the ids that were there."""
        wanted = list(memories)
        with self._writing("forget memories") as rows:
            rows.lock(*(one.subject for one in wanted))
            found = [one for one in wanted if rows.by_id(one.id) is not None]
            rows.remove(found, "forgotten", by)
        return tuple(one.id for one in found)

    def expire(self, at: datetime | None = None) -> tuple[str, ...]:
        """Delete what has expired; the ids."""
        import sqlalchemy as sa

        table, now = memory_table(), _iso(at or datetime.now(UTC))
        query = sa.select(table).where(table.c.expires_at != "", table.c.expires_at <= now)
        with self._writing("delete expired memories") as rows:
            found = [Memory(**dict(row)) for row in rows.connection.execute(query).mappings()]
            rows.lock(*(one.subject for one in found))
            found = [one for one in found if rows.by_id(one.id) == one]
            rows.remove(found, "expired", "contextctl")
        return tuple(one.id for one in found)

    def recalled(self, ids: Sequence[str]) -> None:
        """Count a recall of each memory."""
        self._count("hits", ids, "count recalls")

    def complain(self, memory_id: str, by: str = "") -> None:
        """Note that a memory was of no use or wrong: it ranks lower from now on."""
        with self._writing("note a complaint") as rows:
            memory = self._still(rows, memory_id)
            rows.count("bad", [memory_id])
            rows.note("complaint", memory, by)

    def log(self, subject: str | None = None, memory_id: str | None = None) -> tuple[Change, ...]:
        """The audit, oldest first."""
        import sqlalchemy as sa

        table = log_table()
        columns = table.c
        query = sa.select(table).order_by(columns.number)
        if subject is not None:
            query = query.where(columns.subject == subject_name(subject))
        if memory_id is not None:
            query = query.where(columns.memory_id == memory_id)
        with self._store.reading("read the audit of memory") as connection:
            return tuple(change_from(dict(row)) for row in connection.execute(query).mappings())

    def version(self, subject: str) -> int:
        """The number of the last change of a subject's memories; 0 without any."""
        import sqlalchemy as sa

        columns = log_table().c
        query = sa.select(sa.func.max(columns.number)).where(
            columns.subject == subject_name(subject)
        )
        with self._store.reading("read the version of memory") as connection:
            return int(connection.execute(query).scalar() or 0)

    def vectors(self, ids: Iterable[str]) -> dict[str, tuple[str, bytes]]:
        """By memory id: the hash of the text a vector is of, and the vector."""
        import sqlalchemy as sa

        vector = vector_table().c
        query = sa.select(vector.memory_id, vector.of_text, vector.vector)
        out: dict[str, tuple[str, bytes]] = {}
        with self._store.reading("read vectors") as connection:
            for some in _some(list(ids)):
                found = connection.execute(query.where(vector.memory_id.in_(some)))
                out |= {row[0]: (row[1], bytes(row[2])) for row in found}
        return out

    def keep_vectors(self, subject: str, vectors: Mapping[str, tuple[str, bytes]]) -> None:
        """Write vectors of a subject's memories, in the place of older ones."""
        table = vector_table()
        with self._writing("write vectors") as rows:
            rows.lock(
                subject_name(subject)
            )  # nobody else deletes one of them now, or writes it too
            for name, (of_text, vector) in vectors.items():
                rows.connection.execute(table.delete().where(table.c.memory_id == name))
                if rows.by_id(name) is not None:  # deleted since: then nothing of it is kept
                    value = {"memory_id": name, "of_text": of_text, "vector": vector}
                    rows.connection.execute(table.insert().values(**value))

    def close(self) -> None:
        """Give up the connections."""
        self._store.close()

    @contextlib.contextmanager
    def _writing(self, doing: str) -> Iterator[MemoryRows]:
        """A transaction that leaves nothing of what it deletes in the pages of a file."""
        with self._store.writing(doing) as connection:
            if not self._store.is_postgres:
                connection.exec_driver_sql("PRAGMA secure_delete=ON")
            yield MemoryRows(connection)

    def _still(self, rows: MemoryRows, memory_id: str) -> Memory:
        """The memory as it is now that nobody else can change it. Raises ``UsageError``."""
        found = rows.by_id(memory_id)
        if found is not None:
            rows.lock(found.subject)
            found = rows.by_id(memory_id)
        if found is None:
            raise UsageError(f"no memory '{memory_id}' in '{self.name}'; memory ls shows their ids")
        return found

    def _count(self, column: str, ids: Sequence[str], doing: str) -> None:
        if ids:
            with self._writing(doing) as rows:
                rows.count(column, ids)


def open_memory(address: str, home: Path, *, create: bool = True) -> MemoryStore | None:
    """The memory store: ``sqlite`` is the file ``memory.db`` in ``home``, else a PostgreSQL URL.

    Without ``create`` a file that is not there is None: looking never makes one. Raises
    ``StoreError``.
    """
    path = home / FILE
    if address == SQLITE:
        if not create and not path.is_file():
            return None
        try:
            home.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot make '{home}': {error.strerror or error}") from error
    return MemoryStore(open_database(address, path))


def _made(candidate: Candidate, now: datetime, lifetime_s: float | None, *, held: bool) -> Memory:
    text = storable(candidate.text.strip())
    expires = "" if lifetime_s is None else _iso(now + timedelta(seconds=lifetime_s))
    return Memory(
        id="m" + "".join(secrets.choice(_ALPHABET) for _ in range(8)),
        subject=subject_name(candidate.subject),
        kind=candidate.kind,
        key=storable(normal_key(candidate.key)) or key_of_text(text),
        text=text,
        confidence=candidate.confidence,
        source=storable(candidate.source),
        turn=candidate.turn,
        session=candidate.session,
        state=HELD if held else CURRENT,
        created_at=_iso(now),
        updated_at=_iso(now),
        expires_at=expires,
    )


def _refreshed(before: Memory, again: Memory) -> Memory:
    """What is said again lives longer, and is never less certain than it was."""
    return replace(
        before,
        updated_at=max(before.updated_at, again.updated_at),
        expires_at=again.expires_at,
        confidence=max(before.confidence, again.confidence),
    )


def _some(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """A few hundred at a time: a statement takes only so many."""
    return (ids[start : start + _AT_ONCE] for start in range(0, len(ids), _AT_ONCE))


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
