"""A blob store in a local folder: diskcache with our own Disk. Import it lazily."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import diskcache

from contextctl.errors import StoreError
from contextctl.io.workspace.safe_disk import SafeDisk, UnsafeRowError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_VALUE_FILE = re.compile(r"[0-9a-f]{28}\.val")
_INLINE_BYTES = 1 << 15
_LOCK_SECONDS = 60


class DiskStore:
    """Bytes in a folder that many processes may share and that survives ``kill -9``.

    Nothing is ever evicted: without its settings diskcache drops the oldest items above 1 GB, and
    it forgets who opened it how, so they are given at every opening. ``size_limit`` (bytes) refuses
    writes beyond it and drops nothing either. The folder is for its owner only (mode 0700).
    """

    def __init__(self, folder: Path | str, size_limit: int | None = None) -> None:
        self.folder: Path | None = Path(folder).absolute()
        self._path = self.folder
        self._size_limit = size_limit
        with self._outside("open"):
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
            with contextlib.suppress(PermissionError):  # a folder of someone else keeps its mode
                self._path.chmod(0o700)
            self._cache = diskcache.Cache(
                str(self._path),
                timeout=_LOCK_SECONDS,
                disk=SafeDisk,
                eviction_policy="none",
                cull_limit=0,
                size_limit=2**62,
                disk_min_file_size=_INLINE_BYTES,
                sqlite_mmap_size=0,  # a disk that fills up must be an error, not a SIGBUS
            )

    def get(self, key: str) -> bytes | None:
        """The bytes under ``key``, or None; also None when the file behind the row is gone."""
        with self._outside("read"):
            value = self._cache.get(key, retry=True)
        return value if isinstance(value, bytes) else None

    def put_many(self, items: Iterable[tuple[str, bytes]]) -> None:
        """Store all items in one transaction: when it returns, all survive a killed process."""
        listed = list(items)
        if not listed:
            return
        with self._outside("write"):
            if self._size_limit is not None:
                self._check_quota(sum(len(value) for _, value in listed))
            # Value files are written inside the transaction, so that 'sweep', which holds the same
            # lock, never takes a file for left behind whose row is about to come.
            with self._cache.transact(retry=True):
                for key, value in listed:
                    self._cache.set(key, value, retry=True)

    def delete_many(self, keys: Iterable[str]) -> int:
        """Delete keys in one transaction and return how many there were."""
        with self._outside("write"), self._cache.transact(retry=True):
            return sum(bool(self._cache.delete(key, retry=True)) for key in list(keys))

    def keys(self, prefix: str) -> Iterator[str]:
        """The keys that begin with ``prefix``, in order."""
        with self._outside("read"):
            for key in self._cache.iterkeys():
                if key.startswith(prefix):
                    yield key

    def size(self) -> int:
        """Bytes on disk: the database and the value files."""
        with self._outside("read"):
            return int(self._cache.volume())

    def sweep(self) -> int:
        """Remove value files without a row, which a killed writer leaves behind."""
        removed = 0
        with self._outside("write"), self._cache.transact(retry=True), self._rows() as rows:
            named = {name for (name,) in rows.execute("SELECT filename FROM Cache") if name}
            for path in self._path.glob("??/??/*.val"):
                orphan = _VALUE_FILE.fullmatch(path.name) and not path.is_symlink()
                if orphan and str(path.relative_to(self._path)) not in named:
                    path.unlink(missing_ok=True)
                    removed += 1
        return removed

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """One transaction around several calls of this thread; other writers wait."""
        with self._outside("write"), self._cache.transact(retry=True):
            yield

    def close(self) -> None:
        """Close the database connection of this thread."""
        self._cache.close()

    def _check_quota(self, more: int) -> None:
        taken = int(self._cache.volume())
        if self._size_limit is not None and taken + more > self._size_limit:
            raise StoreError(
                f"the workspace '{self._path}' is full: {taken:,} bytes are stored, {more:,} more "
                f"would pass workspace.size_limit ({self._size_limit:,}); raise it, or run "
                "'contextctl workspace gc'"
            )

    @contextlib.contextmanager
    def _rows(self) -> Iterator[sqlite3.Connection]:
        """The database itself, to read: diskcache has no door to the names of value files."""
        uri = f"{(self._path / 'cache.db').as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=_LOCK_SECONDS)) as rows:
            yield rows

    @contextlib.contextmanager
    def _outside(self, doing: str) -> Iterator[None]:
        """Every way the store can fail, as one sentence that names the folder."""
        try:
            yield
        except UnsafeRowError as error:
            raise StoreError(
                f"the workspace '{self._path}' holds a row that contextctl did not write: {error}; "
                "delete the folder unless you know where it comes from"
            ) from error
        except diskcache.Timeout as error:
            raise StoreError(
                f"cannot {doing} the workspace '{self._path}': "
                f"another process has locked it for over {_LOCK_SECONDS} s"
            ) from error
        except sqlite3.Error as error:
            raise StoreError(f"cannot {doing} the workspace '{self._path}': {error}") from error
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise StoreError(f"cannot {doing} the workspace '{self._path}': {reason}") from error
