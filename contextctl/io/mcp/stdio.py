"""A server as a child process: messages over its stdin and stdout, one JSON a line.

The SDK's own transport ends a server that stays; what a server has *started* stays with it. Here
the server's whole process group is ended, whatever it prints beside messages is passed over, and
the end of its stderr is kept, because it says why a server did not start or went away.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from contextctl.io.text.unicode import whole_json
from contextctl.io.tools.processes import end_group

_LEAVE_S = 1.0  # to end by itself once its stdin is closed, and again once it is asked to
_GROUP_S = 0.3
_CHUNK = 65_536
_LONGEST_LINE = 256 * 1024 * 1024
_SAID_BYTES = 4_096
_SAID_CHARS = 300
_NO_ANSWER = -32603  # JSON-RPC's "internal error"
_LAST_WORDS_S = 0.5  # for a server that closed its stdout to end, and for its stderr to be read
# What a server inherits: enough to find programs and speak the right language, and no secret.
_INHERITED = (
    "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ",
    "USER",
)  # fmt: skip


class Child:
    """A server's process: its streams for the SDK, and what it said to people."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.noise = ""
        """The first line on stdout that was no message."""
        self.listening = asyncio.create_task(self._listen())
        self._errors = bytearray()

    def said(self) -> str:
        """The last line of its stderr that is not empty."""
        lines = self._errors.decode("utf-8", "replace").splitlines()
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return last if len(last) <= _SAID_CHARS else last[:_SAID_CHARS] + "…"

    async def last_words(self) -> str:
        """How it ended, where it has, and what it said last; empty when there is neither."""
        await _over(self.process, _LAST_WORDS_S)
        await asyncio.wait([self.listening], timeout=_LAST_WORDS_S)
        code, said = self.process.returncode, self.said()
        how = "" if code is None else f"exit code {code}" if code >= 0 else f"signal {-code}"
        return ": ".join(part for part in (how, said) if part)

    async def _listen(self) -> None:
        """Read its stderr to the end, so that it never has to wait; only the last of it is kept."""
        pipe = self.process.stderr
        while pipe is not None and (chunk := await pipe.read(_CHUNK)):
            self._errors += chunk
            del self._errors[:-_SAID_BYTES]


@asynccontextmanager
async def child_streams(
    words: Sequence[str], environment: Mapping[str, str]
) -> AsyncIterator[tuple[Any, Any, Child]]:
    """Start the server; its read stream, its write stream and itself. Ended with the block.

    Raises ``OSError`` when there is no such program.
    """
    import anyio

    inherited = {key: os.environ[key] for key in _INHERITED if key in os.environ}
    process = await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**inherited, **environment},
        start_new_session=True,
    )
    child = Child(process)
    to_session, from_server = anyio.create_memory_object_stream[Any](0)
    to_server, from_session = anyio.create_memory_object_stream[Any](0)
    pumps = [
        asyncio.create_task(_read(child, to_session)),
        asyncio.create_task(_write(child, from_session, to_session)),
    ]
    try:
        yield from_server, to_server, child
    finally:
        for stream in (from_server, to_server, from_session, to_session):
            stream.close()
        await _shielded(_end(process))
        for pump in (*pumps, child.listening):
            pump.cancel()
        await asyncio.gather(*pumps, child.listening, return_exceptions=True)


async def _read(child: Child, to_session: Any) -> None:
    """Hand every line that is a message to the session; close its stream when the server ends."""
    import anyio

    output = child.process.stdout
    pending = bytearray()
    with to_session, suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        while output is not None and (chunk := await output.read(_CHUNK)):
            searched = len(pending)
            pending += chunk
            if b"\n" not in chunk:
                if len(pending) > _LONGEST_LINE:
                    return
                continue
            end = pending.rfind(b"\n", searched)
            lines, pending = bytes(pending[:end]), pending[end + 1 :]
            for line in lines.split(b"\n"):
                message = _message(child, line)
                if message is not None:
                    await to_session.send(message)


def _message(child: Child, line: bytes) -> Any:
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    line = line.removeprefix(b"\xef\xbb\xbf")
    if not line.strip():
        return None
    with suppress(ValueError):
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    with suppress(ValueError, RecursionError):
        mended = _mended(json.loads(line))
        return SessionMessage(jsonrpc_message_adapter.validate_python(mended, by_name=False))
    child.noise = child.noise or line.decode("utf-8", "replace").strip()[:120]
    return None


def _mended(message: Any) -> Any:
    """A message that the SDK refuses, as it was meant: half a character (JavaScript cuts texts so)
    is replaced, the version is added, and an answer that is no object becomes an error, so that
    whoever asked need not wait for their time limit."""
    message = whole_json(message)
    if not isinstance(message, dict) or not {"id", "method"} & message.keys():
        return message
    message.setdefault("jsonrpc", "2.0")
    if "result" in message and not isinstance(message["result"], dict):
        shown = json.dumps(message.pop("result"), ensure_ascii=False)[:_SAID_CHARS]
        text = f"the server's answer is no object but {shown}"
        message["error"] = {"code": _NO_ANSWER, "message": text}
    return message


async def _write(child: Child, from_session: Any, to_session: Any) -> None:
    """Write what the session sends; a server that no longer reads is one that has ended."""
    import anyio

    pipe = child.process.stdin
    try:
        with from_session, suppress(anyio.ClosedResourceError):
            async for sent in from_session:
                text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                if pipe is not None:
                    pipe.write(text.encode("utf-8", "replace") + b"\n")
                    await pipe.drain()
    except OSError:
        to_session.close()


async def _shielded(ending: Any) -> None:
    """Run ``ending`` to its end even where this task is cancelled: a server must not stay."""
    task = asyncio.ensure_future(ending)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)
    task.result()


async def _end(process: asyncio.subprocess.Process) -> None:
    """Close its stdin, ask the group to end, end it: whatever is left after each second."""
    if process.stdin is not None:
        with suppress(OSError, RuntimeError):
            process.stdin.close()
    if not await _over(process):
        end_group(process.pid, signal.SIGTERM)
        await _over(process)
    end_group(process.pid, signal.SIGKILL)  # and what it has started and left behind
    await _over(process)
    await _gone(process.pid)


async def _gone(group: int) -> None:
    """Wait a moment until no process of the group is left. Who reaps its orphans may be slow."""
    deadline = asyncio.get_running_loop().time() + _GROUP_S
    while asyncio.get_running_loop().time() < deadline:
        try:
            os.killpg(group, 0)
        except OSError:
            return
        await asyncio.sleep(0.01)


async def _over(process: asyncio.subprocess.Process, limit_s: float = _LEAVE_S) -> bool:
    """Whether the process ends within its time. Its pipes may be held open by its children."""
    deadline = asyncio.get_running_loop().time() + limit_s
    while process.returncode is None:
        if asyncio.get_running_loop().time() > deadline:
            return False
        await asyncio.sleep(0.01)
    return True
