"""Tools that are commands: an argument list, no shell, ended with everything they started.

``{name}`` in the list is replaced by the argument of that name, always inside one element, so that
no value can become a second argument. An element that is nothing but a placeholder goes away when
its argument was not given. Arguments without a placeholder arrive as one JSON object on stdin.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from contextctl.errors import ToolError
from contextctl.io.bounded import Kept
from contextctl.io.result_text import outcome_of_bytes
from contextctl.model.message import Json, JsonObject
from contextctl.model.outcome import ToolOutcome

_PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")
_GRACE_S = 2.0  # between asking a command to end and ending it
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


def default_parameters(command: Sequence[str]) -> JsonObject:
    """The schema of a command that declares none: each placeholder is a required text."""
    names = list(dict.fromkeys(_PLACEHOLDER.findall(" ".join(command))))
    properties: JsonObject = {name: {"type": "string"} for name in names}
    schema: JsonObject = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": [*names]} if names else schema


def filled(
    command: Sequence[str], arguments: Mapping[str, Json], declared: Mapping[str, Json]
) -> tuple[list[str], bytes | None]:
    """The argument list to run, and what to write to its stdin (None: it gets none).

    Only names that ``declared`` (the schema's properties) knows are placeholders: ``awk '{print}'``
    stays as it is.
    """
    used: set[str] = set()
    words: list[str] = []
    for element in command:
        names = [name for name in _PLACEHOLDER.findall(element) if name in declared]
        used.update(names)
        if names and element == f"{{{names[0]}}}" and arguments.get(names[0]) is None:
            continue
        words.append(_PLACEHOLDER.sub(lambda found: _value(found, arguments, declared), element))
    rest = set(arguments) - used
    return words, json.dumps(arguments, ensure_ascii=False).encode() if rest else None


def found_beside(command: Sequence[str], folder: Path) -> tuple[str, ...]:
    """The command with each file that is there only beside the profile named by its whole path."""

    def located(element: str) -> str:
        if "{" in element or element.startswith(("-", "/")) or not _may_be_file(element):
            return element
        beside = folder / element
        return str(beside.resolve()) if beside.is_file() and not Path(element).exists() else element

    return tuple(located(element) for element in command)


def run_command(
    words: Sequence[str],
    stdin: bytes | None,
    timeout_s: float,
    running: RunningCommands,
    environment: Mapping[str, str],
) -> ToolOutcome:
    """Run to the end, or end the command and all it started after ``timeout_s``.

    The result holds stdout, and where there is something to say, stderr and the exit code. A
    non-zero exit code makes it an error result. Raises ``ToolError`` if it cannot be started.
    """
    try:
        process = subprocess.Popen(  # noqa: S603  # the profile names the command; no shell
            list(words),
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment},
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
            _drained(readers)
    return _outcome(process.returncode, out, err, _remark(timeout_s, ended=ended, left=left))


def end_group(group: int, with_signal: signal.Signals) -> None:
    """Send a signal to a whole process group; one that is already gone is fine."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, with_signal)


def _value(
    found: re.Match[str], arguments: Mapping[str, Json], declared: Mapping[str, Json]
) -> str:
    name = found[1]
    if name not in declared:
        return found[0]
    value = arguments.get(name)
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _may_be_file(element: str) -> bool:
    return "/" in element or "." in element


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


def _remark(timeout_s: float, *, ended: bool, left: bool) -> str:
    if not ended:
        return f"[ended after {timeout_s:g} s: the tool's time limit]"
    return "[background processes that held the output open were ended]" if left else ""


def _outcome(code: int, out: Kept, err: Kept, remark: str) -> ToolOutcome:
    shown, errors = outcome_of_bytes(out.joined()), outcome_of_bytes(err.joined())
    status = "ok" if code == 0 and not remark.startswith("[ended") else "error"
    extra: dict[str, Json] = {"exit_code": code}
    quiet = status == "ok" and not remark
    if quiet and (not errors.content or _is_json(shown.content)):
        if errors.content:
            extra["stderr"] = errors.content
        return ToolOutcome(shown.content, status, shown.media, shown.data, extra)
    parts = [shown.content.rstrip("\n")] if shown.content.strip() else []
    if errors.content.strip():
        parts.append(f"[stderr]\n{errors.content.rstrip()}")
    if code < 0:
        parts.append(f"[ended by signal {-code}]")
    elif code > 0:
        parts.append(f"[exit code {code}]")
    return ToolOutcome("\n".join([*parts, *([remark] if remark else [])]), status, extra=extra)


def _is_json(text: str) -> bool:
    """Whether stdout is one JSON value: warnings beside it would break it for whoever reads it."""
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
