"""What a profile names and no server offers."""

from __future__ import annotations

from dataclasses import dataclass

from contextctl.model.failure import INDEX


@dataclass(frozen=True, slots=True)
class Missing:
    """A tool, or with an empty ``tool`` a whole server, that cannot be offered, and why."""

    server: str
    tool: str
    reason: str
    failure: str = INDEX
