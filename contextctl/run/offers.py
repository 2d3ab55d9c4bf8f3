"""What may be called, as facts: the list of each source, again when it has changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from contextctl.io.mcp.missing import Missing
from contextctl.model.failure import note_topic
from contextctl.model.message import ToolSpec
from contextctl.model.own_sources import NOT_SERVERS
from contextctl.model.record import Noted, ToolsListed

Listed = Mapping[str, tuple[ToolSpec, ...]]


def lists(specs: Iterable[ToolSpec], allowed: Sequence[str] | None) -> list[ToolsListed]:
    """One list for each source, in the order in which the sources come.

    ``allowed`` are the names a task may call; None: all.
    """
    by_source: dict[str, list[ToolSpec]] = {}
    for spec in specs:
        if allowed is None or spec.name in allowed:
            by_source.setdefault(spec.source, []).append(spec)
    return [ToolsListed(source, tuple(tools)) for source, tools in by_source.items()]


def changed_lists(
    specs: Iterable[ToolSpec], allowed: Sequence[str] | None, known: Listed
) -> list[ToolsListed]:
    """The lists of servers that are not as ``known``; a server that lost all its tools has none.

    The profile's own tools cannot change while it runs.
    """
    now = {event.source: event for event in lists(specs, allowed) if event.source != "profile"}
    gone = [
        ToolsListed(source, ())
        for source, tools in known.items()
        if tools and source not in now and source not in NOT_SERVERS
    ]
    return [event for event in now.values() if _differ(event.tools, known.get(event.source))] + gone


def missing_notes(missing: Iterable[Missing]) -> list[Noted]:
    """What could not be offered, as discovery failures."""
    return [
        Noted(
            note_topic(one.failure),
            {
                "failure": one.failure,
                "server": one.server,
                "tool": one.tool,
                "call_id": "",
                "reason": one.reason,
            },
        )
        for one in missing
    ]


def _differ(now: Sequence[ToolSpec], known: Sequence[ToolSpec] | None) -> bool:
    return known is None or [s.to_openai() for s in now] != [s.to_openai() for s in known]
