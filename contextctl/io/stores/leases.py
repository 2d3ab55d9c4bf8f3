"""Leases: one live owner at a time for a task of a run, across processes and machines (SPEC S4).

A lease is held for some seconds and renewed while its owner lives. An owner that died on this
machine is told by the system at once; one on another machine when its time has run out. Every claim
has a term, so that an owner that slept past its time finds out that it is one no more.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import socket
import threading
import time
from pathlib import Path
from typing import IO, Protocol

from contextctl.errors import StoreError
from contextctl.io.runs.folder import safe_name
from contextctl.io.stores.engine import open_database
from contextctl.io.stores.lease_rows import LeaseHeldError, LeaseRows

__all__ = ["FILES", "Lease", "LeaseHeldError", "Leases"]

FILES = "files"
_SILENT = 2  # lease times that a file was not written anew: then its owner is gone


class _Place(Protocol):
    """Where one claim stands."""

    previous: str

    def renew(self, seconds: float) -> bool:
        """Hold it longer; False when somebody else has it now."""

    def release(self) -> None:
        """Let it go."""


class Lease:
    """What this process holds. ``previous`` is who had it before and did not let it go."""

    def __init__(self, place: _Place, name: str, seconds: float) -> None:
        self.name = name
        self.previous = place.previous
        self._place = place
        self._seconds = seconds
        self._until = time.monotonic() + seconds
        self._lost = False
        self._ended = threading.Event()
        self._lock = threading.Lock()
        beat = threading.Thread(target=self._beat, name=f"lease-{name}", daemon=True)
        beat.start()

    def check(self) -> None:
        """Raise ``LeaseHeldError`` when it is no longer certain that nobody else is the owner."""
        if not self._lost and time.monotonic() > self._until:
            self._renew()
        if self._lost or time.monotonic() > self._until:
            raise LeaseHeldError(
                f"'{self.name}' has another owner by now: this process did not renew its lease in "
                f"{self._seconds:g} s; it stops here, and the other goes on"
            )

    def release(self) -> None:
        """Give it up for others."""
        self._ended.set()
        with self._lock, contextlib.suppress(StoreError, OSError):
            self._place.release()

    def _beat(self) -> None:
        while not self._ended.wait(self._seconds / 3):
            self._renew()

    def _renew(self) -> None:
        with self._lock:
            if self._lost or self._ended.is_set():
                return
            asked = time.monotonic()
            try:
                self._lost = not self._place.renew(self._seconds)
            except (StoreError, OSError):
                return  # tried again until the time has run out
            if not self._lost:
                self._until = asked + self._seconds


class Leases:
    """Claims of one run. ``address`` is ``files`` (in ``folder``) or a PostgreSQL URL.

    ``machine`` is this one's name, by default its host name.
    """

    def __init__(
        self, address: str, folder: Path, run: str, seconds: float, machine: str = ""
    ) -> None:
        self._machine = machine or socket.gethostname()
        self._folder = folder
        self._run = run
        self._seconds = seconds
        self._rows = None if address == FILES else LeaseRows(open_database(address, folder))

    def claim(self, task: str) -> Lease:
        """Become the owner of ``task``. Raises ``LeaseHeldError`` that names a live owner."""
        owner, name = _owner(self._machine), f"{self._run}/{task}"
        if self._rows is None:
            place: _Place = _File(self._folder / safe_name(task), owner, self._seconds)
        else:
            place = self._rows.claim(name, owner, self._seconds, _is_dead)
        return Lease(place, name, self._seconds)

    def close(self) -> None:
        """Give up the connections."""
        if self._rows is not None:
            self._rows.close()


class _File:
    """A lease as a file that is locked while its owner lives.

    The lock tells of owners on this machine. What stands in the file tells of those on others,
    where a shared folder does not pass locks on.
    """

    def __init__(self, folder: Path, owner: str, seconds: float) -> None:
        self._owner = owner
        path = folder / "lease.json"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = path.open("a+b")
        except OSError as error:
            raise StoreError(f"cannot write '{path}': {error.strerror or error}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            held = self._read()
            self._file.close()
            raise LeaseHeldError(f"another process has '{folder.name}': {held[0]}") from None
        before, until, self._term = self._read()
        elsewhere = before and before.partition(":")[0] != owner.partition(":")[0]
        if elsewhere and until > time.time():
            self._file.close()
            raise LeaseHeldError(
                f"another machine has '{folder.name}': {before}; if it died, its lease ends in "
                f"{until - time.time():.0f} s"
            )
        self.previous = before
        self._term += 1
        self._write(owner, time.time() + seconds)

    def renew(self, seconds: float) -> bool:
        """Write a later time, unless another machine, which does not see the lock, took it over."""
        if self._read()[0] != self._owner:
            return False
        self._write(self._owner, time.time() + seconds)
        return True

    def release(self) -> None:
        """Nobody is the owner; the lock goes with the file."""
        if self._read()[0] == self._owner:
            self._write("", 0.0)
        self._file.close()

    def _read(self) -> tuple[str, float, int]:
        self._file.seek(0)
        try:
            value = json.loads(self._file.read() or b"{}")
            until = float(value.get("until", 0))
            # A clock that runs ahead must not lock a task for hours: it is written anew every third
            # of its time, so the file's own time says when its owner was heard of last.
            heard = os.fstat(self._file.fileno()).st_mtime
            until = min(until, heard + _SILENT * float(value.get("seconds", until)))
            return str(value.get("owner", "")), until, int(value["term"])
        except (ValueError, KeyError, AttributeError, TypeError):
            return "", 0.0, 0  # new, or torn: a crash while it was written

    def _write(self, owner: str, until: float) -> None:
        seconds = round(max(until - time.time(), 0.0), 3)
        text = json.dumps(
            {"owner": owner, "until": round(until, 3), "seconds": seconds, "term": self._term}
        )
        self._file.seek(0)
        self._file.truncate()
        self._file.write(text.encode("utf-8"))
        self._file.flush()


def _owner(machine: str) -> str:
    """Machine, boot, process and a random part: no two owners share it."""
    return f"{machine}:{_boot()}:{os.getpid()}:{secrets.token_hex(4)}"


def _is_dead(owner: str) -> bool:
    """Whether ``owner`` is known to be gone: a process of this machine and boot that is no more."""
    host, _, rest = owner.partition(":")
    boot, _, rest = rest.partition(":")
    number = rest.partition(":")[0]
    if (host, boot) != (socket.gethostname(), _boot()) or not number.isdecimal():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _boot() -> str:
    """What tells this start of the machine from others; containers of one host share it."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()[:8]
    return "-"
