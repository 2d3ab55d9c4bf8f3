"""Facts about the surroundings: the session, the environment, the tools on offer, reminders."""

from __future__ import annotations

from contextctl.core.fold.prefix import refresh_layers
from contextctl.core.fold.state import State
from contextctl.model.own_sources import MEMORY
from contextctl.model.record import EnvironmentRead, IndexRead, Opened, ToolsListed


def opened(state: State, event: Opened) -> None:
    """The session whose key makes this record's refs."""
    state.task, state.session, state.key = event.task, event.session, event.key


def environment_read(state: State, event: EnvironmentRead) -> None:
    """The first reading enters its layer; later ones are told at the tail until the next batch."""
    state.environment.update(event.values)
    if not state.environment_shown:
        state.environment_shown = dict(state.environment)
        refresh_layers(state)


def tools_listed(state: State, event: ToolsListed) -> None:
    """What a source offers now. The array is rebuilt when the step is settled."""
    state.listed[event.source] = event.tools
    state.tools_dirty = True


def index_read(state: State, event: IndexRead) -> None:
    """The first reading of an index enters its layer; later ones wait for the next batch.

    A memory that was deleted or corrected leaves its layer at once, whatever that costs.
    """
    state.indexes[event.source] = event.entries
    shown = state.indexes_shown.get(event.source)
    gone = event.source == MEMORY and any(one not in event.entries for one in shown or ())
    if shown is None or gone:
        state.indexes_shown[event.source] = event.entries
        refresh_layers(state)
