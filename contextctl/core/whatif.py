"""What if: the same record assembled again under a changed profile, remedy by remedy.

Nothing is estimated: each rung is a whole new fold of the record, so its number is what the step
would really have been. The order is that of the remedies, what loses nothing first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from contextctl.core.walk import walk
from contextctl.model.counter import Counter
from contextctl.model.explanation import Rung
from contextctl.model.ledger import LedgerReport
from contextctl.model.message import Json, JsonObject
from contextctl.model.profile import Profile, pointer_parts, profile_from_mapping
from contextctl.model.record import Event

_CAPS = (1200, 600, 300)
_OFFLOADS = (2000, 1000, 500)
_PROTECTED = (3, 1)


def with_value(profile: Profile, pointer: str, value: Json) -> Profile:
    """``profile`` with one value set, its parents made where they are missing."""
    tree: JsonObject = profile.to_json()
    here: JsonObject = tree
    *parents, last = pointer_parts(pointer)
    for part in parents:
        child = here.get(part)
        if not isinstance(child, dict):
            child = here[part] = {}
        here = child
    here[last] = value
    return profile_from_mapping(tree, profile.origins, path=profile.path)


def rungs(
    profile: Profile, counter: Counter, events: Sequence[Event], step: LedgerReport
) -> tuple[Rung, ...]:
    """Each remedy tried alone, with the mildest change of it that makes the step fit."""
    goal = step.usable if step.status == "overflow" else int(step.total * 0.8)
    tried = (
        _try(profile, counter, events, step, goal, number, remedy, list(changes))
        for number, remedy, changes in _candidates(profile, step)
    )
    return tuple(rung for rung in tried if rung is not None)


def _candidates(
    profile: Profile, step: LedgerReport
) -> Iterator[tuple[int, str, Iterator[tuple[str, Json]]]]:
    tool = _largest_tool(step)
    if tool:
        pointer = f"/tools/{tool.replace('~', '~0').replace('/', '~1')}/result/max_tokens"
        current = profile.max_tokens_for(tool)
        yield 1, "tool result shaping", ((pointer, cap) for cap in _CAPS if cap < current)
    keep = profile.compaction.protect_steps
    pointer = "/compaction/protect_steps"
    yield 2, "history trimming", ((pointer, count) for count in _PROTECTED if count < keep)
    over = profile.workspace.offload_over
    pointer = "/workspace/offload_over"
    yield 4, "offload to workspace", ((pointer, size) for size in _OFFLOADS if size < over)


def _largest_tool(step: LedgerReport) -> str:
    sizes: dict[str, int] = {}
    for item in step.items:
        if item.bucket == "tool_results" and item.name:
            sizes[item.name] = sizes.get(item.name, 0) + item.tokens
    return max(sizes, key=lambda name: sizes[name], default="")


def _try(
    profile: Profile,
    counter: Counter,
    events: Sequence[Event],
    step: LedgerReport,
    goal: int,
    number: int,
    remedy: str,
    changes: Sequence[tuple[str, Json]],
) -> Rung | None:
    best: Rung | None = None
    for pointer, value in changes:
        total = _total_at(with_value(profile, pointer, value), counter, events, step.step)
        if total is None:
            continue
        change = f"{'.'.join(pointer_parts(pointer))}: {value}"
        best = Rung(
            number, remedy, change, total, step.total - total, total <= goal,
            pointer=pointer, value=value,
        )  # fmt: skip
        if best.enough:
            return best
    return best if best is not None and best.saves > 0 else None


def _total_at(
    profile: Profile, counter: Counter, events: Sequence[Event], number: int
) -> int | None:
    for walked in walk(profile, counter, events):
        if walked.assembly.ledger.step == number:
            return walked.assembly.ledger.total
    return None


def first_enough(found: Sequence[Rung]) -> Rung | None:
    """The first rung, in the order of the remedies, that is enough on its own."""
    return next((rung for rung in found if rung.enough), None)
