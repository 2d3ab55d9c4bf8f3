"""The errors contextctl raises, and the exit code each one ends a command with.

    ContextctlError                    (never raised itself)
    ├── Finding                   1    what was asked about has a problem (gate, profile)
    ├── UsageError                2    unusable input: a file, an argument, a trace
    │   ├── ProfileError          2    one or more problems in a profile, each at file:line:column
    │   └── RecordError           2    a record or run folder that cannot be read or does not match
    ├── OutsideError              4    something contextctl depends on failed
    │   ├── ModelError            4    the model provider
    │   ├── ToolError             4    a tool, or the server that offers it
    │   └── StoreError            4    workspace, audit or memory store
    └── ContextOverflow           5    what cannot be cut is larger than the usable window

Anything else that escapes a command is a bug in contextctl (exit 3); an interrupt is 130.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextctl.model.ledger import LedgerReport


class ContextctlError(Exception):
    """Base of every expected error. ``str(error)`` is one message for a person."""

    exit_code = 3


class Finding(ContextctlError):
    """What was asked about has a problem; contextctl itself is fine."""

    exit_code = 1


class UsageError(ContextctlError):
    """Input that cannot be used. The message names what, where and the next edit."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong at one place of a file.

    ``line`` and ``column`` count from 1 and are 0 where there is none (``--set``); ``key`` is the
    dotted path (``budget.zones.warn``); ``severity`` is ``error``, ``warning`` or ``note``.
    """

    path: str
    line: int
    column: int
    key: str
    message: str
    suggestion: str = ""
    severity: str = "error"

    def __str__(self) -> str:
        hint = f" ({self.suggestion})" if self.suggestion else ""
        key = f"{self.key}: " if self.key else ""
        place = ":".join(str(part) for part in (self.path, self.line, self.column) if part)
        return f"{place}: {key}{self.message}{hint}"


class ProfileError(UsageError):
    """All problems of a profile at once; ``problems`` keeps them as values."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))


class RecordError(UsageError):
    """A record, trace or run folder that cannot be read, or that does not match itself."""


class OutsideError(ContextctlError):
    """Something contextctl depends on failed; trying again may help."""

    exit_code = 4


class ModelError(OutsideError):
    """The model provider refused, failed or timed out. ``retryable``: another try may help."""

    def __init__(self, message: str, *, retryable: bool = False, overflow: bool = False) -> None:
        self.retryable = retryable
        self.overflow = overflow
        super().__init__(message)


class ToolError(OutsideError):
    """A tool, or the server that offers it, could not be reached or loaded."""


class StoreError(OutsideError):
    """The workspace, the audit table or the memory store failed."""


class ContextOverflow(ContextctlError):
    """What cannot be cut is larger than the usable window.

    ``ledger`` is the report of the step that did not fit, ``shortfall`` the tokens missing and
    ``top`` the largest buckets with their tokens, largest first.
    """

    exit_code = 5

    def __init__(self, ledger: LedgerReport) -> None:
        self.ledger = ledger
        self.shortfall = ledger.total - ledger.usable
        self.top = tuple(sorted(ledger.buckets.items(), key=lambda kv: -kv[1])[:3])
        largest = ", ".join(f"{name} {tokens:,}" for name, tokens in self.top)
        super().__init__(
            f"step {ledger.step} of '{ledger.task}' overflows by {self.shortfall:,} tokens: "
            f"{ledger.total:,} > {ledger.usable:,} usable (largest: {largest})"
        )
