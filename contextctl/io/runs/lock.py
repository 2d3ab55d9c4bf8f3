"""One process at a time in a run's folder."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from contextctl.errors import StoreError, UsageError

LOCK = ".lock"


@contextmanager
def holding(run: Path) -> Iterator[None]:
    """Hold the run's folder while the block runs; the system lets go of it however that ends.

    Raises ``UsageError`` when another process holds it.
    """
    path = run / LOCK
    try:
        file = path.open("ab")
    except OSError as error:
        raise StoreError(f"cannot write '{path}': {error.strerror or error}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(
                f"another process is running in '{run}'; "
                "wait for it to end, or choose another --out"
            ) from None
        yield


def is_held(run: Path) -> bool:
    """Whether a process is running in the run's folder now. Looking changes nothing."""
    try:
        file = (run / LOCK).open("rb")
    except OSError:
        return False
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False
