"""Where bytes are kept under text keys: the one interface of local folders and object storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path


class BlobStore(Protocol):
    """Bytes under keys of ASCII letters, digits and ``/-_``. Every failure is a ``StoreError``."""

    folder: Path | None
    """The local folder, where there is one."""

    def get(self, key: str) -> bytes | None:
        """The bytes under ``key``, or None."""

    def put_many(self, items: Iterable[tuple[str, bytes]]) -> None:
        """Store all items: in one transaction where the store has them, else in their order."""

    def delete_many(self, keys: Iterable[str]) -> int:
        """Delete keys and return how many there were."""

    def keys(self, prefix: str) -> Iterator[str]:
        """The keys that begin with ``prefix``, in order."""

    def size(self) -> int:
        """Bytes the store takes."""

    def sweep(self) -> int:
        """Remove what killed writers left behind; how many files that were."""

    def exclusive(self) -> AbstractContextManager[None]:
        """Keep every other writer out, where the store can: what is looked at stays as it is."""

    def close(self) -> None:
        """Give up connections; the store may not be used afterwards."""


def open_store(address: Path | str, size_limit: int | None = None) -> BlobStore:
    """Open the store at a folder, or at an fsspec URL such as ``s3://bucket/prefix``."""
    if "://" in str(address):
        from contextctl.io.workspace.objects import ObjectStore  # imports fsspec

        return ObjectStore(str(address), size_limit)
    from contextctl.io.workspace.disk import DiskStore  # imports diskcache

    return DiskStore(address, size_limit)
