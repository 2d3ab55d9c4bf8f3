"""Standard output belongs to the command's result: what libraries and tools print goes elsewhere.

``contextlib.redirect_stdout`` swaps the stream for the whole process, so a result printed by one
thread would vanish while another calls a model. Here only threads inside a guard are redirected.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_lock = threading.Lock()
_sinks: dict[int, list[Callable[[str], None]]] = {}


class _Switch:
    """Stands in for ``sys.stdout``: guarded threads write to their sink, all others through it."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        sinks = _sinks.get(threading.get_ident())
        if not sinks:
            return self.stream.write(text)
        sinks[-1](text)
        return len(text)

    def flush(self) -> None:
        if threading.get_ident() not in _sinks:
            self.stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def stdout_to(sink: Callable[[str], None]) -> Iterator[None]:
    """Send what this thread prints to ``sink`` while the block runs. Guards nest."""
    me = threading.get_ident()
    with _lock:
        if not isinstance(sys.stdout, _Switch):
            sys.stdout = cast("TextIO", _Switch(sys.stdout))
        _sinks.setdefault(me, []).append(sink)
    try:
        yield
    finally:
        with _lock:
            _sinks[me].pop()
            if not _sinks[me]:
                del _sinks[me]
            if not _sinks and isinstance(sys.stdout, _Switch):
                sys.stdout = sys.stdout.stream


@contextmanager
def descriptor_to_stderr() -> Iterator[None]:
    """While the block runs, whatever writes to descriptor 1 itself (a program that a Python tool
    starts, a library in C) writes to stderr. Nothing may be printed as a result meanwhile."""
    try:
        sys.stdout.flush()
        kept = os.dup(1)
    except OSError:  # there is no stdout
        yield
        return
    try:
        with suppress(OSError):  # there is no stderr: then it stays as it is
            os.dup2(2, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def to_stderr(text: str) -> None:
    """The sink for tools: their prints are for the person at the terminal."""
    sys.stderr.write(text)


def drop(text: str) -> None:
    """The sink for a library's advertising."""
    del text
