"""``tool_search`` and ``call_tool``: how a model finds a deferred tool, and what it is answered."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from contextctl.core.tools.defer import CALL_TOOL, OWN, SEARCH_TOOL
from contextctl.model.arguments import ArgumentsError, read_arguments
from contextctl.model.failure import ARGUMENTS, LOAD, QUERY
from contextctl.model.message import Json, JsonObject, ToolSpec

_NAMES_CHARS = 1_500
"""Names of deferred tools stand in the description of ``tool_search`` up to this length."""
_ABOUT_CHARS = 200
_MOST_FOUND = 20
_SCHEMA_CHARS = 12_000
"""Schemas in one answer of a search, where they are answered: about 3,000 tokens."""
_MOST_QUERY = 2_000

Search = Callable[[str, int], Sequence[ToolSpec]]


@dataclass(frozen=True, slots=True)
class OnDemand:
    """The tools on demand as they stand: ``deferred`` by name, and which of them are ``loaded``.

    ``by_call``: a loaded tool is called through ``call_tool``. ``native``: the provider searches.
    """

    deferred: Mapping[str, ToolSpec]
    loaded: frozenset[str] = frozenset()
    by_call: bool = False
    native: bool = False

    @property
    def own_tools(self) -> frozenset[str]:
        """Names of the tools that are answered here."""
        if not self.deferred or self.native:
            return frozenset()
        return frozenset({SEARCH_TOOL, CALL_TOOL} if self.by_call else {SEARCH_TOOL})

    def unloaded(self, name: str) -> bool:
        """Whether ``name`` is a tool that has to be searched for before it is called."""
        return name in self.deferred and name not in self.loaded


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to a search: its text for the model, the tools it loads, the kind of failure."""

    text: str
    names: tuple[str, ...] = ()
    failure: str = ""


def search_specs(deferred: Mapping[str, ToolSpec], *, by_call: bool) -> tuple[ToolSpec, ...]:
    """The schemas of ``tool_search`` and, where tools are called through it, ``call_tool``."""
    then = f"call them with {CALL_TOOL}" if by_call else "the tools found can be called next"
    search = _spec(
        SEARCH_TOOL,
        f"Find tools that are not listed here, by what they do; {then}. {_index(deferred)}",
        {"query": {"type": "string", "description": "what the tool should do, or its name"},
         "limit": {"type": "integer"}},
        ["query"],
    )  # fmt: skip
    if not by_call:
        return (search,)
    call = _spec(
        CALL_TOOL,
        f"Call a tool that {SEARCH_TOOL} found.",
        {"name": {"type": "string"}, "arguments": {"type": "object"}},
        ["name", "arguments"],
    )
    return search, call


def answer_search(demand: OnDemand, search: Search, arguments: str, top_k: int) -> Found:
    """Answer a call of ``tool_search`` by ``search``, which gives the best tools for a question.

    Wrong arguments are an answer, never an error.
    """
    try:
        given = read_arguments(arguments)
    except ArgumentsError as error:
        return Found(f"error: {error}", failure=ARGUMENTS)
    query = given.get("query")
    if not isinstance(query, str) or not query.strip():
        return Found("error: 'query' must say what the tool should do", failure=ARGUMENTS)
    asked = given.get("limit")
    whole = isinstance(asked, int) and not isinstance(asked, bool)
    limit = min(max(asked, 1), _MOST_FOUND) if whole and isinstance(asked, int) else top_k
    found = search(query[:_MOST_QUERY], limit)
    if not found:
        hint = f"nothing matches; say it in other words. {_index(demand.deferred)}"
        answer: JsonObject = {"returned": 0, "searched": len(demand.deferred), "hint": hint}
        return Found(_json(answer), failure=QUERY)
    shown, left = _shown(found, schemas=demand.by_call)
    hint = f"call them with {CALL_TOOL}" if demand.by_call else "these tools can be called now"
    if left:
        hint += f"; {left} more would not fit here: search for them by name"
    answer = {
        "returned": len(shown),
        "searched": len(demand.deferred),
        "tools": [*shown],
        "hint": hint,
    }
    return Found(_json(answer), tuple(spec.name for spec in found[: len(shown)]))


def inner_call(arguments: str) -> tuple[str, str]:
    """The name and the arguments inside a call of ``call_tool``.

    Raises ``ArgumentsError`` when they cannot be read.
    """
    given = read_arguments(arguments)
    name, inner = given.get("name"), given.get("arguments", {})
    if not isinstance(name, str) or not name:
        raise ArgumentsError(f"missing 'name': the tool that {CALL_TOOL} should call")
    return name, inner if isinstance(inner, str) else json.dumps(inner, ensure_ascii=False)


def not_loaded(name: str) -> Found:
    """The answer to a call of a tool whose schema the model has not seen."""
    text = (
        f"error: '{name}' is not loaded: use {SEARCH_TOOL} to get its schema, then call it; "
        "it was not run"
    )
    return Found(text, failure=LOAD)


def _spec(name: str, about: str, properties: JsonObject, required: Sequence[str]) -> ToolSpec:
    schema: JsonObject = {"type": "object", "properties": properties, "required": [*required]}
    return ToolSpec(name, about, schema, source="contextctl")


def _index(deferred: Mapping[str, ToolSpec]) -> str:
    """One line that says what there is to find: names as far as they fit, else counts."""
    by_source: dict[str, list[str]] = {}
    for spec in deferred.values():
        by_source.setdefault(spec.source, []).append(spec.name)
    lines = []
    for source, names in by_source.items():
        head = "" if source == OWN else f"{source}: "
        lines.append(head + ", ".join(names))
    text = "; ".join(lines)
    if len(text) <= _NAMES_CHARS:
        return f"There are {text}."
    counts = (
        f"{'own tools' if source == OWN else source} ({len(names)})"
        for source, names in by_source.items()
    )
    text = ", ".join(counts)
    cut = text if len(text) <= _NAMES_CHARS else text[:_NAMES_CHARS].rpartition(", ")[0] + " …"
    return f"There are {len(deferred)} tools: {cut}."


def _shown(found: Sequence[ToolSpec], *, schemas: bool) -> tuple[list[Json], int]:
    """The tools of an answer, with their schemas as far as they fit, and how many do not."""
    shown: list[Json] = []
    room = _SCHEMA_CHARS
    for spec in found:
        entry: JsonObject = {"name": spec.name}
        if spec.source != OWN:
            entry["server"] = spec.source
        if schemas:
            entry["description"] = spec.description
            entry["parameters"] = dict(spec.parameters)
            room -= len(_json(entry))
            if room < 0 and shown:
                return shown, len(found) - len(shown)
        else:
            entry["description"] = _about(spec.description)
        shown.append(entry)
    return shown, 0


def _about(description: str) -> str:
    line = " ".join(description.split())
    return line if len(line) <= _ABOUT_CHARS else line[:_ABOUT_CHARS] + "…"


def _json(value: JsonObject) -> str:
    return json.dumps(value, ensure_ascii=False)
