"""What a model is told that calls a tool which is not there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from contextctl.core.tools.defer import SEARCH_TOOL
from contextctl.core.tools.search import Found, OnDemand
from contextctl.model.failure import INDEX
from contextctl.model.message import JsonObject

_SHOWN = 20


def names_of(tools: Sequence[JsonObject]) -> Iterator[str]:
    """The names of the functions in a tool array; a provider's own entries have none."""
    for tool in tools:
        function = tool.get("function")
        if isinstance(function, dict) and isinstance(name := function.get("name"), str):
            yield name


def unknown_tool(name: str, offered: Sequence[str], demand: OnDemand) -> Found:
    """The answer to a call of ``name``: what was probably meant among the tools that the window
    ``offered`` and those that wait, else what there is."""
    close = get_close_matches(name, [*offered, *demand.deferred], n=3)
    if close:
        meant = ", ".join(f"'{other}'" for other in close)
        return Found(f"error: there is no tool '{name}'; did you mean {meant}?", failure=INDEX)
    shown = ", ".join(offered[:_SHOWN]) or "(none)"
    left = len(offered) - _SHOWN
    more = f" and {left} more" if left > 0 else ""
    search = f"; {SEARCH_TOOL} finds others" if SEARCH_TOOL in demand.own_tools else ""
    text = f"error: there is no tool '{name}'; the tools are: {shown}{more}{search}"
    return Found(text, failure=INDEX)
