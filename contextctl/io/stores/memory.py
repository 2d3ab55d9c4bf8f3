"""A workspace that lasts as long as the process: for sessions that need no folder."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


class MemoryStore:
    """Bytes under keys, in a dictionary."""

    folder: Path | None = None

    def __init__(self) -> None:
        self._rows: dict[str, bytes] = {}
        self._lock = threading.RLock()

    def get(self, key: str) -> bytes | None:
        """The bytes under ``key``, or None."""
        return self._rows.get(key)

    def put_many(self, items: Iterable[tuple[str, bytes]]) -> None:
        """Store all items."""
        self._rows.update(items)

    def delete_many(self, keys: Iterable[str]) -> int:
        """Delete keys and return how many there were."""
        return sum(self._rows.pop(key, None) is not None for key in keys)

    def keys(self, prefix: str) -> Iterator[str]:
        """The keys that begin with ``prefix``, in order."""
        return iter(sorted(key for key in self._rows if key.startswith(prefix)))

    def size(self) -> int:
        """Bytes the values take."""
        return sum(map(len, self._rows.values()))

    def sweep(self) -> int:
        """Nothing is ever left half written."""
        return 0

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep other threads out."""
        with self._lock:
            yield

    def close(self) -> None:
        """Nothing to give up: the store is gone with its last user."""
