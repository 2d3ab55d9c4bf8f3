"""What to look at: the symptoms a step shows, each with its evidence and the next edit.

The order is that of an investigation: was the right material chosen, was the window built as
meant, what does it cost, can what left be read back. More instructions and a larger window are
never the advice: the first only grows the input, the second moves the same failure to a later step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from contextctl.core.explain.failed import DISCOVERY
from contextctl.core.explain.growth import largest_tool, sizes
from contextctl.core.explain.seen import Seen
from contextctl.core.explain.symptoms import SYMPTOMS as CONVERSATION
from contextctl.core.tools.defer import CALL_TOOL, SEARCH_TOOL
from contextctl.core.tools.waiting import waiting_tools
from contextctl.model.explanation import STAGES, Advice

_RESULTS_SHARE = 0.50
_HISTORY_SHARE = 0.40
_FIXED_SHARE = 0.25
_ITEM_SHARE = 0.25
_FULL = 0.85
_LATE_STEP = 12
_STRETCH_STEPS, _STRETCH_SHARE = 6, 0.40
_MANY_TOOLS = 30
_RECENT, _OFTEN = 20, 5


def advice(seen: Seen) -> tuple[Advice, ...]:
    """Every symptom that the step shows, in the order in which stages are looked into."""
    symptoms = (*DISCOVERY, *WINDOW, *CONVERSATION)
    found = [one for symptom in symptoms for one in symptom(seen)]
    return tuple(sorted(found, key=lambda one: (STAGES.index(one.stage), one.remedy or 9)))


def _results(seen: Seen) -> Iterator[Advice]:
    share = seen.share("tool_results")
    if share <= _RESULTS_SHARE or not _matters(seen):
        return
    tool = largest_tool(seen.now)
    yield Advice(
        "budget",
        "tool results are over half",
        f"tool_results take {share:.0%} of the window, most of it from {tool}",
        f"declare what of it is read: tools.{tool}.result.fields, .page or .max_tokens",
        remedy=1,
    )


def _history(seen: Seen) -> Iterator[Advice]:
    share = seen.share("history")
    if share <= _HISTORY_SHARE or seen.now.step < _LATE_STEP or seen.now.ratio < _FULL:
        return
    calls = seen.now.parts.get("history.tool_calls", 0)
    said = f", {calls / seen.now.total:.0%} are arguments of its own calls" if calls else ""
    yield Advice(
        "budget",
        "full only late, in a long conversation",
        f"history takes {share:.0%} at step {seen.now.step}{said}",
        "trim it by digests: history.live_share: 0.3, history.recent_share: 0.1",
        remedy=2,
    )


def _fixed(seen: Seen) -> Iterator[Advice]:
    share = seen.share("system", "tools_schema")
    if share < _FIXED_SHARE or not _matters(seen):
        return
    system, schema = seen.now.buckets["system"], seen.now.buckets["tools_schema"]
    yield Advice(
        "budget",
        "large system text or tool schemas",
        f"{system:,} tokens of system text and {schema:,} of schemas are paid for at every step",
        "load on demand what one step in ten needs: defer.total, disclosure.skills",
        remedy=3,
    )


def _one_item(seen: Seen) -> Iterator[Advice]:
    results = [one for one in sizes(seen.now).values() if one.item.bucket == "tool_results"]
    one = max(results, key=lambda result: result.tokens, default=None)
    if one is None:
        return
    over = seen.now.total - seen.now.usable
    share = one.tokens / seen.now.usable if seen.now.usable > 0 else 1.0
    if share > _ITEM_SHARE or (0 < over <= one.tokens and share > _ITEM_SHARE / 2):
        yield Advice(
            "budget",
            "one item fills the window",
            f"{one.item.event} ({one.item.name} result, step {one.item.step}) takes"
            f" {one.tokens:,} of {seen.now.usable:,} usable tokens",
            "keep it outside and leave a ref: workspace.offload_over: 2000",
            remedy=4,
        )


def _stretch(seen: Seen) -> Iterator[Advice]:
    """A few steps in a row, long past, that read most of what the window holds."""
    steps: dict[int, int] = {}
    for one in sizes(seen.now).values():
        if one.item.bucket == "tool_results":
            steps[one.item.step] = steps.get(one.item.step, 0) + one.tokens
    last = seen.now.step - 1 - seen.profile.compaction.protect_steps
    if last < 2 * _STRETCH_STEPS or not _matters(seen):
        return
    sums = {
        first: sum(steps.get(step, 0) for step in range(first, first + _STRETCH_STEPS))
        for first in range(1, last - _STRETCH_STEPS + 2)
    }
    first = max(sums, key=lambda start: sums[start], default=0)
    if first and sums[first] > _STRETCH_SHARE * seen.now.total:
        end = first + _STRETCH_STEPS - 1
        yield Advice(
            "budget",
            "one stretch of work eats the window",
            f"the results of steps {first}-{end} take {sums[first]:,} tokens"
            f" ({sums[first] / seen.now.total:.0%})",
            "give that work to a delegate with a window of its own: subagents",
            remedy=5,
        )


def _uncuttable(seen: Seen) -> Iterator[Advice]:
    """What no remedy may touch is larger than the window by itself."""
    buckets = seen.now.buckets
    whole = buckets["system"] + buckets["tools_schema"] + buckets["query"]
    if whole <= seen.now.usable:
        return
    largest = max(("query", "system", "tools_schema"), key=lambda name: buckets[name])
    do = {
        "query": "put the long part of the message into a file or document that is read in parts",
        "system": "keep rules short, and load details on demand: disclosure.skills",
        "tools_schema": "let the agent find its tools: defer.total: 30",
    }[largest]
    yield Advice(
        "select",
        "what may not be cut does not fit",
        f"system text, tool schemas and the question take {whole:,} of {seen.now.usable:,} usable"
        f" tokens, most of it {largest} ({buckets[largest]:,})",
        do,
    )


def _last_rung(seen: Seen) -> Iterator[Advice]:
    on = seen.profile.remedies
    if seen.share("history", "tool_results") < _HISTORY_SHARE:
        return  # there is nothing to summarise
    if seen.now.ratio >= _FULL and on.shape and on.trim and on.offload and seen.now.actions:
        yield Advice(
            "budget",
            "close to full with every other remedy at work",
            f"{seen.now.ratio:.0%} full after {len(seen.now.actions)} reductions",
            "only now compact, best at the end of a stage: compaction.when.stage_end: true",
            remedy=6,
        )


def _tools(seen: Seen) -> Iterator[Advice]:
    offered = {
        tool.name for event in seen.events[: seen.at] for tool in getattr(event, "tools", ())
    }
    own = {SEARCH_TOOL, CALL_TOOL, *seen.profile.workspace.tools}
    unknown = [one for one in seen.calls if offered and one.call.name not in offered | own]
    if unknown:
        names = ", ".join(dict.fromkeys(one.call.name for one in unknown))
        yield Advice(
            "select",
            "a tool is called that is not offered",
            f"{names} (first at step {unknown[0].step}) is in no tool list of this record",
            "compare the list that was sent with the names in descriptions and instructions",
        )
    used = {one.call.name for one in seen.calls}
    offered -= waiting_tools(seen).keys()
    if len(offered) > _MANY_TOOLS:
        yield Advice(
            "select",
            "many tools to choose from",
            f"{len(offered)} tools are offered at every step, {len(used & offered)} ever called",
            "let the agent find them: defer.total: 30, and one telling line a description",
            remedy=3,
        )


def _broken_prefix(seen: Seen) -> Iterator[Advice]:
    broken = [past for past in seen.past if past.broke_at]
    if len(broken) < 3 or 3 * len(broken) < len(seen.past):
        return
    causes = [past.broke_at or "" for past in broken]
    most = max(set(causes), key=causes.count)
    where = "the tool array" if most == "tools" else most
    yield Advice(
        "budget",
        "every step costs more than it adds",
        f"the prefix broke at {len(broken)} of {len(seen.past)} steps, most often at {where}",
        "move what changes to the message tail (reminders), and cut late and deep: budget.reduce",
    )


def _vain(seen: Seen) -> Iterator[Advice]:
    """Reductions again and again that take little out."""
    recent = [past for past in seen.past[-_RECENT:] if past.saved]
    usable = seen.now.usable
    little = [past for past in recent if past.saved < 0.1 * usable]
    if len(little) >= _OFTEN:
        yield Advice(
            "budget",
            "reductions return often and gain little",
            f"{len(recent)} of the last {len(seen.past[-_RECENT:])} steps reduced something, "
            f"{sum(p.saved for p in recent) // len(recent):,} tokens each",
            "go deeper at once: budget.reduce.target: 0.4, or a smaller history.recent_share",
        )


def _matters(seen: Seen) -> bool:
    """Whether the window is full enough for its shares to be worth a word."""
    return seen.now.ratio >= 0.5


WINDOW: tuple[Callable[[Seen], Iterator[Advice]], ...] = (
    _uncuttable,
    _tools,
    _results,
    _history,
    _fixed,
    _one_item,
    _stretch,
    _last_rung,
    _broken_prefix,
    _vain,
)
