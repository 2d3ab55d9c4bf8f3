"""Which calls may stand in a window: the name and the arguments of each.

The record keeps what the model wrote. Providers refuse a request whose history holds arguments
that are no JSON object, so a malformed text is shown as ``{}``; the call's result, an error that
quotes the text, says what really came. They refuse a name that no tool can have as well, such as
``functions.weather``, which models make up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from contextctl.model.arguments import ArgumentsError, read_arguments
from contextctl.model.message import ToolSpec

MOST_CHARS = 64
_FINE = re.compile(rf"[A-Za-z0-9_-]{{1,{MOST_CHARS}}}")
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]+")


def replayable(arguments: str) -> str:
    """``arguments`` unchanged when they are a JSON object (the prefix holds), else ``{}``."""
    if not arguments.strip():
        return "{}"
    try:
        read_arguments(arguments)
    except ArgumentsError:
        return "{}"
    return arguments


def replayable_name(name: str, known: Iterable[ToolSpec]) -> str:
    """``name`` unchanged where it is one that providers take, or one of the ``known`` tools'."""
    if _FINE.fullmatch(name) or any(tool.name == name for tool in known):
        return name
    return _FOREIGN.sub("_", name).strip("_")[:MOST_CHARS] or "unnamed"
