"""Checks as text: one line each, and what to do below a failed one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from contextctl.model.check import Check
from contextctl.report.columns import wrapped

_MARKS = {True: "ok  ", False: "FAIL", None: "?   "}


def checks_text(checks: Sequence[Check]) -> str:
    """All checks in their order."""
    return "\n".join(_lines(checks)) + "\n"


def _lines(checks: Sequence[Check]) -> Iterator[str]:
    width = min(max((len(check.name) for check in checks), default=0), 40)
    indent = " " * (width + 7)
    for check in checks:
        yield from wrapped(check.detail, indent, f"{_MARKS[check.ok]} {check.name:<{width}}  ")
        if check.ok is False and check.do:
            yield from wrapped(check.do, indent, f"{indent}-> ")
