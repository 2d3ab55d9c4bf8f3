"""Replay: a recorded trace walked step by step through a profile, with no model and no network.

At every assistant turn of the trace, the window that this turn would have been asked with under
the profile is assembled, measured and written down; then the recorded turn and its results enter
the record, and so on. Nothing is random: the same trace and profile give the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace

from contextctl.core.assemble import Fold
from contextctl.core.count import Counter
from contextctl.core.measure.totals import Totals
from contextctl.core.reading.refs import content_hash
from contextctl.core.tools.result_pins import with_pins
from contextctl.core.trace_events import trace_events
from contextctl.model.ledger import LedgerReport, Usage
from contextctl.model.profile import Profile
from contextctl.model.record import Event, MessageAdded, Opened, StepTaken
from contextctl.model.result import TaskResult
from contextctl.model.trace import Trace
from contextctl.run.journal import Journal


def replay_trace(
    profile: Profile, counter: Counter, trace: Trace, journal: Journal, totals: Totals
) -> Iterator[LedgerReport]:
    """Walk ``trace``; yields the report of each step, written down and added to ``totals``."""
    fold = Fold(profile, counter)
    pending: list[Event] = []

    def take(event: Event) -> None:
        fold.advance(event)
        pending.append(event)

    take(opened(trace))
    for event in with_pins(profile, trace_events(trace)):
        if isinstance(event, MessageAdded) and event.message.role == "assistant":
            assembly = fold.assemble()
            ledger = _with_usage(assembly.ledger, trace)
            journal.keep(assembly)
            take(StepTaken(ledger.step, profile.digest, ledger.digest, profile.model.name))
            journal.facts(pending)
            pending.clear()
            journal.window(trace.id, assembly)
            journal.step(ledger)
            totals.add(ledger)
            yield ledger
        take(event)
    journal.facts(pending)


def _with_usage(ledger: LedgerReport, trace: Trace) -> LedgerReport:
    """What the provider counted when the trace was made, beside what it holds by our count."""
    fact = trace.usages.get(ledger.step)
    if fact is None or not fact.prompt_tokens:
        return ledger
    raw = sum(ledger.raw_buckets.values())
    usage = Usage(
        prompt_tokens=fact.prompt_tokens,
        cached_tokens=fact.cached_tokens,
        cache_write_tokens=fact.cache_write_tokens,
        completion_tokens=fact.completion_tokens,
        cost_usd=fact.cost_usd,
        count_error=round((raw - fact.prompt_tokens) / fact.prompt_tokens, 4),
    )
    return replace(ledger, usage=usage)


def replay_result(trace: Trace, totals: Totals, cost: float) -> TaskResult:
    """How the walk ended. An infeasible step is reported as an overflow of the whole trace."""
    status = "overflow" if totals.overflows else "ok"
    error = f"{totals.overflows} of {totals.steps} steps do not fit" if totals.overflows else ""
    return TaskResult(
        id=trace.id,
        status=status,
        steps=totals.steps,
        tokens=totals.tokens(),
        cost_usd=cost,
        peak=totals.peak,
        actions=totals.actions,
        error=error,
        warnings=trace.warnings,
    )


def opened(trace: Trace) -> Opened:
    """The first fact of a replay: session and key come from the trace, so that refs repeat."""
    first = "".join(message.text[:2_000] for message in trace.messages[:4])
    key = hashlib.sha256(f"replay {trace.id} {content_hash(first)}".encode()).hexdigest()
    return Opened(task=trace.id, session="s" + key[:3], key=key)
