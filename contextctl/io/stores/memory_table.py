"""The tables of long-term memory, in SQLite and PostgreSQL alike.

``contextctl_memory`` holds what is remembered now, one row for each slot: a subject, a kind and a
key (and a session, for session memory). ``contextctl_memory_log`` holds a line for each change;
when a memory is forgotten its texts leave that table too, and only that it was there stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

PART = "memory"
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """``text`` as both databases can hold it: NUL and half surrogate pairs as a visible sign."""
    return _UNSTORABLE.sub("�", text)


def subject_name(subject: str) -> str:
    """A subject as it stands in a row: spaces around it name nobody else."""
    return storable(subject.strip())


def _first(connection: Connection) -> None:
    serial = "BIGSERIAL" if connection.dialect.name == "postgresql" else "INTEGER"
    real = "DOUBLE PRECISION" if connection.dialect.name == "postgresql" else "REAL"
    for statement in (
        f"""CREATE TABLE contextctl_memory (
            id TEXT PRIMARY KEY, subject TEXT NOT NULL, session TEXT NOT NULL, kind TEXT NOT NULL,
            key TEXT NOT NULL, state TEXT NOT NULL, text TEXT NOT NULL, confidence {real} NOT NULL,
            source TEXT NOT NULL, turn TEXT NOT NULL, created_at TEXT NOT NULL,
            updated_at TEXT NOT NULL, expires_at TEXT NOT NULL, hits BIGINT NOT NULL,
            bad BIGINT NOT NULL)""",
        """CREATE UNIQUE INDEX contextctl_memory_slot
            ON contextctl_memory (subject, session, kind, key, state)""",
        f"""CREATE TABLE contextctl_memory_log (
            number {serial} PRIMARY KEY, at TEXT NOT NULL, action TEXT NOT NULL,
            memory_id TEXT NOT NULL, subject TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL,
            done_by TEXT NOT NULL, code TEXT NOT NULL, text_before TEXT NOT NULL,
            text_after TEXT NOT NULL)""",
        "CREATE INDEX contextctl_memory_log_memory ON contextctl_memory_log (memory_id)",
        "CREATE INDEX contextctl_memory_log_subject ON contextctl_memory_log (subject, number)",
    ):
        connection.exec_driver_sql(statement)


def _second(connection: Connection) -> None:
    """What a memory means, for recall by likeness; ``of_text`` is the hash of the text it is of."""
    blob = "BYTEA" if connection.dialect.name == "postgresql" else "BLOB"
    connection.exec_driver_sql(
        "CREATE TABLE contextctl_memory_vector "
        f"(memory_id TEXT PRIMARY KEY, of_text TEXT NOT NULL, vector {blob} NOT NULL)"
    )


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (_first, _second)


@lru_cache(maxsize=1)
def memory_table() -> Table:
    """What is remembered; the columns are the fields of ``Memory``."""
    import sqlalchemy as sa

    texts = ("subject", "session", "kind", "key", "state", "text", "source", "turn")
    times = ("created_at", "updated_at", "expires_at")
    return sa.Table(
        "contextctl_memory",
        sa.MetaData(),
        sa.Column("id", sa.Text, primary_key=True),
        *(sa.Column(name, sa.Text) for name in (*texts, *times)),
        sa.Column("confidence", sa.Float),
        sa.Column("hits", sa.BigInteger),
        sa.Column("bad", sa.BigInteger),
    )


@lru_cache(maxsize=1)
def vector_table() -> Table:
    """The vectors of memories, by their ids."""
    import sqlalchemy as sa

    return sa.Table(
        "contextctl_memory_vector",
        sa.MetaData(),
        sa.Column("memory_id", sa.Text, primary_key=True),
        sa.Column("of_text", sa.Text),
        sa.Column("vector", sa.LargeBinary),
    )


@lru_cache(maxsize=1)
def log_table() -> Table:
    """The audit; the columns are the fields of ``Change``, some under names SQL leaves free."""
    import sqlalchemy as sa

    texts = (
        "at", "action", "memory_id", "subject", "kind", "key", "done_by", "code", "text_before",
        "text_after",
    )  # fmt: skip
    return sa.Table(
        "contextctl_memory_log",
        sa.MetaData(),
        # SQLite numbers by itself; BIGSERIAL does in PostgreSQL.
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
        *(sa.Column(name, sa.Text) for name in texts),
    )
