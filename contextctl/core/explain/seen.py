"""What is known when a step is judged: the whole record, the step, and the steps before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from contextctl.model.ledger import LedgerReport
from contextctl.model.message import Json, JsonObject, Message, ToolCall
from contextctl.model.profile import Profile
from contextctl.model.record import Event, MessageAdded, ResultArrived, event_id


@dataclass(frozen=True, slots=True)
class Past:
    """One step that was walked: its number, total, zone, what broke its prefix, what it reduced.

    ``saved`` are the tokens that this step's own reductions took out of what stood before.
    """

    step: int
    total: int
    ratio: float
    status: str
    broke_at: str | None
    saved: int = 0


@dataclass(frozen=True, slots=True)
class Called:
    """A call and its result, if it has one. ``step`` is the turn it was made in."""

    step: int
    place: int
    call: ToolCall
    result: ResultArrived | None
    result_place: int


@dataclass(frozen=True)
class Seen:
    """A step in its record. ``at`` counts the events before it; later ones happened after it.

    ``messages`` is its window, empty when it does not fit.
    """

    profile: Profile
    events: Sequence[Event]
    at: int
    now: LedgerReport
    past: Sequence[Past] = ()
    messages: Sequence[JsonObject] = ()

    @cached_property
    def calls(self) -> tuple[Called, ...]:
        """Every call of the record, in order, with its result."""
        results = {
            event.call_id: (place, event)
            for place, event in enumerate(self.events)
            if isinstance(event, ResultArrived)
        }
        out = []
        for step, place, message in self.turns:
            for call in message.tool_calls:
                at, result = results.get(call.id, (-1, None))
                out.append(Called(step, place, call, result, at))
        return tuple(out)

    @cached_property
    def turns(self) -> tuple[tuple[int, int, Message], ...]:
        """Every assistant turn: its number from 1, its place, its message."""
        out: list[tuple[int, int, Message]] = []
        for place, event in enumerate(self.events):
            if isinstance(event, MessageAdded) and event.message.role == "assistant":
                out.append((len(out) + 1, place, event.message))
        return tuple(out)

    @cached_property
    def users(self) -> tuple[tuple[int, str], ...]:
        """Every user message before the step: its place and text."""
        return tuple(
            (place, event.message.text)
            for place, event in enumerate(self.events[: self.at])
            if isinstance(event, MessageAdded) and event.message.role == "user"
        )

    @property
    def before(self) -> Iterator[Called]:
        """The calls made before the step."""
        return (one for one in self.calls if one.place < self.at)

    @property
    def next_turn(self) -> Message | None:
        """What the agent answered to this step, where the record goes on."""
        return next((message for _, place, message in self.turns if place >= self.at), None)

    def share(self, *buckets: str) -> float:
        """The part of the window that ``buckets`` take."""
        taken = sum(self.now.buckets[bucket] for bucket in buckets)
        return taken / self.now.total if self.now.total else 0.0


def name_of(place: int) -> str:
    """The name of the event at a place (from 0)."""
    return event_id(place + 1)


def flat(value: Json) -> str:
    """Text for searching in."""
    return value if isinstance(value, str) else ""
