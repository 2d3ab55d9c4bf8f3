"""Sums over the steps of one task: tokens sent and saved, the peak, what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from contextctl.model.ledger import LedgerReport
from contextctl.model.message import Json
from contextctl.model.prices import Prices
from contextctl.model.result import Peak


@dataclass(slots=True)
class Totals:
    """Running sums. ``sent`` and ``held`` are input tokens of windows that could be sent;
    ``raw`` is what the same steps would have sent had nothing been left out. What subagents took
    is ``delegated…``, what summaries by a model took ``summary…``, what it took to ask a model for
    memories ``memory…``; ``cost`` includes them."""

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
    largest: int = 0
    largest_without: int = 0
    delegated: int = 0
    delegated_steps: int = 0
    delegated_input: int = 0
    delegated_output: int = 0
    summary_input: int = 0
    summary_output: int = 0
    memory_input: int = 0
    memory_output: int = 0
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
        isolated = [action for action in ledger.actions if action.kind == "isolate"]
        spared = sum(action.tokens_before - action.tokens_after for action in isolated)
        self.largest = max(self.largest, ledger.total)
        self.largest_without = max(self.largest_without, ledger.total + spared)
        if ledger.ratio > self.peak.ratio:
            self.peak = _peak(ledger)

    def delegate(self, told: Mapping[str, Json]) -> None:
        """Count in what a subagent took: its result says so."""
        self.delegated += 1
        self.delegated_steps += _whole(told.get("steps"))
        self.delegated_input += _whole(told.get("input_tokens"))
        self.delegated_output += _whole(told.get("output_tokens"))
        self._pay(told)

    def summarised(self, usage: Mapping[str, Json]) -> None:
        """Count in what a summary took that a model made."""
        self.summary_input += _whole(usage.get("prompt_tokens"))
        self.summary_output += _whole(usage.get("completion_tokens"))
        self._pay(usage)

    def extracted(self, usage: Mapping[str, Json]) -> None:
        """Count in what it took to ask a model for memories."""
        self.memory_input += _whole(usage.get("prompt_tokens"))
        self.memory_output += _whole(usage.get("completion_tokens"))
        self._pay(usage)

    def isolated(self) -> dict[str, int]:
        """What delegation took and spared: the main window's peak with and without it, in tokens;
        empty when nothing was delegated."""
        if not self.delegated:
            return {}
        return {
            "subagents": self.delegated,
            "steps": self.delegated_steps,
            "input": self.delegated_input,
            "output": self.delegated_output,
            "peak": self.largest,
            "peak_without": self.largest_without,
        }

    def tokens(self) -> dict[str, int]:
        """The ``tokens`` of a result line."""
        out = {
            "input": self.sent,
            "input_held": self.held,
            "input_raw": self.raw,
            "output": self.completion,
            "cached": self.cached,
        }
        if self.summary_input:
            out |= {"summary_input": self.summary_input, "summary_output": self.summary_output}
        if self.memory_input:
            out |= {"memory_input": self.memory_input, "memory_output": self.memory_output}
        return out

    def input_cost(self, prices: Prices | None) -> tuple[float, float]:
        """USD for all input: with nothing left out, and as assembled. Held tokens are priced as
        cache reads; a step larger than the window is priced as if it could be sent."""
        if prices is None:
            return 0.0, 0.0
        return (
            (self.raw - self.raw_held) * prices.input + self.raw_held * prices.cache_read,
            (self.sent - self.held) * prices.input + self.held * prices.cache_read,
        )

    def _pay(self, usage: Mapping[str, Json]) -> None:
        cost = usage.get("cost_usd")
        self.cost += float(cost) if isinstance(cost, (int, float)) else 0.0


def _whole(value: Json) -> int:
    return value if isinstance(value, int) else 0


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
