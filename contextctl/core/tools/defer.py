"""Which tool schemas stand in every window, and which wait until they are searched for.

Counts decide, whatever the window (SPEC D3): a server with more than ``per_server`` tools is
deferred, and with more than ``total`` tools in all every server is. The few tools that a profile
declares itself stay; they are deferred with the others only when they too are more than
``per_server``. Tools that a trace or a task brings are never deferred: they are called there
without a search.

A server may change its list while it is used. What the model has seen does not turn round then: a
source that was deferred stays so, and a tool that stood in a window stands on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from types import MappingProxyType

from contextctl.model.message import ToolSpec
from contextctl.model.own_sources import NOT_SERVERS
from contextctl.model.tool_rules import Defer

SEARCH_TOOL = "tool_search"
CALL_TOOL = "call_tool"

OWN = "profile"
"""The source of tools that the profile says how to run."""
_NEVER = NOT_SERVERS - {OWN}

PER_SERVER = "/defer/per_server"
TOTAL = "/defer/total"


@dataclass(frozen=True, slots=True)
class Split:
    """``resident`` and ``deferred`` tools by name, each in the order given; ``why`` gives for each
    deferred source the JSON pointer of the count that it exceeded."""

    resident: Mapping[str, ToolSpec] = field(default_factory=dict)
    deferred: Mapping[str, ToolSpec] = field(default_factory=dict)
    why: Mapping[str, str] = field(default_factory=dict)


def split(
    listed: Mapping[str, Sequence[ToolSpec]],
    rule: Defer,
    *,
    enabled: bool,
    waiting: Mapping[str, str] = MappingProxyType({}),
    standing: Collection[str] = (),
) -> Split:
    """Decide for every tool of ``listed`` (by source). Of two with one name the first counts.

    ``waiting`` are the sources deferred so far, as in ``Split.why``; ``standing`` the names of
    tools that a window has shown as resident.
    """
    on = enabled and rule.via != "off"
    why = {**_deferred_sources(listed, rule), **waiting} if on else {}
    names = {spec.name for tools in listed.values() for spec in tools}
    if names & {SEARCH_TOOL, CALL_TOOL}:
        why = {}  # somebody else's search is at work here
    resident: dict[str, ToolSpec] = {}
    deferred: dict[str, ToolSpec] = {}
    for source, tools in listed.items():
        for spec in tools:
            if spec.name in resident or spec.name in deferred:
                continue
            kept = spec.name in standing or _is_kept(spec.name, rule.always)
            stays = source not in why or kept
            (resident if stays else deferred)[spec.name] = spec
    return Split(resident, deferred, {s: p for s, p in why.items() if _has(deferred, s)})


def _deferred_sources(listed: Mapping[str, Sequence[ToolSpec]], rule: Defer) -> dict[str, str]:
    counts = {source: len(tools) for source, tools in listed.items() if source not in _NEVER}
    over = sum(counts.values()) > rule.total
    why: dict[str, str] = {}
    for source, count in counts.items():
        large = count > rule.per_server
        if large and source != OWN:
            why[source] = PER_SERVER
        elif over and (large or source != OWN):
            why[source] = TOTAL
    return why


def _is_kept(name: str, always: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in always)


def _has(deferred: Mapping[str, ToolSpec], source: str) -> bool:
    return any(spec.source == source for spec in deferred.values())
