"""What if: the same record assembled again under a changed profile, remedy by remedy.

Nothing is estimated: each number is a whole new fold of the record, so it is what the step would
really have been. The order is that of the remedies (SPEC C1), what loses nothing first. A delegate
is no matter of a profile: for that rung the record itself is changed, the stretch replaced by one
message of a booked size. So is a compaction where no setting brings one about: there a stage ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from contextctl.core.assemble import Fold
from contextctl.core.explain.booked import REWRITES, Rewrite, Rewritten
from contextctl.core.explain.candidates import Change, changes_of, written
from contextctl.model.counter import Counter
from contextctl.model.explanation import Edit, Rung
from contextctl.model.from_mapping import to_mapping
from contextctl.model.ledger import Item, LedgerReport
from contextctl.model.message import JsonObject
from contextctl.model.profile import (
    SECTIONS,
    Profile,
    pointer_parts,
    profile_from_mapping,
    value_at,
)
from contextctl.model.record import Event, MessageAdded, StepTaken, UsageReported

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
    for number, remedy in REMEDIES.items():
        way = _by_profile(case, number) or _by_record(case, number)
        if way is None:
            continue
        rewritten = _rewritten(case, way.rewrite, events)
        tried = [*edits, *way.change]
        after = assembled(case, tried, rewritten[0] if rewritten else events)
        adds = max(total - after.total, 0)
        if adds:
            edits, total = tried, after.total
            events = rewritten[0] if rewritten else events
        out.append(
            Rung(
                number=number,
                remedy=remedy,
                change=written(way.change) or way.booked,
                alone=case.now.total - way.alone.total,
                enough=way.alone.total <= case.goal,
                adds=adds,
                total=total,
                prefix=_cut(case.before, way.alone),
                edits=way.change,
                booked=way.booked,
            )
        )
    return tuple(out)


@dataclass(frozen=True, slots=True)
class _Way:
    """How a remedy is tried: by edits of the profile, or by a record in which it was at work."""

    alone: LedgerReport
    change: Change = ()
    rewrite: Rewrite | None = None
    booked: str = ""


def _by_profile(case: Case, number: int) -> _Way | None:
    """The mildest change that is enough, else the one that saves most; None when none saves."""
    best: _Way | None = None
    for change in changes_of(number, case.profile, case.now, case.fields):
        ledger = assembled(case, change, case.events)
        if best is None or ledger.total < best.alone.total:
            best = _Way(ledger, change)
        if ledger.total <= case.goal:
            break
    return best if best is not None and best.alone.total < case.now.total else None


def _by_record(case: Case, number: int) -> _Way | None:
    """What a search for tools, a delegate or the end of a stage would have left of the record."""
    rewrite = REWRITES.get(number)
    rewritten = _rewritten(case, rewrite, case.events)
    if rewritten is None:
        return None
    ledger = assembled(case, (), rewritten[0])
    if ledger.total >= case.now.total:
        return None
    return _Way(ledger, rewrite=rewrite, booked=rewritten[1])


def _rewritten(case: Case, rewrite: Rewrite | None, events: tuple[Event, ...]) -> Rewritten | None:
    if rewrite is None:
        return None
    return rewrite(events, case.counter, case.profile.compaction.protect_steps)


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
