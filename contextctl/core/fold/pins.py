"""Pins: values that never pass through a model and stand verbatim in one marked block.

The block stands at the head, where models see most. A pin that changes later is told at the tail
at once and enters the block at the next batch, so that it does not re-bill the whole window. Live
ones, which change from step to step, stand at the tail only.
"""

from __future__ import annotations

from contextctl.core.count import json_text, message_parts
from contextctl.core.fold.state import State
from contextctl.core.fold.view import Piece
from contextctl.model.message import Json, Message
from contextctl.model.record import PinSet, TaskGiven

LIVE = ("todo", "open_tool_calls")
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
    state.pin_sources.update(dict.fromkeys(state.pins, "task"))
    accept_pins(state)


def set_pin(state: State, event: PinSet) -> None:
    """Pin a value, replace it, or (with null) let it go."""
    if event.value is None:
        state.pins.pop(event.key, None)
    else:
        state.pins[event.key] = _text(event.value)
        state.pin_sources[event.key] = event.source


def accept_pins(state: State) -> None:
    """Rewrite the block with the pins as they are now; nothing happens when it says so already."""
    stable = {key: text for key, text in state.pins.items() if not is_live(key)}
    if stable == state.pins_shown:
        return
    state.pins_shown = stable
    view = state.view
    at = next((i for i, p in enumerate(view.pieces) if p.kind == "pins"), None)
    start, stop = (_block_place(state), _block_place(state)) if at is None else (at, at + 1)
    view.replace(start, stop, [_block(state)] if stable else [], "pins")


def pins_behind_system(state: State) -> None:
    """A block that was written before a leading system message came stands behind it."""
    pieces = state.view.pieces
    if [piece.kind for piece in pieces[-2:]] == ["pins", "system"]:
        state.view.replace(len(pieces) - 2, len(pieces), [pieces[-1], pieces[-2]])


def pin_news(state: State) -> list[str]:
    """Pins that the block does not show yet, and those it shows that are gone."""
    shown = state.pins_shown
    lines = [f"{key}: {text}" for key, text in state.pins.items() if shown.get(key) != text]
    return lines + [f"{key}: no longer pinned" for key in shown if key not in state.pins]


def missing_pins(state: State) -> list[str]:
    """Pins that do not stand exactly once, verbatim, in the block and the tail together."""
    blocks = [str(p.message.get("content")) for p in state.view.pieces if p.kind == "pins"]
    tail = [str(state.tail[0].get("content"))] if state.tail else []
    shown = "\n".join(["", *blocks, *tail, ""])
    return [key for key, text in state.pins.items() if shown.count(f"\n- {key}: {text}\n") != 1]


def is_live(key: str) -> bool:
    """Whether a pin belongs to those that stand at the tail."""
    return key.partition(".")[0] in LIVE


def _block_place(state: State) -> int:
    """Right after the leading system messages."""
    pieces = state.view.pieces
    return next((i for i, p in enumerate(pieces) if p.kind != "system"), len(pieces))


def _block(state: State) -> Piece:
    lines = [HEADING[state.profile.shaping.locale]]
    lines += [f"- {key}: {text}" for key, text in state.pins_shown.items()]
    message = Message(role="user", content="\n".join(lines))
    tokens = sum(message_parts(message, state.counter).values())
    return Piece(
        seq=state.at,
        step=0,
        kind="pins",
        message=message.to_openai(),
        parts=(("history.pins", tokens),),
        event="pins",
    )


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json_text(value)
