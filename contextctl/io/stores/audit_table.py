"""The columns of the audit table in both kinds of database, and a compaction as a row of it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from contextctl.model.audit import Compaction, PinKept
from contextctl.model.audited import Audited

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

    from contextctl.model.message import Json, JsonObject

SUMMARY_FIELDS = ("done", "findings", "open_questions", "negatives", "entities")
_CHECKS = ("outcome", "failed", "repaired", "window_before", "window_after")
_DETAILS = (
    "step", "trigger", "raw_refs", "tokens_raw", "messages", "by", "version", "fallback", "pins",
    "usage", "loaded",
)  # fmt: skip
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

# Version 1 is the table as it is published elsewhere: one that exists already is taken over.
_FIRST = {
    "postgresql": """
        CREATE TABLE IF NOT EXISTS agent_compaction (
            compaction_id TEXT PRIMARY KEY, thread_id TEXT NOT NULL, raw_ref TEXT NOT NULL,
            summary JSONB NOT NULL, pinned_keys TEXT[] NOT NULL, tokens_before INT NOT NULL,
            tokens_after INT NOT NULL, created_at TIMESTAMPTZ NOT NULL DEFAULT now())""",
    "sqlite": """
        CREATE TABLE IF NOT EXISTS agent_compaction (
            compaction_id TEXT PRIMARY KEY, thread_id TEXT NOT NULL, raw_ref TEXT NOT NULL,
            summary TEXT NOT NULL, pinned_keys TEXT NOT NULL, tokens_before INT NOT NULL,
            tokens_after INT NOT NULL, created_at TEXT NOT NULL)""",
}
_INDEX = (
    "CREATE INDEX IF NOT EXISTS agent_compaction_thread_time "
    "ON agent_compaction (thread_id, created_at DESC)"
)
_ADDED = (
    "generation INT NOT NULL DEFAULT 1",
    "event_from INT NOT NULL DEFAULT 0",
    "event_to INT NOT NULL DEFAULT 0",
    "checks {json} NOT NULL DEFAULT '{{}}'",
    "details {json} NOT NULL DEFAULT '{{}}'",
)


def _first(connection: Connection) -> None:
    connection.exec_driver_sql(_FIRST[connection.dialect.name])
    connection.exec_driver_sql(_INDEX)


def _second(connection: Connection) -> None:
    """What a compaction covers, its generation, and how it was checked."""
    kind = "JSONB" if connection.dialect.name == "postgresql" else "TEXT"
    for column in _ADDED:
        declared = column.format(json=kind)
        connection.exec_driver_sql(f"ALTER TABLE agent_compaction ADD COLUMN {declared}")


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (_first, _second)


@lru_cache(maxsize=1)
def audit_table() -> Table:
    """The table for queries: JSON and lists are JSONB and ``text[]`` where there are such types."""
    import sqlalchemy as sa
    from sqlalchemy.dialects import postgresql

    json = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
    texts = sa.JSON().with_variant(postgresql.ARRAY(sa.Text()), "postgresql")
    time = sa.Text().with_variant(sa.DateTime(timezone=True), "postgresql")
    return sa.Table(
        "agent_compaction",
        sa.MetaData(),
        sa.Column("compaction_id", sa.Text, primary_key=True),
        sa.Column("thread_id", sa.Text),
        sa.Column("raw_ref", sa.Text),
        sa.Column("summary", json),
        sa.Column("pinned_keys", texts),
        sa.Column("tokens_before", sa.Integer),
        sa.Column("tokens_after", sa.Integer),
        sa.Column("generation", sa.Integer),
        sa.Column("event_from", sa.Integer),
        sa.Column("event_to", sa.Integer),
        sa.Column("checks", json),
        sa.Column("details", json),
        sa.Column("created_at", time),
    )


def to_row(compaction: Compaction, at: datetime, *, postgres: bool) -> JsonObject:
    """The values of a row."""
    whole = _storable(compaction.to_json())
    row: dict[str, Any] = {name: whole[name] for name in _names() if name in whole}
    row["checks"] = {name: whole[name] for name in _CHECKS}
    row["details"] = {name: whole[name] for name in _DETAILS}
    return {**row, "created_at": at if postgres else iso_time(at)}


def from_row(row: Mapping[str, Any]) -> Audited:
    """A row as it is read. JSONB forgets the order of keys, so it is made anew for both kinds."""
    created = row["created_at"]
    details, checks = _ordered(row["details"]), _ordered(row["checks"])
    kept = [one for one in details.pop("pins", None) or () if isinstance(one, dict)]
    summary = _ordered(row["summary"])
    values = {
        **{name: row[name] for name in _names() if name in _FIELDS},
        **{name: value for name, value in {**checks, **details}.items() if name in _FIELDS},
        "summary": {name: summary[name] for name in _first_known(summary)},
        "pins": tuple(PinKept(**{k: str(v) for k, v in pin.items()}) for pin in kept),
    }
    tuples = {name: tuple(v) for name, v in values.items() if isinstance(v, list)}
    compaction = Compaction(**{"step": 0, "trigger": "", "outcome": "", **values, **tuples})
    return Audited(compaction, created if isinstance(created, str) else iso_time(created))


def as_stored(compaction: Compaction) -> Compaction:
    """``compaction`` as a store gives it back, to be compared with a row."""
    return from_row(to_row(compaction, datetime(1970, 1, 1, tzinfo=UTC), postgres=False)).compaction


def storable(text: str) -> str:
    """``text`` with what no database holds in a text as a visible sign."""
    return _UNSTORABLE.sub(lambda sign: "\u2400" if sign[0] == "\0" else "\ufffd", text)


def iso_time(at: datetime) -> str:
    """A time in UTC whose text sorts as it does: ``2026-11-30T09:12:00.000000Z``."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


_FIELDS = frozenset(field.name for field in fields(Compaction))


def _names() -> tuple[str, ...]:
    return tuple(column.name for column in audit_table().columns)


def _first_known(summary: Mapping[str, Json]) -> list[str]:
    known = [name for name in SUMMARY_FIELDS if name in summary]
    return known + [name for name in summary if name not in SUMMARY_FIELDS]


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {storable(str(key)): _storable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_storable(item) for item in value]
    return value


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_ordered(item) for item in value]
    return value
