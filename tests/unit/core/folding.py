"""Small records for tests of the fold, and a counter whose numbers can be worked out by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from contextctl.core.assemble import Fold
from contextctl.model.assembly import Assembly
from contextctl.model.message import Message, ToolCall
from contextctl.model.profile import Profile, profile_from_mapping
from contextctl.model.record import Event, MessageAdded, Opened, ResultArrived, StepTaken


class Words:
    """One token a word: easy to count by hand."""

    name = "words"
    exact = True
    factor = 1.0

    def text(self, text: str) -> int:
        return len(text.split())


def profile(window: int = 1_000, **sections: Mapping[str, Any]) -> Profile:
    """A profile with no reserve and every result shown whole, unless a section says otherwise."""
    modes = {"safe": "full", "warn": "full", "danger": "full"}
    mapping: dict[str, Any] = {
        "version": 1,
        "model": {"name": "scripted/x", "window": window, "reserve_output": 0},
        "shaping": {"by_zone": modes},
        "workspace": {"tools": ["read_workspace"]},
        **sections,
    }
    return profile_from_mapping(mapping)


def turn(number: int, words: int = 20, tool: str = "bash") -> list[Event]:
    """One step: a call with two words of arguments and a result of ``words`` words."""
    call = ToolCall(f"c{number}", tool, f'{{"command": "step{number}"}}')
    return [
        MessageAdded(Message("assistant", None, (call,))),
        ResultArrived(call.id, tool, " ".join(["word"] * words)),
    ]


def user(text: str) -> Event:
    return MessageAdded(Message("user", text))


def opened() -> Event:
    return Opened("task", "s1", "00ff")


def steps(fold: Fold, events: Iterable[Event]) -> list[Assembly]:
    """Advance over ``events``, assembling before each assistant message; and once at the end."""
    out = []
    for event in events:
        if isinstance(event, MessageAdded) and event.message.role == "assistant":
            assembly = fold.assemble()
            out.append(assembly)
            fold.advance(StepTaken(assembly.ledger.step))
        fold.advance(event)
    out.append(fold.assemble())
    return out


def contents(assembly: Assembly) -> list[str]:
    """The text of every message."""
    return [str(message["content"]) for message in assembly.messages]
