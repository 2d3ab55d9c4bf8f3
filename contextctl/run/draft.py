"""Draft a profile from recorded traces: look at them, try a few settings, keep the best."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from contextctl.core.explain.draft import (
    MENU,
    fitting_window,
    fixed_tokens,
    page_rules,
    tools_seen,
    trace_tokens,
)
from contextctl.core.measure.probe import Score
from contextctl.core.trace_events import trace_events
from contextctl.errors import UsageError
from contextctl.io.models.vocab import counter_for
from contextctl.io.profile.load import profile_from_values
from contextctl.io.profile.windows import window_of
from contextctl.model.counter import Counter
from contextctl.model.draft import Draft, Kept
from contextctl.model.message import JsonObject
from contextctl.model.trace import Trace
from contextctl.run.bare import bare_profile
from contextctl.run.measure import measure

MEASURED = 6
"""Traces that settings are tried on: the largest ones."""

Progress = Callable[[str, int], None]


def draft_profile(
    traces: Sequence[Trace],
    *,
    name: str,
    source: str,
    model: str | None = None,
    window: int | None = None,
    reserve_output: int | None = None,
    progress: Progress = lambda _what, _done: None,
) -> Draft:
    """A profile for the agent that made ``traces``.

    ``window`` is half of the largest trace by default, at most the model's. Raises ``UsageError``
    when the traces hold no assistant turn or their model's window is not known.
    """
    spoken = [t for t in traces if any(m.role == "assistant" for m in t.messages)]
    if not spoken:
        raise UsageError(f"'{source}' holds no assistant turn, so there is nothing to draft from")
    model = (
        model
        or bare_profile(None, [t.model for t in spoken if t.model], (), shown=source).model.name
    )
    counter = counter_for("auto", model)
    sized = sorted(((trace_tokens(t, counter), t) for t in spoken), key=lambda pair: -pair[0])
    largest = int(sized[0][0] * counter.factor)
    known = window_of(model)
    reserve = reserve_output or min(4096, max(1024, (window or known or largest) // 8))
    if window is None:
        fixed = max(int(fixed_tokens(trace, counter) * counter.factor) for trace in spoken)
        window = fitting_window(largest, fixed, reserve, known)
    tools = tools_seen(([*trace_events(trace)] for trace in spoken), counter)
    base: JsonObject = {
        "version": 1,
        "model": {"name": model, "window": window, "reserve_output": reserve},
    }
    tried = [trace for _, trace in sized[:MEASURED]]
    rules: JsonObject = {"tools": page_rules(tools)}
    default = _kept(base, counter, tried)
    best: tuple[str, Kept] | None = None
    for at, (menu, settings) in enumerate(MENU.items()):
        progress(menu, at)
        kept = _kept({**base, **settings, **rules}, counter, tried)
        if best is None or _is_better(kept, best[1], default):
            best = (menu, kept)
    if best is None:
        raise UsageError("there are no settings to try")
    return Draft(
        name=name,
        source=source,
        model=model,
        window=window,
        reserve_output=reserve,
        model_window=known,
        largest=largest,
        traces=len(spoken),
        steps=sum(message.role == "assistant" for t in spoken for message in t.messages),
        menu=best[0],
        settings=MENU[best[0]],
        tools=tools,
        with_draft=best[1],
        with_default=default,
    )


def _is_better(one: Kept, best: Kept, default: Kept) -> bool:
    """Settings that keep no less and cost no more than the defaults go first; then by worth."""
    return _rank(one, default) > _rank(best, default)


def _rank(kept: Kept, default: Kept) -> tuple[bool, bool, float]:
    both = kept.share >= default.share and kept.billed <= default.billed
    return kept.unfit <= default.unfit, both, kept.worth


def _kept(values: JsonObject, counter: Counter, traces: Sequence[Trace]) -> Kept:
    profile = profile_from_values(values)
    return kept_of([measure(profile, counter, trace) for trace in traces])


def kept_of(scores: Sequence[Score]) -> Kept:
    """The sums over the scores of several traces."""
    return Kept(
        needed=sum(score.needed + score.missed for score in scores),
        in_window=sum(score.in_window for score in scores),
        recoverable=sum(score.recoverable for score in scores),
        billed=round(sum(score.billed for score in scores)),
        steps=sum(score.steps + score.missing for score in scores),
        unfit=sum(score.missing + score.over for score in scores),
    )
