"""What a call of a tool that the run itself answers comes to."""

from __future__ import annotations

from dataclasses import dataclass

from contextctl.model.message import JsonObject
from contextctl.model.record import Event


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to a call, and the facts that come with it."""

    answer: JsonObject
    facts: tuple[Event, ...] = ()
