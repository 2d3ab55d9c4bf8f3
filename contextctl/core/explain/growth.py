"""Which messages a window is made of, what changed since the step before, and what fills it most.

The ledger counts in the provider's tokens, its items in our own: sizes here are the items' share
of the ledger's total, so that every list sums to the numbers beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contextctl.model.explanation import Growth, Root, Source
from contextctl.model.ledger import Action, Item, LedgerReport
from contextctl.model.profile import Profile
from contextctl.model.record import Event, MessageAdded, ResultArrived

_SHOWN = 6
_SOURCES = 4
_CALL_CHARS = 160
_ROOT_SHARE = 0.10
_REDUCIBLE = ("tool_results", "history", "retrieved")
_NOTABLE = 200
"""A result below this many tokens is not worth a word about its rule."""


@dataclass(frozen=True, slots=True)
class Sized:
    """A message of a window. ``own`` is its size in our tokens, ``tokens`` in the provider's."""

    item: Item
    own: int
    tokens: int


def sizes(ledger: LedgerReport) -> dict[str, Sized]:
    """Every message of the window by the event it came from; the tool schemas are not in it."""
    own: dict[str, int] = {}
    first: dict[str, Item] = {}
    for item in ledger.items:
        own[item.event] = own.get(item.event, 0) + item.tokens
        first.setdefault(item.event, item)
    rest = ledger.total - ledger.buckets["tools_schema"] - unseen(ledger)
    return {
        event: Sized(first[event], own[event], tokens)
        for event, tokens in shares(own, rest).items()
    }


def unseen(ledger: LedgerReport) -> int:
    """What the provider counted beside the text of the record."""
    return ledger.parts.get("system.unseen", 0)


def shares(counts: Mapping[str, int], total: int) -> dict[str, int]:
    """``total`` divided in the proportions of ``counts``, in whole tokens that sum to it."""
    whole = sum(counts.values())
    if not whole or whole == total:
        return dict(counts)
    exact = {key: count * total / whole for key, count in counts.items()}
    out = {key: int(value) for key, value in exact.items()}
    by_loss = sorted(out, key=lambda key: out[key] - exact[key])
    for key in by_loss[: total - sum(out.values())]:
        out[key] += 1
    return out


def growth(profile: Profile, now: LedgerReport, before: LedgerReport | None) -> tuple[Growth, ...]:
    """What entered, left or changed since ``before``; the deltas sum to the delta of the total."""
    new, old = sizes(now), sizes(before) if before else {}
    actions = {action.target: action for action in now.actions}
    changes, recounted, same = [], 0, 0
    for event in dict.fromkeys([*old, *new]):
        here, there = new.get(event), old.get(event)
        if here and there and here.own == there.own:
            recounted, same = recounted + here.tokens - there.tokens, same + 1
            continue
        one = here or there
        if one is None:
            continue
        delta = (here.tokens if here else 0) - (there.tokens if there else 0)
        note = "left the window" if here is None else rule_note(profile, one, actions.get(event))
        changes.append(Growth(delta, one.item.bucket, event, describe(one.item), note))
    changes += _beside(now, before)
    changes.sort(key=lambda change: (-abs(change.delta), change.event))
    shown, rest = changes[:_SHOWN], changes[_SHOWN:]
    if rest:
        what = f"{len(rest)} more messages"
        shown.append(Growth(sum(one.delta for one in rest), "", "", what))
    if recounted and before:
        what = f"{same} messages counted again after the provider's own count"
        note = f"factor {before.factor:.4f} -> {now.factor:.4f}"
        shown.append(Growth(recounted, "", "", what, note))
    return tuple(one for one in shown if one.delta)


def _beside(now: LedgerReport, before: LedgerReport | None) -> list[Growth]:
    """Changes of what is no message: the tool schemas, and text that only the provider saw."""
    tools = now.buckets["tools_schema"] - (before.buckets["tools_schema"] if before else 0)
    hidden = unseen(now) - (unseen(before) if before else 0)
    out = [Growth(tools, "tools_schema", "tools", "tool schemas")] if tools else []
    if hidden:
        what = "counted by the provider, not in the record (its system prompt, its tools)"
        out.append(Growth(hidden, "system", "", what))
    return out


def root_of(profile: Profile, now: LedgerReport, events: Sequence[Event]) -> Root | None:
    """The message that fills the window most, whenever it entered; None when no single one does.

    A question is only taken when nothing that could be reduced is larger than a tenth.
    """
    found = sizes(now)
    reducible = [event for event in found if found[event].item.bucket in _REDUCIBLE]
    for events_of in (reducible, list(found)):
        event = max(events_of, key=lambda name: found[name].tokens, default="")
        if event and found[event].tokens >= _ROOT_SHARE * now.total:
            return _root(profile, now, events, found[event])
    return None


