"""What if: the same record assembled again under a changed profile, remedy by remedy.

Nothing is estimated: each number is a whole new fold of the record, so it is what the step would
really have been. The order is that of the remedies (SPEC C1), what loses nothing first. Two rungs
are no matter of a profile, a delegate and a compaction: for those the record itself is changed,
the stretch replaced by one message of a booked size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from contextctl.core.assemble import Fold
from contextctl.core.booked import compacted, isolated
from contextctl.model.counter import Counter
from contextctl.model.explanation import Edit, Rung
from contextctl.model.from_mapping import to_mapping
from contextctl.model.ledger import Item, LedgerReport
from contextctl.model.message import Json, JsonObject
from contextctl.model.profile import (
    SECTIONS,
    Profile,
    pointer_parts,
    pointer_to,
    profile_from_mapping,
    value_at,
)
from contextctl.model.profile_parts import READER_TOOLS
from contextctl.model.record import Event, MessageAdded, StepTaken, UsageReported

Change = tuple[Edit, ...]

_CAPS = (1200, 600, 300)
_OFFLOADS = (2000, 1000, 500)
_PROTECTED = (3, 1)
_DEFERRED = (20, 10, 5)
ROOMIER = 0.8
"""A step that fits is shown what would make it smaller by a fifth."""

REMEDIES = {
    1: "tool result shaping",
    2: "history trimming",
    3: "progressive disclosure",
    4: "offload to workspace",
    5: "subagent isolation",
    6: "compaction",
}


@dataclass(frozen=True, slots=True)
class Case:
    """A step to be tried again: the record up to it, its ledger and that of the step before.

    ``totals`` are the windows of all steps as they were, for what a provider counted of them;
    ``fields`` the fields of each tool's records that were read, where that is known.
    """

    profile: Profile
    counter: Counter
    events: tuple[Event, ...]
    now: LedgerReport
    before: LedgerReport | None
    totals: Mapping[int, int] = field(default_factory=dict)
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def goal(self) -> int:
        """The total that is enough."""
        over = self.now.total > self.now.usable
        return self.now.usable if over else int(self.now.total * ROOMIER)


def with_edits(profile: Profile, edits: Sequence[Edit]) -> Profile:
    """``profile`` with values set, their parents made where they are missing."""
    tree: JsonObject = {name: to_mapping(getattr(profile, name)) for name in SECTIONS}
    for edit in edits:
        here: JsonObject = tree
        *parents, last = pointer_parts(edit.pointer)
        for part in parents:
            child = here.get(part)
            if not isinstance(child, dict):
                child = here[part] = {}
            here = child
        here[last] = edit.value
    return profile_from_mapping(
        tree,
        profile.origins,
        path=profile.path,
        raw_texts=profile.raw_texts,
        secrets=profile.secrets,
    )


def assembled(case: Case, edits: Sequence[Edit], events: Sequence[Event]) -> LedgerReport:
    """The ledger of the step that follows ``events``, with every step before it settled.

    What a provider counted is a fact about the window as it was sent. Here another one stands in
    its place, so the count is taken in proportion: the error stays the same.
    """
    fold = Fold(with_edits(case.profile, edits), case.counter)
    sent = 0
    for event in settled(events):
        if isinstance(event, StepTaken) and case.totals.get(event.step):
            sent = fold.assemble().ledger.total
        if isinstance(event, UsageReported) and not event.traced:
            known = case.totals.get(event.step, 0)
            tokens = round(event.prompt_tokens * sent / known) if known else 0
            fold.advance(replace(event, prompt_tokens=tokens))
        else:
            fold.advance(event)
    return fold.assemble().ledger


def settled(events: Iterable[Event]) -> Iterator[Event]:
    """``events`` with a step before every assistant turn that has none."""
    step, fresh = 0, False
    for event in events:
        if isinstance(event, MessageAdded) and event.message.role == "assistant":
            step += 1
            if not fresh:
                yield StepTaken(step)
            fresh = False
        elif isinstance(event, StepTaken):
            fresh = True
        yield event


def rungs(case: Case) -> tuple[Rung, ...]:
    """Each remedy alone, in the mildest form that is enough, and on top of those above it."""
    out: list[Rung] = []
    edits: list[Edit] = []
    events, total = case.events, case.now.total
    for number, change, alone in _best(case):
        rewritten = _rewritten(case, number, events)
        if number >= 5 and rewritten is None:
            continue
        tried = [*edits, *change]
        after = assembled(case, tried, rewritten[0] if rewritten else events)
        adds = total - after.total
        if adds > 0:
            edits, total = tried, after.total
            events = rewritten[0] if rewritten else events
        out.append(
            Rung(
                number=number,
                remedy=REMEDIES[number],
                change=_written(change) if change else rewritten[1] if rewritten else "",
                alone=case.now.total - alone.total,
                enough=alone.total <= case.goal,
                adds=max(adds, 0),
                total=total,
                prefix=_cut(case.before, alone),
                edits=change,
                booked=rewritten[1] if rewritten and number >= 5 else "",
            )
        )
    return tuple(out)


def _best(case: Case) -> Iterator[tuple[int, Change, LedgerReport]]:
    """For each remedy that saves anything: its mildest change that is enough, else its best."""
    for number, changes in _candidates(case):
        best: tuple[Change, LedgerReport] | None = None
        for change in changes:
            ledger = assembled(case, change, case.events)
            if best is None or ledger.total < best[1].total:
                best = (change, ledger)
            if ledger.total <= case.goal:
                break
        if best and best[1].total < case.now.total:
            yield number, *best
    for number in (5, 6):
        rewritten = _rewritten(case, number, case.events)
        if rewritten is not None:
            ledger = assembled(case, (), rewritten[0])
            if ledger.total < case.now.total:
                yield number, (), ledger


def _rewritten(
    case: Case, number: int, events: tuple[Event, ...]
) -> tuple[tuple[Event, ...], str] | None:
    """The record with a stretch replaced by what a delegate or a compaction would leave."""
    if number < 5:
        return None
    rewrite = isolated if number == 5 else compacted
    return rewrite(events, case.counter, case.profile.compaction.protect_steps)


def _candidates(case: Case) -> Iterator[tuple[int, list[Change]]]:
    profile = case.profile
    on = profile.remedies
    yield 1, _with_switch("shape", on=on.shape, changes=_shapes(case))
    protect = profile.compaction.protect_steps
    pointer = "/compaction/protect_steps"
    fewer: list[Change] = [(Edit(pointer, count),) for count in _PROTECTED if count < protect]
    yield 2, _with_switch("trim", on=on.trim, changes=fewer)
    if case.now.buckets["tools_schema"]:
        totals: list[Change] = [
            (Edit("/defer/total", count), Edit("/defer/per_server", count))
            for count in _DEFERRED
            if count < profile.defer.total
        ]
        yield 3, _with_switch("disclose", on=on.disclose, changes=totals)
    over = profile.workspace.offload_over
    pointer = "/workspace/offload_over"
    smaller: list[Change] = [(Edit(pointer, size),) for size in _OFFLOADS if size < over]
    yield 4, _with_switch("offload", on=on.offload, changes=smaller)


def _with_switch(remedy: str, *, on: bool, changes: Sequence[Change]) -> list[Change]:
    """The changes of a remedy; where it is off, it is switched on first, and with each of them."""
    if on:
        return list(changes)
    switch = (Edit(f"/remedies/{remedy}", value=True), Edit("/workspace/tools", [*READER_TOOLS]))
    return [switch, *((*switch, *change) for change in changes)]


def _shapes(case: Case) -> list[Change]:
    """For the tool whose results take most: the fields that are read, then a smaller cap; then a
    smaller cap for all tools."""
    profile = case.profile
    tool = largest_tool(case.now)
    if not tool:
        return []
    own = pointer_to(("tools", tool, "result", "max_tokens"))
    out: list[Change] = []
    if tool in case.fields and profile.result_rule(tool).fields is None:
        whitelist: list[Json] = [*case.fields[tool]]
        out.append((Edit(pointer_to(("tools", tool, "result", "fields")), whitelist),))
    for cap in _CAPS:
        if cap < profile.max_tokens_for(tool):
            out.append((Edit(own, cap),))
        if cap < profile.shaping.max_tokens:
            out.append((Edit("/shaping/max_tokens", cap),))
    return out


def largest_tool(step: LedgerReport) -> str:
    """The tool whose results take most of this window."""
    taken: dict[str, int] = {}
    for item in step.items:
        if item.bucket == "tool_results" and item.name:
            taken[item.name] = taken.get(item.name, 0) + item.tokens
    return max(taken, key=lambda name: taken[name], default="")


def _cut(before: LedgerReport | None, now: LedgerReport) -> str:
    """Where the window stops being the one of the step before."""
    if before is None:
        return "kept"
    if before.buckets["tools_schema"] != now.buckets["tools_schema"]:
        return "cut@tools"
    for old, new in zip_longest(_marks(before), _marks(now)):
        if old is not None and old != new:
            return f"cut@{old[0]}"
    return "kept"


def _marks(ledger: LedgerReport) -> list[tuple[str, int]]:
    """Each message by event and size; the tail block is replaced at every step anyway."""
    return [_mark(item) for item in ledger.items if item.event != "tail"]


def _mark(item: Item) -> tuple[str, int]:
    return item.event, item.tokens


def _written(change: Change) -> str:
    """The edits as a person would set them. Switching a remedy on needs no word of its readers."""
    own = [edit for edit in change if edit.pointer != "/workspace/tools"]
    return ", ".join(f"{'.'.join(pointer_parts(e.pointer))}: {_value(e.value)}" for e in own)


def _value(value: Json) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def first_enough(found: Sequence[Rung]) -> tuple[Rung, ...]:
    """The rungs to take: the first that is enough alone, else as many as it needs, in order."""
    for rung in found:
        if rung.enough and rung.edits:
            return (rung,)
    return tuple(rung for rung in found if rung.edits and rung.adds > 0)


def needed_edits(profile: Profile, taken: Sequence[Rung]) -> tuple[Edit, ...]:
    """The edits of several rungs, each value once and only where it is not so already."""
    edits: dict[str, Edit] = {}
    tree = profile.to_json()
    for rung in taken:
        for edit in rung.edits:
            if value_at(tree, edit.pointer) != edit.value:
                edits[edit.pointer] = edit
    return tuple(edits.values())
