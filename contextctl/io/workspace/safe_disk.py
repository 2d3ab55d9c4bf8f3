"""A diskcache ``Disk`` that cannot run code from a stored file.

diskcache pickles what it does not know and unpickles whatever a row says is pickled
(CVE-2025-69872, unfixed), and it opens the file a row names wherever that is. A workspace may be
shared or copied from elsewhere, so its rows are not trusted: keys are text, values are bytes,
every other mode is refused, and files are opened and removed inside the folder only.

This module imports diskcache; import it where a store is opened, not earlier.
"""

from __future__ import annotations

import io
import os
import sqlite3
from pathlib import Path

import diskcache
from diskcache.core import MODE_BINARY, MODE_RAW, UNKNOWN


class UnsafeRowError(ValueError):
    """A row that asks for unpickling, or names a file outside the store's folder."""


class SafeDisk(diskcache.Disk):  # type: ignore[misc]  # diskcache ships no types
    """Text keys and bytes values; nothing else is written, and nothing else is read."""

    def put(self, key: object) -> tuple[str, bool]:
        """The key as stored."""
        if type(key) is not str:
            raise UnsafeRowError(f"a key must be text, got {type(key).__name__}")
        return key, True

    def get(self, key: object, raw: int) -> str:
        """The key as it was given. Refuses pickled keys."""
        if not raw or type(key) is not str:
            raise UnsafeRowError("a row has a pickled key; it was not read")
        return key

    def store(
        self, value: object, read: object, key: object = UNKNOWN
    ) -> tuple[int, int, str | None, sqlite3.Binary | None]:
        """Bytes, in the row while small, else in a file that is whole before its row exists."""
        if read or type(value) is not bytes:
            raise UnsafeRowError(f"a value must be bytes, got {type(value).__name__}")
        if len(value) < self.min_file_size:
            return 0, MODE_RAW, None, sqlite3.Binary(value)
        name, path = self.filename(key, value)
        try:
            self._write(path, io.BytesIO(value), "xb")
        except OSError:
            Path(path).unlink(missing_ok=True)
            raise
        return len(value), MODE_BINARY, name, None

    def fetch(self, mode: int, filename: str | None, value: object, read: object) -> bytes:
        """The bytes of a row. Refuses pickled and text modes, and files outside."""
        if mode == MODE_RAW and isinstance(value, bytes) and not read:
            return value
        if mode == MODE_BINARY and filename is not None and not read:
            return Path(self._inside(filename)).read_bytes()
        raise UnsafeRowError(f"a row has mode {mode} (file {filename!r}), which is never read")

    def remove(self, file_path: str) -> None:
        """Remove a value's file. Refuses files outside."""
        self._inside(file_path)
        super().remove(file_path)

    def _inside(self, filename: str) -> str:
        root = os.path.realpath(self._directory)
        path = os.path.realpath(os.path.join(root, filename))  # noqa: PTH118  # as diskcache joins
        if not path.startswith(root + os.sep):
            raise UnsafeRowError(f"a row names a file outside the workspace: {filename!r}")
        return path
