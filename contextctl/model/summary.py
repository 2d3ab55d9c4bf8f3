"""How a run ended: what is printed at its end and kept in ``run.json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from contextctl.model.message import JsonObject
from contextctl.model.result import Peak, TaskResult


@dataclass(slots=True)
class RunSummary:
    """Sums over the tasks of this call of ``run``. Money in USD, sizes in tokens.

    ``skipped`` tasks were done before, ``left`` ones were never begun. ``tokens_raw`` and
    ``input_raw_usd`` are what the same steps would have sent and cost with nothing left out;
    ``cost_usd`` is what the provider charged. ``input_usd`` prices the assembled input, and is
    None, like ``input_raw_usd``, where the model has no known price.
    """

    run: str
    status: str = "running"
    dry_run: bool = False
    results: list[TaskResult] = field(default_factory=list)
    skipped: int = 0
    left: int = 0
    tokens_raw: int = 0
    tokens_sent: int = 0
    tokens_held: int = 0
    cost_usd: float = 0.0
    input_raw_usd: float | None = None
    input_usd: float | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def counts(self) -> Mapping[str, int]:
        """How many tasks ended with each status."""
        out: dict[str, int] = {}
        for result in self.results:
            out[result.status] = out.get(result.status, 0) + 1
        return out

    @property
    def steps(self) -> int:
        """Steps of all tasks."""
        return sum(result.steps for result in self.results)

    @property
    def worst(self) -> TaskResult | None:
        """The task with the fullest step; None when no step was taken."""
        stepped = [result for result in self.results if result.peak.step]
        return max(stepped, key=lambda result: result.peak.ratio, default=None)

    @property
    def totals(self) -> JsonObject:
        """The sums as they stand in ``run.json``."""
        out: JsonObject = {
            "tasks": len(self.results) + self.skipped + self.left,
            "run": len(self.results),
            "skipped": self.skipped,
            "not_run": self.left,
            "counts": dict(self.counts),
            "steps": self.steps,
            "tokens_raw": self.tokens_raw,
            "tokens_sent": self.tokens_sent,
            "tokens_held": self.tokens_held,
            "cost_usd": round(self.cost_usd, 10),
        }
        if self.input_usd is not None and self.input_raw_usd is not None:
            out["input_raw_usd"] = round(self.input_raw_usd, 10)
            out["input_usd"] = round(self.input_usd, 10)
        return out

    def to_json(self) -> JsonObject:
        """The whole, as ``run --format json`` prints it."""
        worst = self.worst
        return {
            "run": self.run,
            "status": self.status,
            "dry_run": self.dry_run,
            "totals": self.totals,
            "peak": None if worst is None else {"task": worst.id, **_peak(worst.peak)},
            "results": [result.to_json() for result in self.results],
            "warnings": [*self.warnings],
        }


def _peak(peak: Peak) -> JsonObject:
    return {
        "step": peak.step,
        "ratio": peak.ratio,
        "zone": peak.zone,
        "total": peak.total,
        "bucket": peak.bucket,
        "bucket_tokens": peak.bucket_tokens,
        "largest": peak.largest,
    }
