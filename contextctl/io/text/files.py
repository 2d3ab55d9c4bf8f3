"""Writing whole files so that a reader sees the old content or the new one, never a part."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from contextctl.errors import StoreError


def write_atomic(path: Path, content: str | bytes, *, sync: bool = True) -> None:
    """Write ``content`` (text as UTF-8) to ``path`` through a temporary file beside it.

    With ``sync`` the content is on the disk before the name points at it, so a power cut leaves
    the old file or the new one. Raises ``StoreError`` when it cannot be written.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                if sync:
                    file.flush()
                    os.fsync(file.fileno())
            Path(temporary).chmod(0o666 & ~_umask())
            Path(temporary).replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
            raise
        if sync:
            sync_folder(path.parent)
    except OSError as error:
        raise StoreError(f"cannot write '{path}': {error.strerror or error}") from error


def sync_folder(folder: Path) -> None:
    """Put the names in ``folder`` on the disk, where the system can (Windows cannot)."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _umask() -> int:
    """The process's umask: a temporary file is private, the finished one as usual here."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