def _root(profile: Profile, now: LedgerReport, events: Sequence[Event], one: Sized) -> Root:
    event = one.item.event
    action = next((a for a in now.actions if a.target == event), None)
    return Root(
        event=event,
        what=describe(one.item),
        step=one.item.step,
        steps_back=max(now.step - one.item.step, 0),
        raw=round(action.tokens_before * now.factor) if action else one.tokens,
        now=one.tokens,
        call=call_of(events, event),
        rule=rule_note(profile, one, action, always=True),
        decides=0 < now.total - now.usable <= one.tokens,
    )


def sources_of(now: LedgerReport) -> tuple[Source, ...]:
    """The window by origin, largest first: each tool's results, the calls, the texts."""
    groups: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for event, one in sizes(now).items():
        groups.setdefault((_source(one.item), one.item.bucket), []).append((one.tokens, event))
    out = [
        Source(name, bucket, len(members), sum(t for t, _ in members), max(members)[1])
        for (name, bucket), members in groups.items()
    ]
    if now.buckets["tools_schema"]:
        out.append(Source("tool schemas", "tools_schema", 0, now.buckets["tools_schema"], ""))
    if unseen(now):
        name = "text that the provider counted and the record does not hold"
        out.append(Source(name, "system", 0, unseen(now), ""))
    out.sort(key=lambda source: -source.tokens)
    return tuple(one for one in out[:_SOURCES] if 100 * one.tokens >= now.total)


def _source(item: Item) -> str:
    if item.bucket == "tool_results":
        return f"{item.name or 'tool'} results"
    if item.part == "history.summary":
        return "digests of trimmed steps"
    if item.role == "assistant":
        return f"the agent's calls of {item.name}" if item.name else "the agent's own text"
    return describe(item)


def describe(item: Item) -> str:
    """A message in a few words."""
    if item.bucket == "tool_results":
        return f"{item.name or 'tool'} result (step {item.step})"
    if item.part == "history.summary":
        return "digest of trimmed steps"
    if item.role == "assistant":
        return f"assistant, calls {item.name}" if item.name else "assistant, text"
    if item.part.startswith("query"):
        return "the newest question" if item.part == "query.text" else "reminders"
    if item.bucket == "retrieved":
        return "retrieved passages"
    return {"system": "system text", "user": "earlier user message"}.get(item.role, item.role)


def rule_note(profile: Profile, one: Sized, action: Action | None, *, always: bool = False) -> str:
    """What shaped a message, or why nothing did. Small ones need no word unless ``always``."""
    if action is not None:
        where = action.origin or f"default of {action.rule.strip('/').replace('/', '.')}"
        return f"{action.kind} {action.tokens_before:,} -> {action.tokens_after:,} by {where}"
    if one.item.bucket != "tool_results":
        return "kept whole: no rule shapes it" if always else ""
    if not always and one.tokens < _NOTABLE:
        return ""
    if not profile.remedies.shape:
        return "whole: nothing is shaped"
    cap = profile.max_tokens_for(one.item.name)
    own = profile.result_rule(one.item.name).max_tokens is not None
    key = f"tools.{one.item.name}.result" if own else "shaping"
    return f"whole: under {cap:,} of {key}.max_tokens"


def call_of(events: Sequence[Event], event: str) -> str:
    """The call that a result answers, in one line; empty for everything else."""
    place = int(event[1:]) - 1 if event[:1] == "e" and event[1:].isdecimal() else -1
    if not 0 <= place < len(events):
        return ""
    result = events[place]
    if not isinstance(result, ResultArrived):
        return ""
    for earlier in reversed(events[:place]):
        if isinstance(earlier, MessageAdded):
            for call in earlier.message.tool_calls:
                if call.id == result.call_id:
                    return one_line(f"{call.name} {call.arguments}")
    return ""


def one_line(text: str, limit: int = _CALL_CHARS) -> str:
    """``text`` on one line, cut at a space after ``limit`` characters."""
    flat = " ".join(text.split())
    if len(flat) <= limit:
        return flat
    head, _, _ = flat[:limit].rpartition(" ")
    return f"{head or flat[:limit]} …"


def largest_tool(step: LedgerReport) -> str:
    """The tool whose results take most of this window."""
    taken: dict[str, int] = {}
    for item in step.items:
        if item.bucket == "tool_results" and item.name:
            taken[item.name] = taken.get(item.name, 0) + item.tokens
    return max(taken, key=lambda name: taken[name], default="")
