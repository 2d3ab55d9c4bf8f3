"""Sums over the steps of one task: tokens sent and saved, the peak, what it costs."""

from __future__ import annotations

from dataclasses import dataclass, field

from contextctl.model.ledger import LedgerReport
from contextctl.model.prices import Prices
from contextctl.model.result import Peak


@dataclass(slots=True)
class Totals:
    """Running sums. ``sent`` and ``held`` are input tokens of windows that could be sent;
    ``raw`` is what the same steps would have sent had nothing been left out."""

    steps: int = 0
    overflows: int = 0
    sent: int = 0
    held: int = 0
    raw: int = 0
    raw_held: int = 0
    completion: int = 0
    cached: int = 0
    cost: float = 0.0
    peak: Peak = field(default_factory=Peak)
    raw_peak: int = 0
    actions: dict[str, int] = field(default_factory=dict)

    def add(self, ledger: LedgerReport) -> None:
        """Count one step in."""
        self.steps += 1
        raw = sum(ledger.raw_buckets.values())
        self.raw_held += min(self.raw_peak, raw)
        self.raw += raw
        self.raw_peak = max(self.raw_peak, raw)
        for action in ledger.actions:
            if action.new:
                self.actions[action.kind] = self.actions.get(action.kind, 0) + 1
        if ledger.status == "ok":
            self.sent += ledger.total
            self.held += min(ledger.prefix.reused_tokens, ledger.total)
        else:
            self.overflows += 1
        if ledger.ratio > self.peak.ratio:
            self.peak = _peak(ledger)

    def tokens(self) -> dict[str, int]:
        """The ``tokens`` of a result line."""
        return {
            "input": self.sent,
            "input_held": self.held,
            "input_raw": self.raw,
            "output": self.completion,
            "cached": self.cached,
        }

    def input_cost(self, prices: Prices | None) -> tuple[float, float]:
        """USD for all input: with nothing left out, and as assembled. Held tokens are priced as
        cache reads; a step larger than the window is priced as if it could be sent."""
        if prices is None:
            return 0.0, 0.0
        return (
            (self.raw - self.raw_held) * prices.input + self.raw_held * prices.cache_read,
            (self.sent - self.held) * prices.input + self.held * prices.cache_read,
        )


def _peak(ledger: LedgerReport) -> Peak:
    bucket, tokens = max(ledger.buckets.items(), key=lambda kv: kv[1])
    largest = max(ledger.items, key=lambda item: item.tokens, default=None)
    return Peak(
        step=ledger.step,
        ratio=ledger.ratio,
        zone=ledger.zone,
        total=ledger.total,
        bucket=bucket,
        bucket_tokens=tokens,
        largest="" if largest is None else largest.event,
    )
