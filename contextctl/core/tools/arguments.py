"""Which arguments may stand in a window.

The record keeps what the model wrote. Providers refuse a request whose history holds arguments
that are no JSON object, so a malformed text is shown as ``{}``; the call's result, an error that
quotes the text, says what really came.
"""

from __future__ import annotations

from contextctl.model.arguments import ArgumentsError, read_arguments


def replayable(arguments: str) -> str:
    """``arguments`` unchanged when they are a JSON object (the prefix holds), else ``{}``."""
    if not arguments.strip():
        return "{}"
    try:
        read_arguments(arguments)
    except ArgumentsError:
        return "{}"
    return arguments
