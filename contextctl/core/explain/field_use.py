"""Which fields of a tool's results the agent used: what it said or called later holds their value.

This is evidence, not proof: a field nothing was done with may still have been read. So a field is
only called unused where it had a telling value (long enough to be recognised) and many chances.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from contextctl.core.reading.exact_json import Number, dump_exact
from contextctl.core.shaping import unwrapped
from contextctl.core.shaping.items import find_items
from contextctl.core.shaping.parsed import records_in
from contextctl.core.shaping.select import field_paths, path_steps
from contextctl.model.message import Json
from contextctl.model.record import Event, MessageAdded, ResultArrived

TELLING_CHARS = (4, 120)
"""Shorter text occurs by chance, longer text is never repeated as it stands."""
TELLING_NUMBER = 100
_VALUES = 400
"""Values looked at for one field of one tool: enough evidence, bounded work."""
_ROWS, _FIELDS, _SHARE = 5, 4, 0.25
_NAMED_BY_DATA = re.compile(r"\d{3}")
"""A key with a number in it is a value: it names one record and no field of all of them."""
_IDENTITY = (
    "id",
    "name",
    "key",
    "uuid",
    "code",
    "total",
    "count",
    "cursor",
    "next",
    "more",
    "error",
)


@dataclass(slots=True)
class FieldUse:
    """One field of a tool's records. ``used`` says where its value stood later (``step 7``,
    empty: nowhere); ``telling`` how many values could have been recognised; ``chars`` its size."""

    path: str
    used: str = ""
    telling: int = 0
    chars: int = 0


@dataclass(slots=True)
class ToolUse:
    """The results of one tool that are records: how many rows they held, and their fields."""

    tool: str
    results: int = 0
    rows: int = 0
    largest_list: int = 0
    chars: int = 0
    fields: dict[str, FieldUse] = field(default_factory=dict)

    @property
    def kept(self) -> tuple[FieldUse, ...]:
        """Fields that were used, or that say which record it is."""
        return tuple(one for one in self.fields.values() if one.used or is_identity(one.path))

    @property
    def unused(self) -> tuple[FieldUse, ...]:
        """Fields that had telling values, none of which occurs later, largest first."""
        gone = (one for one in self.fields.values() if one.telling and not one.used)
        return tuple(sorted((f for f in gone if not is_identity(f.path)), key=lambda f: -f.chars))

    @property
    def unused_share(self) -> float:
        """The part of the results' characters that the unused fields take."""
        return sum(one.chars for one in self.unused) / self.chars if self.chars else 0.0

    @property
    def is_evidence(self) -> bool:
        """Whether there is enough of it to offer a whitelist: rows, fields, and some use."""
        return (
            self.rows >= _ROWS
            and len(self.fields) >= _FIELDS
            and self.unused_share >= _SHARE
            and any(one.used for one in self.kept)
        )

    def joined(self, other: ToolUse) -> ToolUse:
        """What two records show together: used in one of them is used."""
        both = ToolUse(
            self.tool,
            self.results + other.results,
            self.rows + other.rows,
            max(self.largest_list, other.largest_list),
            self.chars + other.chars,
        )
        for one in (*self.fields.values(), *other.fields.values()):
            known = both.fields.setdefault(one.path, FieldUse(one.path))
            known.used = known.used or one.used
            known.telling += one.telling
            known.chars += one.chars
        return both


def is_identity(path: str) -> bool:
    """Whether a field names a record or says how much there is: never offered for removal."""
    last = path.rpartition(".")[2].strip('"[]').lower()
    return last.endswith(_IDENTITY) or last.startswith("id")


def field_uses(events: Sequence[Event]) -> dict[str, ToolUse]:
    """Every tool of a record that answered with records, and what was done with their fields."""
    spoken = _spoken(events)
    tools: dict[str, ToolUse] = {}
    for place, event in enumerate(events):
        if not isinstance(event, ResultArrived) or event.status != "ok" or not event.name:
            continue
        later = [(step, text) for at, step, text in spoken if at > place]
        found = list(_rows(event.content))
        if found:
            use = tools.setdefault(event.name, ToolUse(event.name))
            use.results += 1
            use.rows += len(found)
            use.largest_list = max(use.largest_list, len(found))
            use.chars += len(event.content)
            _look(use, found, later)
    return tools


def _spoken(events: Sequence[Event]) -> list[tuple[int, int, str]]:
    """What the agent said and called: the event's place, the step, the text."""
    out: list[tuple[int, int, str]] = []
    for place, event in enumerate(events):
        if isinstance(event, MessageAdded) and event.message.role == "assistant":
            calls = " ".join(f"{c.name} {c.arguments}" for c in event.message.tool_calls)
            out.append((place, len(out) + 1, f"{event.message.text} {calls}"))
    return out


def _rows(content: str) -> Iterator[dict[str, Json]]:
    """The records of a result: the objects of its list, or the one object it is."""
    records = records_in(unwrapped(content))
    if records is None:
        return
    items = find_items(records.root, only_records=True)
    if items is not None and 2 * len(dump_exact(items.rows)) > len(dump_exact(records.root)):
        yield from (row for row in items.rows if isinstance(row, dict))
    elif isinstance(records.root, dict):
        yield records.root


def _look(use: ToolUse, rows: Sequence[dict[str, Json]], later: Sequence[tuple[int, str]]) -> None:
    for row in rows:
        for path in field_paths(row):
            if _NAMED_BY_DATA.search(path):
                continue
            one = use.fields.setdefault(path, FieldUse(path))
            for value in _leaves(row, path_steps(path)):
                text = value if isinstance(value, str) else str(value)
                one.chars += len(text) + len(path)
                if one.used or one.telling >= _VALUES or not _is_telling(value):
                    continue
                one.telling += 1
                one.used = next((f"step {step}" for step, said in later if text in said), "")


def _is_telling(value: Json) -> bool:
    if isinstance(value, Number):
        return abs(float(value)) >= TELLING_NUMBER
    low, high = TELLING_CHARS
    return isinstance(value, str) and low <= len(value) <= high


def _leaves(value: Json, steps: Sequence[str | int | None]) -> Iterator[Json]:
    """The scalars below a path; a list on the way is walked through."""
    if isinstance(value, list):
        for item in value:
            yield from _leaves(item, steps)
    elif not steps:
        if value is not None and not isinstance(value, dict):
            yield value
    elif isinstance(value, dict) and isinstance(steps[0], str):
        yield from _leaves(value.get(steps[0]), steps[1:])
