"""How a replay ended, as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from contextctl.model.result import TaskResult
from contextctl.report.columns import command, wrapped


class Outcome(Protocol):
    """What is shown of a replay."""

    results: list[TaskResult]
    raw_tokens: int
    sent_tokens: int
    held_tokens: int
    cost_raw: float
    cost: float

    @property
    def steps(self) -> int:
        """Steps walked."""

    @property
    def worst(self) -> TaskResult | None:
        """The trace with the fullest step."""


def replay_text(outcome: Outcome, run: str) -> str:
    """The sums, the fullest step and its biggest source, and the next command to type."""
    return "\n".join(_lines(outcome, run)) + "\n"


def _lines(outcome: Outcome, run: str) -> Iterator[str]:
    over = [result for result in outcome.results if result.status == "overflow"]
    actions: dict[str, int] = {}
    for result in outcome.results:
        for kind, count in result.actions.items():
            actions[kind] = actions.get(kind, 0) + count
    done = ", ".join(f"{kind} {count:,}" for kind, count in sorted(actions.items())) or "none"
    many = "1 trace" if len(outcome.results) == 1 else f"{len(outcome.results)} traces"
    yield f"{many}, {outcome.steps:,} steps   actions: {done}"
    yield _saving(outcome)
    worst = outcome.worst
    if worst is None:
        return
    peak = worst.peak
    yield from wrapped(
        f"{worst.id} step {peak.step}: {peak.ratio:.0%} ({peak.zone}), {peak.total:,}"
        f" tokens; biggest source {peak.bucket} {peak.bucket_tokens:,}"
        + (f", largest message {peak.largest}" if peak.largest else ""),
        " " * 9,
        "peak     ",
    )
    if over:
        steps = sum(int(result.error.split()[0]) for result in over if result.error)
        yield f"overflow {steps} steps of {len(over)} traces do not fit (first: {over[0].id})"
    typed = f"contextctl explain {run} {worst.id} --step {peak.step}"
    yield from command(typed, " " * 9, "next     ")


def _saving(outcome: Outcome) -> str:
    held = outcome.held_tokens / outcome.sent_tokens if outcome.sent_tokens else 0.0
    line = (
        f"input    {outcome.raw_tokens:,} tokens as recorded -> {outcome.sent_tokens:,} assembled,"
        f" {held:.0%} of them in a held prefix"
    )
    if outcome.cost_raw:
        line += f"\ndollars  {outcome.cost_raw:,.2f} -> {outcome.cost:,.2f} for input"
    return line
