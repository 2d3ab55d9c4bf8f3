"""The tools that wait to be searched for at a step, as the record tells."""

from __future__ import annotations

from contextctl.core.explain.seen import Seen
from contextctl.model.message import ToolSpec
from contextctl.model.record import ToolsActivated, ToolsListed


def waiting_tools(seen: Seen) -> dict[str, ToolSpec]:
    """Tools of deferred sources that no search has loaded before the step, by name."""
    sources = {action.target for action in seen.now.actions if action.kind == "defer"}
    listed: dict[str, dict[str, ToolSpec]] = {}
    loaded: set[str] = set()
    for event in seen.events[: seen.at]:
        if isinstance(event, ToolsListed) and event.source in sources:
            listed[event.source] = {tool.name: tool for tool in event.tools}
        elif isinstance(event, ToolsActivated):
            loaded |= set(event.names)
    return {
        name: tool
        for tools in listed.values()
        for name, tool in tools.items()
        if name not in loaded
    }
