"""The databases behind audit rows and long-term memory: SQLite in a file, or PostgreSQL by URL.

SQLAlchemy is imported by the first store that opens. Every failure is a ``StoreError`` that names
the store without its password. Several processes may share a store: schema changes happen under a
lock, once, and each is recorded in the table ``contextctl_schema``.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextctl.errors import StoreError

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    Migration = Callable[[Connection], None]

SQLITE = "sqlite"
_LOCK_SECONDS = 60
_CONNECT_SECONDS = 10
_WRITES = "contextctl_writes"
# Any fixed number: it is the lock under which all contextctl stores change a PostgreSQL schema.
_SCHEMA_LOCK = 0x63746C


class Store:
    """An open database. ``name`` is what people are shown: a path, or a URL less its password."""

    def __init__(self, engine: Engine, name: str) -> None:
        self.engine = engine
        self.name = name

    @property
    def is_postgres(self) -> bool:
        """Whether it is PostgreSQL, with JSONB and arrays."""
        return self.engine.dialect.name == "postgresql"

    @contextlib.contextmanager
    def reading(self, doing: str) -> Iterator[Connection]:
        """A connection that reads one consistent state."""
        with self._told(doing), self.engine.begin() as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self, doing: str) -> Iterator[Connection]:
        """A transaction: when it ends, all of it is on disk, or none of it where it fails."""
        writer = self.engine.execution_options(**{_WRITES: True})
        with self._told(doing), writer.begin() as connection:
            yield connection

    def migrate(self, part: str, steps: Sequence[Migration]) -> None:
        """Bring the tables of ``part`` to version ``len(steps)``; step n makes version n of n-1.

        A database that is up to date is only looked at, so it needs no right to change the schema.
        Raises ``StoreError`` when a newer contextctl has written it.
        """
        with self.reading(f"read the version of {part}") as connection:
            version = _version(connection, part)
        if version < len(steps):
            with self.writing(f"prepare the tables of {part}") as connection:
                _lock_schema(connection)
                version = _version(connection, part)  # another process may have been faster
                for step in steps[version:]:
                    step(connection)
                _note_version(connection, part, max(version, len(steps)))
        if version > len(steps):
            raise StoreError(
                f"store '{self.name}': '{part}' has version {version}, written by a newer "
                f"contextctl; this one knows {len(steps)}: upgrade it"
            )

    def close(self) -> None:
        """Give up the connections."""
        self.engine.dispose()

    @contextlib.contextmanager
    def _told(self, doing: str) -> Iterator[None]:
        from sqlalchemy.exc import SQLAlchemyError

        try:
            yield
        except SQLAlchemyError as error:
            cause = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
            raise StoreError(f"store '{self.name}': cannot {doing}: {cause}") from error


def open_database(address: str, path: Path) -> Store:
    """Open ``address``: ``sqlite`` is the file ``path``, anything else a PostgreSQL URL.

    Nothing is touched until the first statement. Raises ``StoreError`` when the URL cannot be
    read, or when its driver is not installed.
    """
    if address == SQLITE:
        return Store(_sqlite(path), str(path))
    return _postgres(address)


def _sqlite(path: Path) -> Engine:
    """A new connection for each use, so that threads and forks share nothing."""
    import sqlalchemy as sa

    engine = sa.create_engine(
        sa.URL.create("sqlite", database=str(path)),
        poolclass=sa.NullPool,
        connect_args={"timeout": _LOCK_SECONDS, "isolation_level": None},
        json_serializer=_json,
    )

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # A writer takes the lock before it looks: what it read is still true when it writes.
        writes = connection.get_execution_options().get(_WRITES)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _postgres(address: str) -> Store:
    import sqlalchemy as sa

    try:
        url = sa.make_url(address)
    except sa.exc.ArgumentError:
        raise StoreError("a store's URL cannot be read: write postgresql+psycopg://…") from None
    if url.get_backend_name() != "postgresql":
        raise StoreError(f"store '{url.render_as_string()}' is neither sqlite nor postgresql")
    url = url.set(drivername="postgresql+psycopg")
    name = url.render_as_string(hide_password=True)
    options: dict[str, Any] = {"connect_timeout": _CONNECT_SECONDS}
    try:
        engine = sa.create_engine(
            url, pool_pre_ping=True, pool_size=2, connect_args=options, json_serializer=_json
        )
    except ModuleNotFoundError as error:
        raise StoreError(
            f"store '{name}' needs the package '{error.name}': install contextctl[postgres]"
        ) from None
    return Store(engine, name)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _version(connection: Connection, part: str) -> int:
    import sqlalchemy as sa

    if not sa.inspect(connection).has_table("contextctl_schema"):
        return 0
    found = connection.execute(
        sa.text("SELECT version FROM contextctl_schema WHERE part = :part"), {"part": part}
    ).scalar()
    return int(found or 0)


def _note_version(connection: Connection, part: str, version: int) -> None:
    import sqlalchemy as sa

    connection.execute(
        sa.text(
            "INSERT INTO contextctl_schema (part, version) VALUES (:part, :version) "
            "ON CONFLICT (part) DO UPDATE SET version = excluded.version"
        ),
        {"part": part, "version": version},
    )


def _lock_schema(connection: Connection) -> None:
    """Keep other processes from changing the schema; a SQLite writer holds the file already."""
    import sqlalchemy as sa

    if connection.dialect.name == "postgresql":
        lock = sa.text("SELECT pg_advisory_xact_lock(:lock)")
        connection.execute(lock, {"lock": _SCHEMA_LOCK})
    connection.exec_driver_sql(
        "CREATE TABLE IF NOT EXISTS contextctl_schema (part TEXT PRIMARY KEY, version INT NOT NULL)"
    )
