"""Pins: values that never pass through a model and stand verbatim in one marked block.

The block stands at the head, where models see most. A pin that changes later is told at the tail
at once and enters the block at the next batch, so that it does not re-bill the whole window.
"""

from __future__ import annotations

from contextctl.core.count import json_text, message_parts
from contextctl.core.state import State
from contextctl.core.view import Piece
from contextctl.model.message import Json, Message
from contextctl.model.record import PinSet, TaskGiven

HEADING = {
    "en": "[pinned] These hold for the whole task:",
    "zh": "[固定] 以下内容在整个任务中始终有效：",
}


def task_pins(state: State, event: TaskGiven) -> None:
    """The constraints and pins a task starts with; they stand in the block from the first step."""
    for index, text in enumerate(event.constraints, start=1):
        state.pins[f"constraints.{index}"] = text
    for key, value in event.pins.items():
        state.pins[key] = _text(value)
    accept_pins(state)


def set_pin(state: State, event: PinSet) -> None:
    """Pin a value, replace it, or (with null) let it go."""
    if event.value is None:
        state.pins.pop(event.key, None)
    else:
        state.pins[event.key] = _text(event.value)


def accept_pins(state: State) -> None:
    """Rewrite the block with the pins as they are now; nothing happens when it says so already."""
    if state.pins == state.pins_shown:
        return
    state.pins_shown = dict(state.pins)
    view = state.view
    at = next((i for i, p in enumerate(view.pieces) if p.kind == "pins"), None)
    start, stop = (_block_place(state), _block_place(state)) if at is None else (at, at + 1)
    view.replace(start, stop, [_block(state)] if state.pins else [], "pins")


def pin_news(state: State) -> list[str]:
    """Pins that the block does not show yet, and those it shows that are gone."""
    shown = state.pins_shown
    lines = [f"{key}: {text}" for key, text in state.pins.items() if shown.get(key) != text]
    return lines + [f"{key}: no longer pinned" for key in shown if key not in state.pins]


def _block_place(state: State) -> int:
    """Right after the leading system messages."""
    pieces = state.view.pieces
    return next((i for i, p in enumerate(pieces) if p.kind != "system"), len(pieces))


def _block(state: State) -> Piece:
    lines = [HEADING[state.profile.shaping.locale]]
    lines += [f"- {key}: {text}" for key, text in state.pins.items()]
    message = Message(role="user", content="\n".join(lines))
    tokens = sum(message_parts(message, state.counter).values())
    return Piece(
        seq=state.seq,
        step=0,
        kind="pins",
        message=message.to_openai(),
        parts=(("history.pins", tokens),),
        event="pins",
    )


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json_text(value)
