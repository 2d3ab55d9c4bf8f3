"""How one task or trace ended: one line of ``results.jsonl``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from contextctl.model.message import JsonObject

STATUSES = ("ok", "failed", "overflow", "max_steps", "cost", "interrupted")


@dataclass(frozen=True, slots=True)
class Peak:
    """The fullest step: its ratio, its zone, and the bucket that was largest in it."""

    step: int = 0
    ratio: float = 0.0
    zone: str = "safe"
    total: int = 0
    bucket: str = ""
    bucket_tokens: int = 0
    largest: str = ""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """``tokens`` sums over all steps; ``actions`` counts what was done, by kind.

    ``cost_usd`` is what the provider charged, or in a replay what the input would cost;
    ``checks`` are the outcomes of the task's ``expect``. ``isolated`` is what subagents took, with
    the main window's peak as it was and as it would have been without them.
    """

    id: str
    status: str
    answer: str = ""
    steps: int = 0
    tokens: Mapping[str, int] = field(default_factory=dict)
    cost_usd: float = 0.0
    peak: Peak = Peak()
    actions: Mapping[str, int] = field(default_factory=dict)
    isolated: Mapping[str, int] = field(default_factory=dict)
    checks: tuple[JsonObject, ...] = ()
    error: str = ""
    warnings: tuple[str, ...] = ()

    def to_json(self) -> JsonObject:
        """The line of ``results.jsonl``."""
        out: JsonObject = {
            "id": self.id,
            "status": self.status,
            "answer": self.answer,
            "steps": self.steps,
            "tokens": dict(self.tokens),
            "cost_usd": self.cost_usd,
            "peak_ratio": self.peak.ratio,
            "peak_zone": self.peak.zone,
            "peak_step": self.peak.step,
            "actions": dict(self.actions),
        }
        if self.isolated:
            out["isolated"] = dict(self.isolated)
        if self.checks:
            out["checks"] = list(self.checks)
        if self.error:
            out["error"] = self.error
        if self.warnings:
            out["warnings"] = list(self.warnings)
        return out
