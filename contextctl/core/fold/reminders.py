"""Reminders: what a step should know and no message holds, in slots with a key each (SPEC S1).

A source overwrites its own slot and no other. Slots are read when a step is settled and stand at
the tail; they never become messages. A ``once:`` slot is gone when the model has answered a window
that showed it: that answer is a fact, so a run that goes on after a crash delivers it neither twice
nor not at all. A reminder asks; what is allowed is decided by the runtime, whatever it says.
"""

from __future__ import annotations

from contextctl.core.fold.state import State
from contextctl.model.record import SlotDelivered, SlotSet

ONCE = "once:"


def slot_set(state: State, event: SlotSet) -> None:
    """A source overwrites its own slot and no other; an empty text clears it."""
    state.slots[event.key] = event.text
    state.delivered.discard(event.key)


def slots_delivered(state: State, event: SlotDelivered) -> None:
    """The run says what the answer before it has shown already."""
    _let_go(state, event.keys)


def window_sent(state: State) -> None:
    """The tail was sent: its ``once:`` slots are delivered when the model answers."""
    state.once_shown = due_once(state)


def window_answered(state: State) -> None:
    """The model answered the window sent last."""
    _let_go(state, state.once_shown)
    state.once_shown = ()


def due_once(state: State) -> tuple[str, ...]:
    """The ``once:`` slots that stand in the tail as it is now."""
    if state.tail is None or state.zone == "overflow":
        return ()
    return tuple(key for key in _slots(state) if key.startswith(ONCE))


def reminder_lines(state: State) -> list[str]:
    """One line for each slot that has a text: the profile's in their order, then others by key."""
    return [f"- {text}" for text in _slots(state).values()]


def _slots(state: State) -> dict[str, str]:
    """The texts that hold now. A profile's slot is replaced by a later text under its key."""
    own = state.profile.reminders
    late = {key: state.slots[key] for key in sorted(state.slots) if key not in own}
    texts = {key: state.slots.get(key, text) for key, text in own.items()} | late
    return {key: text for key, text in texts.items() if text and key not in state.delivered}


def _let_go(state: State, keys: tuple[str, ...]) -> None:
    for key in keys:
        if key.startswith(ONCE):
            state.slots.pop(key, None)
            if key in state.profile.reminders:
                state.delivered.add(key)
