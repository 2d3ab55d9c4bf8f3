"""A blob store over fsspec: S3 and whatever else it reaches, for work spread over machines.

Object storage has no transactions, so items are written in the order given: content before the
ref that leads to it. A writer killed in between leaves content that nothing leads to, never a ref
that leads nowhere. One key is one object; an object appears whole or not at all.
"""

from __future__ import annotations

import contextlib
import uuid
from typing import TYPE_CHECKING

from contextctl.errors import StoreError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


class ObjectStore:
    """Bytes as objects below a URL such as ``s3://bucket/prefix``.

    Credentials come from where the backend usually finds them (environment, instance role). A URL
    that carries some is refused, because the address is written into the run's folder.
    """

    folder: Path | None = None

    def __init__(self, url: str, size_limit: int | None = None) -> None:
        if "@" in url.partition("://")[2].partition("/")[0]:
            raise UsageError("a workspace URL must not hold credentials; use the environment")
        try:
            import fsspec  # type: ignore[import-untyped]  # it ships no types
        except ImportError as error:
            raise UsageError(
                f"the workspace '{url}' needs fsspec: pip install 'contextctl[object-storage]'"
            ) from error
        self._url = url
        self._size_limit = size_limit
        try:
            self._files, root = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise UsageError(f"cannot use the workspace '{url}': {error}") from error
        self._root = str(root).rstrip("/")
        self._is_local = "file" in (self._files.protocol or ())

    def get(self, key: str) -> bytes | None:
        """The bytes under ``key``, or None."""
        with self._outside("read"):
            try:
                return bytes(self._files.cat_file(self._at(key)))
            except FileNotFoundError:
                return None

    def put_many(self, items: Iterable[tuple[str, bytes]]) -> None:
        """Store all items in their order."""
        listed = list(items)
        with self._outside("write"):
            if self._size_limit is not None and listed:
                self._check_quota(sum(len(value) for _, value in listed))
            for key, value in listed:
                self._put(self._at(key), value)

    def delete_many(self, keys: Iterable[str]) -> int:
        """Delete keys and return how many there were."""
        count = 0
        with self._outside("write"):
            for key in list(keys):
                with contextlib.suppress(FileNotFoundError):
                    self._files.rm_file(self._at(key))
                    count += 1
        return count

    def keys(self, prefix: str) -> Iterator[str]:
        """The keys that begin with ``prefix``, in order."""
        with self._outside("read"):
            self._files.invalidate_cache()
            top = self._at(prefix.partition("/")[0])
            paths = self._files.find(top) if self._files.exists(top) else []
        for path in sorted(paths):
            key = str(path).removeprefix(self._root).lstrip("/")
            if key.startswith(prefix) and ".part-" not in key:
                yield key

    def size(self) -> int:
        """Bytes of all objects below the URL."""
        with self._outside("read"):
            self._files.invalidate_cache()
            if not self._files.exists(self._root):
                return 0
            return int(self._files.du(self._root))

    def sweep(self) -> int:
        """Remove parts that killed writers left in a local folder; objects have none."""
        with self._outside("write"):
            if not self._is_local or not self._files.exists(self._root):
                return 0
            parts = [path for path in self._files.find(self._root) if ".part-" in path]
            for path in parts:
                self._files.rm_file(path)
            return len(parts)

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Object storage has no locks: collect garbage only while no run writes to it."""
        yield

    def close(self) -> None:
        """Nothing to give up: connections belong to fsspec."""

    def _put(self, path: str, value: bytes) -> None:
        if not self._is_local:
            self._files.pipe_file(path, value)
            return
        self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
        part = f"{path}.part-{uuid.uuid4().hex}"
        self._files.pipe_file(part, value)
        self._files.mv(part, path)

    def _at(self, key: str) -> str:
        if not key or ".." in key or key.startswith("/"):
            raise StoreError(f"{key!r} is not a key of the workspace '{self._url}'")
        return f"{self._root}/{key}"

    def _check_quota(self, more: int) -> None:
        taken = self.size()
        if self._size_limit is not None and taken + more > self._size_limit:
            raise StoreError(
                f"the workspace '{self._url}' is full: {taken:,} bytes are stored, {more:,} more "
                f"would pass workspace.size_limit ({self._size_limit:,}); raise it, or run "
                "'contextctl workspace gc'"
            )

    @contextlib.contextmanager
    def _outside(self, doing: str) -> Iterator[None]:
        try:
            yield
        except StoreError:
            raise
        except Exception as error:  # each backend has its own errors (botocore, gcsfs)
            raise StoreError(
                f"cannot {doing} the workspace '{self._url}': {type(error).__name__}: {error}"
            ) from error
