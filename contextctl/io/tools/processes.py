"""Processes run to their end, in bounded memory, ended with everything they started."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from uuid import uuid4

from contextctl.errors import ToolError
from contextctl.io.tools.bounded import Kept

_GRACE_S = 2.0  # between asking a command to end and ending it
_MARK = "CONTEXTCTL_COMMAND"
_DRAIN_S = 1.0  # for output still in the pipes once the command is over


class RunningCommands:
    """The process groups that are alive now, so that an interrupted run leaves none behind."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: set[int] = set()
        self._closed = False

    @contextmanager
    def holding(self, group: int) -> Iterator[None]:
        """Remember ``group`` while the block runs."""
        with self._lock:
            self._groups.add(group)
            closed = self._closed
        try:
            if closed:
                end_group(group, signal.SIGKILL)
            yield
        except BaseException:
            end_group(group, signal.SIGKILL)
            raise
        finally:
            with self._lock:
                self._groups.discard(group)

    def end_all(self) -> None:
        """End every command now, and at once every one that starts later."""
        with self._lock:
            self._closed = True
            groups = tuple(self._groups)
        for group in groups:
            end_group(group, signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: its exit code (negative: the signal), and what it wrote.

    ``in_time`` False: it was ended at its limit. ``left`` True: something it had started in the
    background still held its output open and was ended.
    """

    code: int
    out: bytes
    err: bytes
    in_time: bool
    left: bool


def run_process(
    words: Sequence[str],
    stdin: bytes | None,
    timeout_s: float,
    running: RunningCommands,
    environment: Mapping[str, str],
) -> Ended:
    """Run to the end, or end the command and all it started after ``timeout_s``.

    ``environment`` adds to this process's own. Raises ``ToolError`` if it cannot be started.
    """
    mark = uuid4().hex
    try:
        process = subprocess.Popen(  # noqa: S603  # the profile names the command; no shell
            list(words),
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment, _MARK: mark},
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise ToolError(f"cannot start '{words[0]}': {error}") from error
    out, err = Kept(), Kept()
    readers = [_reading(process.stdout, out), _reading(process.stderr, err)]
    if stdin is not None:
        _writing(process.stdin, stdin)
    with running.holding(process.pid):
        ended = _wait(process, timeout_s)
        left = not _drained(readers)
        if left or not ended:
            end_group(process.pid, signal.SIGKILL)
            _end_marked(mark)
            _drained(readers)
    return Ended(process.returncode, out.joined(), err.joined(), in_time=ended, left=left)


def end_group(group: int, with_signal: signal.Signals) -> None:
    """Send a signal to a whole process group; one that is already gone is fine."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, with_signal)


def _end_marked(mark: str) -> None:
    """End what has left the command's group (``setsid``), known by the variable that it inherited.
    Only where there is ``/proc``; elsewhere it stays."""
    wanted = f"{_MARK}={mark}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                os.kill(int(entry.name), signal.SIGKILL)


def _wait(process: subprocess.Popen[bytes], timeout_s: float) -> bool:
    """Wait for the command; past its time ask it to end, then end it. True: it ended in time."""
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        end_group(process.pid, signal.SIGTERM)
        try:
            process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            end_group(process.pid, signal.SIGKILL)
            process.wait()
        return False
    return True


def _drained(readers: Sequence[threading.Thread]) -> bool:
    """Whether all output was read; something that still holds a pipe open is waited for shortly."""
    deadline = time.monotonic() + _DRAIN_S
    for reader in readers:
        reader.join(max(0.0, deadline - time.monotonic()))
    return not any(reader.is_alive() for reader in readers)


def _reading(pipe: IO[bytes] | None, kept: Kept) -> threading.Thread:
    """Read a pipe to its end in the background, so that a full pipe never stops the command."""

    def work() -> None:
        if pipe is None:
            return
        with pipe:
            while chunk := pipe.read1(65536):  # type: ignore[attr-defined]  # a buffered reader
                kept.add(chunk)

    thread = threading.Thread(target=work, name="tool-output", daemon=True)
    thread.start()
    return thread


def _writing(pipe: IO[bytes] | None, data: bytes) -> None:
    def work() -> None:
        if pipe is None:
            return
        try:
            with pipe:
                pipe.write(data)
        except OSError:
            pass  # the command does not read its input: its right

    threading.Thread(target=work, name="tool-input", daemon=True).start()
