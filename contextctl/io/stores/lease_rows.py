"""Leases as rows of PostgreSQL, by its clock, so that machines need not agree on the time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from contextctl.errors import StoreError
from contextctl.io.stores.engine import Store

if TYPE_CHECKING:
    from sqlalchemy import Connection

PART = "leases"


class LeaseHeldError(StoreError):
    """Somebody else has what was to be claimed, or has taken over what was held."""


def _first(connection: Connection) -> None:
    connection.exec_driver_sql(
        "CREATE TABLE contextctl_lease (name TEXT PRIMARY KEY, owner TEXT NOT NULL, "
        "term BIGINT NOT NULL, until TIMESTAMPTZ NOT NULL)"
    )


_CLAIM = """
    INSERT INTO contextctl_lease AS held (name, owner, term, until)
    VALUES (:name, :owner, 1, clock_timestamp() + make_interval(secs => :seconds))
    ON CONFLICT (name) DO UPDATE
    SET owner = excluded.owner, term = held.term + 1, until = excluded.until
    WHERE held.until < clock_timestamp() OR held.owner = '' OR held.owner = :dead
    RETURNING term"""
_RENEW = """
    UPDATE contextctl_lease SET until = clock_timestamp() + make_interval(secs => :seconds)
    WHERE name = :name AND owner = :owner AND term = :term RETURNING term"""
_RELEASE = """
    UPDATE contextctl_lease SET owner = '' WHERE name = :name AND owner = :owner AND term = :term"""
_LOOK = """
    SELECT owner, extract(epoch FROM until - clock_timestamp()) FROM contextctl_lease
    WHERE name = :name"""


class LeaseRows:
    """The leases of a database."""

    def __init__(self, store: Store) -> None:
        if not store.is_postgres:
            raise StoreError("leases are kept in files or in PostgreSQL")
        self._store = store
        store.migrate(PART, (_first,))

    def claim(
        self, name: str, owner: str, seconds: float, is_dead: Callable[[str], bool]
    ) -> LeaseRow:
        """Become the owner. Raises ``LeaseHeldError`` that names a live one."""
        import sqlalchemy as sa

        with self._store.writing("claim a lease") as connection:
            found = connection.execute(sa.text(_LOOK), {"name": name}).first()
            before, left = (str(found[0]), float(found[1])) if found else ("", 0.0)
            dead = before if before and is_dead(before) else "-"
            values = {"name": name, "owner": owner, "seconds": seconds, "dead": dead}
            term = connection.execute(sa.text(_CLAIM), values).scalar()
        if term is None:
            raise LeaseHeldError(
                f"another process has '{name}': {before}; if it died, its lease ends in "
                f"{max(left, 0):.0f} s"
            )
        return LeaseRow(self._store, name, owner, int(term), before)

    def close(self) -> None:
        """Give up the connections."""
        self._store.close()


class LeaseRow:
    """One claim."""

    def __init__(self, store: Store, name: str, owner: str, term: int, previous: str) -> None:
        self.previous = previous
        self._store = store
        self._key = {"name": name, "owner": owner, "term": term}

    def renew(self, seconds: float) -> bool:
        """Hold it longer; False when somebody else has it now."""
        import sqlalchemy as sa

        with self._store.writing("renew a lease") as connection:
            values = {**self._key, "seconds": seconds}
            return connection.execute(sa.text(_RENEW), values).scalar() is not None

    def release(self) -> None:
        """Let it go."""
        import sqlalchemy as sa

        with self._store.writing("release a lease") as connection:
            connection.execute(sa.text(_RELEASE), self._key)
