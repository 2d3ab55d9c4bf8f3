"""What a subagent looked at: counted from its record, not from what it says of itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from contextctl.model.failure import ARGUMENTS
from contextctl.model.message import Json, ToolCall
from contextctl.model.own_sources import KNOWLEDGE, OWN_SOURCES, SUBAGENTS
from contextctl.model.record import MessageAdded, Record, ResultArrived, StepTaken, ToolsListed
from contextctl.model.subagent import SourceFailure

SourceOf = Callable[[ToolCall], str]
_LABEL_CHARS = 100
_ERROR_CHARS = 160
# A call that was refused or led nowhere is a slip of the model, not a source that failed.
_FAILURE = "failure"
_NOT_RUN = (ARGUMENTS, "discovery.")


@dataclass(frozen=True, slots=True)
class Coverage:
    """Sources that were asked, how many of them answered, and why the others did not."""

    attempted: int = 0
    succeeded: int = 0
    failures: tuple[SourceFailure, ...] = ()


def coverage(record: Record, source_of: SourceOf | None = None) -> Coverage:
    """The sources of the calls that were run. ``source_of`` names a call's source, ``""`` when it
    has none; by default each tool with each of its arguments is one. Reading back what is there
    already, and looking for a tool or a skill, is no source of anything."""
    name = source_of or call_source
    offered = _offered(record)
    tries: dict[str, list[ResultArrived]] = {}
    for call, result in _answered(record):
        source = name(call) if call.name in offered else ""
        if source and not str(result.extra.get(_FAILURE) or "").startswith(_NOT_RUN):
            tries.setdefault(source, []).append(result)
    failures = [
        SourceFailure(source, _error(results[-1]), len(results) - 1)
        for source, results in tries.items()
        if all(result.status != "ok" for result in results)
    ]
    return Coverage(len(tries), len(tries) - len(failures), tuple(failures))


def call_source(call: ToolCall) -> str:
    """``fetch(https://…)``: a tool and what it was asked for."""
    try:
        values: Json = json.loads(call.arguments or "{}")
    except ValueError:
        return f"{call.name}({call.arguments:.60})"
    given = values.values() if isinstance(values, dict) else [values]
    shown = ", ".join(
        one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in given
    )
    label = f"{call.name}({' '.join(shown.split())})"
    return label if len(label) <= _LABEL_CHARS else label[: _LABEL_CHARS - 2] + "…)"


def own_turns(record: Record) -> Iterator[MessageAdded]:
    """The turns the subagent itself took."""
    begun = False
    for event in record:
        begun = begun or isinstance(event, StepTaken)
        if begun and isinstance(event, MessageAdded) and event.message.role == "assistant":
            yield event


def _answered(record: Record) -> Iterator[tuple[ToolCall, ResultArrived]]:
    results = {event.call_id: event for event in record if isinstance(event, ResultArrived)}
    for turn in own_turns(record):
        for call in turn.message.tool_calls:
            result = results.get(call.id)
            if result is not None:  # it names the tool that was run, whatever it was called through
                yield replace(call, name=result.name or call.name), result


def _offered(record: Record) -> frozenset[str]:
    """The tools that lead outside: those of the profile, its servers, its own delegates."""
    inward = frozenset(OWN_SOURCES) - {KNOWLEDGE, SUBAGENTS}
    lists = [e for e in record if isinstance(e, ToolsListed) and e.source not in inward]
    return frozenset(spec.name for one in lists for spec in one.tools)


def _error(result: ResultArrived) -> str:
    text = " ".join(result.content.split()).removeprefix("error: ")
    if len(text) > _ERROR_CHARS:
        text = text[:_ERROR_CHARS].rstrip() + "…"
    return text or f"ended with status '{result.status}'"
