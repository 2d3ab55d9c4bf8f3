"""Questions asked of audited compactions: how they shrink, and how two summaries differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from contextctl.core.count import json_text
from contextctl.model.audited import Audited, FieldDiff, Ratios, SummaryDiff
from contextctl.model.message import Json

# The references' limits: a summary that is longer is wordy, one that is shorter probably loses.
WORDY = 0.6
LOSING = 0.1
LAST = 20
FIELDS = ("done", "findings", "open_questions", "negatives", "entities")


def ratios(rows: Iterable[Audited]) -> Ratios | None:
    """How the last 20 committed compactions shrank; ``rows`` newest first. None without any."""
    last = [row.compaction.ratio for row in rows if row.compaction.outcome == "committed"][:LAST]
    if not last:
        return None
    middle = median(last)
    flag = "wordy" if middle > WORDY else "losing" if middle < LOSING else ""
    return Ratios(len(last), min(last), middle, max(last), flag)


def diff(first: Audited, second: Audited) -> SummaryDiff:
    """Field by field what the two summaries do not share, in the order each has it."""
    one, other = first.compaction.summary, second.compaction.summary
    names = [name for name in FIELDS if name in one or name in other]
    names += [name for name in dict.fromkeys([*one, *other]) if name not in FIELDS]
    return SummaryDiff(first, second, tuple(_field(name, one, other) for name in names))


def entries(value: Json) -> tuple[str, ...]:
    """The entries of one field of a summary as texts; of entities ``name: value``."""
    if isinstance(value, Mapping):
        return tuple(f"{name}: {_text(item)}" for name, item in value.items())
    if isinstance(value, list):
        return tuple(_text(item) for item in value)
    return () if value is None else (_text(value),)


def _field(name: str, one: Mapping[str, Json], other: Mapping[str, Json]) -> FieldDiff:
    before, after = entries(one.get(name)), entries(other.get(name))
    removed, added = _without(before, after), _without(after, before)
    return FieldDiff(name, removed, added, len(before) - len(removed))


def _without(some: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """``some`` less one of each of ``others``: an entry that stands twice is two entries."""
    left = list(others)
    out = []
    for entry in some:
        if entry in left:
            left.remove(entry)
        else:
            out.append(entry)
    return tuple(out)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json_text(value)
