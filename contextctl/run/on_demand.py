"""Calls of tools on demand: a search is answered, a tool that was never loaded is not run."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from contextctl.core.tools.defer import CALL_TOOL, SEARCH_TOOL
from contextctl.core.tools.index import ToolIndex, blended, sentences, tool_text
from contextctl.core.tools.search import Found, OnDemand, answer_search, inner_call, not_loaded
from contextctl.core.tools.unknown import unknown_tool
from contextctl.io.models.embeddings import open_embedder
from contextctl.model.arguments import ArgumentsError
from contextctl.model.failure import ARGUMENTS, note_topic
from contextctl.model.message import JsonObject, ToolCall, ToolSpec
from contextctl.model.outcome import ToolOutcome
from contextctl.model.record import Event, Noted, ResultArrived, ToolsActivated
from contextctl.model.tool_rules import Defer

ACTIVATED = "activated"
FAILURE = "failure"
"""Keys in a result's ``extra``: the tools that it loads, the kind of failure that it is."""

_REASON_CHARS = 300


class ToolSearch:
    """The search of one task. Its index is built at the first search, and again for other tools."""

    def __init__(self, rule: Defer) -> None:
        self._rule = rule
        self._lock = threading.Lock()
        self._tools: Mapping[str, ToolSpec] | None = None
        self._index = ToolIndex(())
        self._vectors: list[Any] = []

    def answer(self, demand: OnDemand, arguments: str) -> Found:
        """Answer a call of ``tool_search``."""
        with self._lock:
            if self._tools is not demand.deferred:
                self._tools = demand.deferred
                self._index = ToolIndex(demand.deferred.values())
                texts = [tool_text(tool) for tool in self._index.tools]
                self._vectors = open_embedder().vectors(texts) if self._rule.embeddings else []
            index, vectors = self._index, self._vectors
        return answer_search(
            demand, partial(self._found, index, vectors), arguments, self._rule.top_k
        )

    def _found(
        self, index: ToolIndex, vectors: list[Any], question: str, limit: int
    ) -> tuple[ToolSpec, ...]:
        near = likeness(question, vectors) if self._rule.embeddings else None
        return index.search(question, limit, near)


def likeness(question: str, vectors: Sequence[Any]) -> list[float]:
    """How near each vector is to a question in meaning, as ``ToolIndex.search`` takes it."""
    embedder = open_embedder()
    whole, *parts = (embedder.likeness(one, vectors) for one in (question, *sentences(question)))
    return blended(whole, parts)


class ToolsOnDemand:
    """What one turn's calls may use. Built once a turn, so that calls at once see the same."""

    def __init__(self, demand: OnDemand, search: ToolSearch, offered: Sequence[str] = ()) -> None:
        self._demand = demand
        self._search = search
        self._offered = offered

    def target(self, call: ToolCall) -> ToolCall:
        """The call that is meant: the one inside ``call_tool``, else the call itself."""
        if call.name != CALL_TOOL or CALL_TOOL not in self._demand.own_tools:
            return call
        try:
            name, arguments = inner_call(call.arguments)
        except ArgumentsError:
            return call
        return ToolCall(call.id, name, arguments)

    def answer(self, call: ToolCall) -> ToolOutcome | None:
        """The outcome of a call that is answered here; None for one that a tool has to answer."""
        if call.name == SEARCH_TOOL and SEARCH_TOOL in self._demand.own_tools:
            return _outcome(self._search.answer(self._demand, call.arguments))
        if call.name == CALL_TOOL and CALL_TOOL in self._demand.own_tools:
            return _unread(call)
        if self._demand.unloaded(call.name):
            return _outcome(not_loaded(call.name))
        return None

    def unknown(self, call: ToolCall) -> ToolOutcome:
        """The outcome of a call of a tool that is not there."""
        return _outcome(unknown_tool(call.name, self._offered, self._demand))

    def offers(self, name: str) -> bool:
        """Whether the model could call it in this turn, or after a search."""
        return name in self._offered or name in self._demand.deferred


def consequences(result: ResultArrived) -> tuple[Event, ...]:
    """The facts that follow from a result: the tools it loads, and the failure that it is."""
    events: list[Event] = []
    names = result.extra.get(ACTIVATED)
    if isinstance(names, list) and names:
        events.append(ToolsActivated(tuple(map(str, names)), result.call_id))
    failure = result.extra.get(FAILURE)
    if isinstance(failure, str) and failure:
        body = {
            "failure": failure,
            "tool": result.name,
            "call_id": result.call_id,
            "reason": result.content[:_REASON_CHARS],
        }
        events.append(Noted(note_topic(failure), body))
    return tuple(events)


def _outcome(found: Found) -> ToolOutcome:
    failed = found.text.startswith("error:")
    extra: JsonObject = {ACTIVATED: [*found.names]} if found.names else {}
    return ToolOutcome(found.text, "error" if failed else "ok", extra=extra, failure=found.failure)


def _unread(call: ToolCall) -> ToolOutcome:
    """A call of ``call_tool`` that does not say which tool it means."""
    try:
        inner_call(call.arguments)
    except ArgumentsError as error:
        return ToolOutcome(f"error: {error}", "error", failure=ARGUMENTS)
    return ToolOutcome(f"error: '{CALL_TOOL}' cannot call itself", "error", failure=ARGUMENTS)
