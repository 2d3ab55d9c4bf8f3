"""Long-term memory: what may be written, what is kept, what was read, and what was changed.

Times are ISO 8601 in UTC (``2026-03-07T10:00:00+00:00``): they sort as texts. A subject is
``user:<id>`` or ``tenant:<id>``; nothing of one subject is ever read for another.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import cast

from contextctl.model.message import JsonObject

KINDS = ("preference", "fact", "constraint", "lesson")

CURRENT, HELD = "current", "held"
"""States of a memory: it is recalled, or it waits for somebody to confirm it."""

STORE, HOLD, REFUSE = "store", "hold", "refuse"
"""What a gate decides."""

REFUSALS = ("not_stable", "low_confidence", "sensitive", "no_subject")

DAY = 86_400
"""Seconds that a session's memory lives at most."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that may be remembered.

    ``key`` names the slot it fills, so that a later value replaces it; empty, it is made from the
    text. ``source`` says who said it: ``user`` (in this conversation), ``person`` (by hand, on the
    command line), ``tool:<name>``, ``page:<address>`` or ``model``. ``turn`` is the event it came
    from. ``session`` makes it session memory, seen in that session only and for at most a day.
    """

    text: str
    kind: str = "fact"
    key: str = ""
    subject: str = ""
    confidence: float = 1.0
    source: str = "user"
    turn: str = ""
    ttl_days: float | None = None
    session: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gates say of a candidate: ``store``, ``hold`` or ``refuse``, and why.

    ``code`` is ``ok``, ``unconfirmed`` (held) or one of ``REFUSALS``.
    """

    outcome: str
    code: str = "ok"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory as it is kept. ``hits`` counts recalls, ``bad`` complaints about it.

    ``expires_at`` is empty when it does not expire.
    """

    id: str
    subject: str
    kind: str
    key: str
    text: str
    confidence: float = 1.0
    source: str = "user"
    turn: str = ""
    session: str = ""
    state: str = CURRENT
    created_at: str = ""
    updated_at: str = ""
    expires_at: str = ""
    hits: int = 0
    bad: int = 0

    def to_json(self) -> JsonObject:
        """The memory as a JSON object."""
        return cast("JsonObject", asdict(self))


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a candidate: ``added``, ``changed``, ``same``, ``held`` or ``refused``.

    ``id`` is the memory it is now, empty for a refused one.
    """

    outcome: str
    id: str = ""
    code: str = "ok"
    reason: str = ""

    def to_json(self) -> JsonObject:
        """The outcome as a JSON object, without what is empty."""
        return {key: value for key, value in cast("JsonObject", asdict(self)).items() if value}


@dataclass(frozen=True, slots=True)
class Change:
    """One line of the audit: who did what to which memory, and when.

    ``before`` and ``after`` are texts; both are emptied, in every line of it, when the memory is
    forgotten. ``code`` is the refusal of a refused candidate, whose text is never kept.
    """

    number: int
    at: str
    action: str
    memory_id: str
    subject: str
    kind: str = ""
    key: str = ""
    by: str = ""
    code: str = ""
    before: str = ""
    after: str = ""

    def to_json(self) -> JsonObject:
        """The change as a JSON object."""
        return cast("JsonObject", asdict(self))


@dataclass(frozen=True, slots=True)
class Recalled:
    """A memory found for a question. ``relevance`` is from 0 to 1, ``score`` what it is sorted by
    (relevance, less its age and complaints)."""

    memory: Memory
    relevance: float
    score: float
