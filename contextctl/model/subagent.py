"""What a subagent brings back: never silence, never less than what it could not look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from contextctl.model.message import Json, JsonObject

STATUSES = ("ok", "partial", "failed")
CONFIDENCES = ("low", "medium", "high")


@dataclass(frozen=True, slots=True)
class SourceFailure:
    """A source that never answered. ``retried`` counts the tries after the first."""

    source: str
    error: str
    retried: int = 0

    def to_json(self) -> JsonObject:
        """The failure as the parent reads it."""
        return {"source": self.source, "error": self.error, "retried": self.retried}


@dataclass(frozen=True, slots=True)
class SubagentResult:
    """``partial``: something could not be read, or it was stopped: the parent tries another source,
    says so, or hands to a person.

    ``reason`` says why it did not end by itself; ``more`` are fields of one kind of subagent, such
    as citations.
    """

    status: str
    summary: str
    sources_attempted: int = 0
    sources_succeeded: int = 0
    failures: tuple[SourceFailure, ...] = ()
    confidence: str = "medium"
    reason: str = ""
    steps: int = 0
    more: Mapping[str, Json] = field(default_factory=dict)

    def to_json(self) -> JsonObject:
        """The result as the parent reads it."""
        out: JsonObject = {"status": self.status, "summary": self.summary}
        if self.reason:
            out["reason"] = self.reason
        out["sources_attempted"] = self.sources_attempted
        out["sources_succeeded"] = self.sources_succeeded
        out["failures"] = [failure.to_json() for failure in self.failures]
        out["confidence"] = self.confidence
        if self.status != "ok":
            out["steps"] = self.steps
        return out | dict(self.more)
