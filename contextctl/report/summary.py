"""How a run ended, as text."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from contextctl.model.summary import RunSummary


def summary_text(summary: RunSummary, run: str) -> str:
    """Counts, tokens and money before and after, the fullest step, and the next command to type.

    ``run`` is the run's folder as a person would type it.
    """
    return "\n".join(_lines(summary, run)) + "\n"


def _lines(summary: RunSummary, run: str) -> Iterator[str]:
    counts = ", ".join(f"{count} {status}" for status, count in sorted(summary.counts.items()))
    rest = [f"{summary.skipped} done before"] if summary.skipped else []
    rest += [f"{summary.left} not run"] if summary.left else []
    what = "dry run: " if summary.dry_run else ""
    yield f"{what}{summary.status}   tasks: {', '.join([counts or 'none run', *rest])}"
    worst = summary.worst
    if worst is None:
        return
    yield _tokens(summary)
    money = _money(summary)
    if money:
        yield money
    yield from _delegated(summary)
    peak = worst.peak
    largest = f", largest message {peak.largest}" if peak.largest else ""
    yield (
        f"peak     {worst.id} step {peak.step}: {peak.ratio:.0%} ({peak.zone}), "
        f"{peak.total:,} tokens; biggest source {peak.bucket} {peak.bucket_tokens:,}{largest}"
    )
    if summary.status in ("interrupted", "cost"):
        yield f"next     contextctl tasks resume {shlex.quote(run)}"
        return
    named = f"{shlex.quote(run)} {shlex.quote(worst.id)}"
    yield f"next     contextctl explain {named} --step {peak.step}"


def _tokens(summary: RunSummary) -> str:
    held = summary.tokens_held / summary.tokens_sent if summary.tokens_sent else 0.0
    return (
        f"input    {summary.steps:,} steps, {summary.tokens_raw:,} tokens with nothing left out -> "
        f"{summary.tokens_sent:,} assembled, {held:.0%} of them in a held prefix"
    )


def _delegated(summary: RunSummary) -> Iterator[str]:
    """What subagents took, and the main window's peak with and without them."""
    told = [result.isolated for result in summary.results if result.isolated]
    if not told:
        return
    count, steps, tokens = (
        sum(one.get(key, 0) for one in told) for key in ("subagents", "steps", "input")
    )
    most = max(told, key=lambda one: one.get("peak_without", 0))
    yield (
        f"isolated {count} delegated, {steps} steps, {tokens:,} tokens; fullest main window "
        f"{most.get('peak', 0):,} tokens, {most.get('peak_without', 0):,} without"
    )


def _money(summary: RunSummary) -> str:
    parts = []
    if summary.input_usd is not None and summary.input_raw_usd:
        parts.append(f"${summary.input_raw_usd:,.4f} -> ${summary.input_usd:,.4f} for input")
    if summary.cost_usd:
        parts.append(f"${summary.cost_usd:,.4f} charged")
    return f"dollars  {', '.join(parts)}" if parts else ""
