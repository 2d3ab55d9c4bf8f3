"""What an audit says: compactions with their time, how they shrink, what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from contextctl.model.audit import Compaction
from contextctl.model.message import Json, JsonObject


@dataclass(frozen=True, slots=True)
class Audited:
    """A compaction as it stands in the audit table. ``created_at`` is UTC, in ISO 8601 with
    microseconds and a ``Z``: the order of the texts is the order of the times."""

    compaction: Compaction
    created_at: str

    def to_json(self) -> JsonObject:
        """The compaction's fields, its ratio and its time."""
        return {
            **self.compaction.to_json(),
            "ratio": round(self.compaction.ratio, 4),
            "created_at": self.created_at,
        }


@dataclass(frozen=True, slots=True)
class Ratios:
    """How the last committed compactions shrank what they replaced (after / before).

    ``flag`` is ``wordy`` when the median is above 0.6, ``losing`` when it is below 0.1, else empty.
    """

    count: int
    lowest: float
    median: float
    highest: float
    flag: str = ""

    def to_json(self) -> JsonObject:
        """The distribution as a JSON object."""
        return {
            "count": self.count,
            "lowest": round(self.lowest, 4),
            "median": round(self.median, 4),
            "highest": round(self.highest, 4),
            "flag": self.flag,
        }


@dataclass(frozen=True, slots=True)
class AuditList:
    """A run's rows, newest first, and their ratios. ``store`` is its name without a password."""

    store: str
    rows: tuple[Audited, ...]
    ratios: Ratios | None

    def to_json(self) -> JsonObject:
        """The list as a JSON object."""
        return {
            "store": self.store,
            "compactions": [row.to_json() for row in self.rows],
            "ratios": None if self.ratios is None else self.ratios.to_json(),
        }


@dataclass(frozen=True, slots=True)
class FieldDiff:
    """One field of two summaries: entries that only one of them has. A changed entity is in both,
    as ``name: value``."""

    field: str
    removed: tuple[str, ...]
    added: tuple[str, ...]
    kept: int

    def to_json(self) -> JsonObject:
        """The difference as a JSON object."""
        return {
            "field": self.field,
            "removed": list(self.removed),
            "added": list(self.added),
            "kept": self.kept,
        }


@dataclass(frozen=True, slots=True)
class SummaryDiff:
    """What the summary of ``second`` says that ``first`` does not, and the other way round."""

    first: Audited
    second: Audited
    fields: tuple[FieldDiff, ...]

    @property
    def is_same(self) -> bool:
        """Whether both summaries have the same entries."""
        return not any(one.removed or one.added for one in self.fields)

    def to_json(self) -> JsonObject:
        """The difference as a JSON object."""
        about: Mapping[str, Json] = {
            name: {
                "compaction_id": one.compaction.compaction_id,
                "generation": one.compaction.generation,
                "event_from": one.compaction.event_from,
                "event_to": one.compaction.event_to,
                "created_at": one.created_at,
            }
            for name, one in (("first", self.first), ("second", self.second))
        }
        return {**about, "fields": [one.to_json() for one in self.fields]}


@dataclass(frozen=True, slots=True)
class AuditFault:
    """Something that does not hold about one compaction; ``kind`` is one of

    ``missing`` (the record implies it, no row has it), ``unknown`` (a row the record does not
    imply), ``differs`` (a field is not what folding the record gives), ``raw_gone`` (the raw text
    cannot be read back) and ``raw_differs`` (it lacks the text of an event it should hold).
    """

    compaction_id: str
    thread_id: str
    kind: str
    message: str

    def __str__(self) -> str:
        return f"{self.thread_id} {self.compaction_id}: {self.kind}: {self.message}"

    def to_json(self) -> JsonObject:
        """The fault as a JSON object."""
        return {
            "compaction_id": self.compaction_id,
            "thread_id": self.thread_id,
            "kind": self.kind,
            "message": self.message,
        }


@dataclass(frozen=True, slots=True)
class AuditChecked:
    """The outcome of a verification: how many rows and events were looked at, and what is wrong."""

    store: str
    rows: int
    events: int
    faults: tuple[AuditFault, ...]

    def to_json(self) -> JsonObject:
        """The outcome as a JSON object."""
        return {
            "store": self.store,
            "rows": self.rows,
            "events": self.events,
            "verified": not self.faults,
            "faults": [fault.to_json() for fault in self.faults],
        }
