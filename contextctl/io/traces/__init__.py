"""Importers of recorded traces, one file a format."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from contextctl.errors import UsageError
from contextctl.io.traces import (
    aider,
    anthropic,
    cassettes,
    claude_code,
    cline,
    exchanges,
    inspect_log,
    livemcpbench,
    mini_swe_agent,
    openai_chat,
    openhands,
    pi,
    recorded,
    responses,
    stabletoolbench,
    swe_agent,
    tau2,
    tau_bench,
)
from contextctl.io.traces.source import Source, open_source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from contextctl.model.message import Json
    from contextctl.model.trace import Trace


class Importer(Protocol):
    """What each module of this folder offers."""

    NAME: str

    def recognises(self, source: Source) -> bool:
        """Whether a file looks like this format, from its first JSON values or its text."""

    def read(self, source: Source) -> Iterator[Trace]:
        """The traces of a file; an empty id is named later, by the file."""


# The order matters: a format that others look like comes after them, OpenAI chat last.
IMPORTERS: dict[str, Importer] = {
    module.NAME: module
    for module in (
        recorded,
        cassettes,
        aider,
        pi,
        claude_code,
        cline,
        openhands,
        mini_swe_agent,
        swe_agent,
        tau_bench,
        tau2,
        livemcpbench,
        inspect_log,
        stabletoolbench,
        exchanges,
        responses,
        anthropic,
        openai_chat,
    )
}
FORMATS = tuple(sorted(IMPORTERS))


def read_traces(path: str | Path, format: str = "auto") -> Iterator[Trace]:  # noqa: A002
    """The traces of one file, as they are read. ``format`` is ``auto`` or one of ``FORMATS``.

    ``.gz`` is unpacked by content. A trace without an id is named after the file; an id that comes
    again gets a number. What had to be guessed is in ``Trace.warnings`` with file:line. Raises
    ``UsageError`` for a missing file, an unknown format, or a file without any message.
    """
    source = open_source(path)
    importer = IMPORTERS[_named(source, format)]
    names: dict[str, int] = {}
    waiting: Trace | None = None
    for trace in importer.read(source):
        if not trace.messages:
            continue
        if waiting is not None:
            yield waiting
        waiting = _finished(trace, source, names)
    if waiting is None:
        raise UsageError(_nothing(source, importer.NAME))
    # One trace is held back, so that what was wrong at the file's end is said with the last.
    yield replace(waiting, warnings=(*waiting.warnings, *source.warnings))


def detect(path: str | Path) -> str:
    """The name of a trace file's format, by content. Raises ``UsageError`` for an unknown one."""
    return _named(open_source(path), "auto")


def _named(source: Source, wanted: str) -> str:
    if wanted != "auto":
        if wanted not in IMPORTERS:
            raise UsageError(f"no trace format '{wanted}'; there are: {', '.join(FORMATS)}, auto")
        return wanted
    for name, importer in IMPORTERS.items():
        if importer.recognises(source):
            return name
    raise UsageError(
        f"'{source.path}' is no trace contextctl knows: it starts with {_seen(source)}. "
        f"Supported: {', '.join(FORMATS)}. If it is one of these, name it with --from"
    )


def _seen(source: Source) -> str:
    if not source.head:
        return f"the text {source.text[:60]!r}"
    first = source.head[0]
    if isinstance(first, list):
        inner = first[0] if first else None
        return f"a list of {len(first)} {_keys(inner)}"
    return _keys(first)


def _keys(value: Json) -> str:
    if isinstance(value, dict):
        return f"an object with the keys {', '.join(list(value)[:8]) or '(none)'}"
    return f"a {type(value).__name__}: {str(value)[:60]!r}"


def _finished(trace: Trace, source: Source, names: dict[str, int]) -> Trace:
    identity = trace.id or source.name
    names[identity] = names.get(identity, 0) + 1
    if names[identity] > 1:
        identity = f"{identity}-{names[identity]}"
    warnings = (*source.warnings, *trace.warnings)
    source.warnings.clear()
    return replace(trace, id=identity, warnings=warnings)


def _nothing(source: Source, name: str) -> str:
    warned = f" ({source.warnings[0]})" if source.warnings else ""
    return f"'{source.path}' holds no message when read as '{name}'{warned}"
