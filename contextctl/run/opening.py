"""The first facts of a task: its session, its surroundings, what it asks, what it may call."""

from __future__ import annotations

from collections.abc import Iterable

from contextctl.core.tools.result_pins import with_pins
from contextctl.core.trace_events import trace_events
from contextctl.io.mcp.missing import Missing
from contextctl.io.runs.environment import read_environment
from contextctl.model.message import ToolSpec
from contextctl.model.profile import Profile
from contextctl.model.record import (
    EnvironmentRead,
    Event,
    MessageAdded,
    Noted,
    Opened,
    Record,
    RetrievedAdded,
    TaskGiven,
    ToolsListed,
)
from contextctl.model.task import Task
from contextctl.model.trace import Trace
from contextctl.run.offers import lists, missing_notes
from contextctl.version import __version__

GIVEN = "given"
"""The topic of the note with a task's digest: a record is continued only for the same task."""


def opening_events(
    profile: Profile,
    task: Task,
    specs: Iterable[ToolSpec],
    session: tuple[str, str],
    missing: Iterable[Missing] = (),
) -> list[Event]:
    """The facts before the first step. ``specs`` are the tools of the profile and its servers,
    ``missing`` what these should offer and do not; a session is its name and its key."""
    events: list[Event] = [
        Opened(task.id, *session, version=__version__),
        Noted(GIVEN, {"digest": task.digest}),
    ]
    readings = read_environment(declared_readings(profile))
    if readings:
        events.append(EnvironmentRead(readings))
    events.append(TaskGiven(task.input, task.constraints, task.pins))
    events += lists(specs, task.tools)
    events += missing_notes(missing)
    if task.tool_specs:
        events.append(ToolsListed("task", task.tool_specs))
    said = list(with_pins(profile, trace_events(Trace(task.id, task.messages))))
    if task.retrieved:
        said.insert(_question_place(said), RetrievedAdded(task.retrieved))
    return events + said


def declared_readings(profile: Profile) -> tuple[str, ...]:
    """The environment readings the profile's layers name, each once."""
    return tuple(dict.fromkeys(name for layer in profile.prefix for name in layer.environment))


def given_digest(record: Record) -> str:
    """The digest of the task a record belongs to; empty when the record does not say."""
    for event in record[:4]:
        if isinstance(event, Noted) and event.topic == GIVEN:
            return str(event.body.get("digest") or "")
    return ""


def _question_place(said: list[Event]) -> int:
    """Passages stand right before the question they were found for: the last user message."""
    for place in range(len(said) - 1, -1, -1):
        event = said[place]
        if isinstance(event, MessageAdded) and event.message.role == "user":
            return place
    return len(said)
