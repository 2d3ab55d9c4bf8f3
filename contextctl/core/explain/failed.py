"""Failures as symptoms: what was not found, what was found and failed, what was never looked for.

Finding and running fail for different reasons and want different edits (SPEC D6): the first an
index, other words or a grant, the second other arguments, another environment or a mended tool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from contextctl.core.explain.seen import Seen, name_of
from contextctl.core.search.terms import query_terms, terms
from contextctl.core.tools.defer import SEARCH_TOOL
from contextctl.core.tools.waiting import waiting_tools
from contextctl.model.arguments import ArgumentsError, read_arguments
from contextctl.model.explanation import Advice
from contextctl.model.failure import (
    DISCOVERY_NOTE,
    EXECUTION_NOTE,
    GRANT,
    INDEX,
    LOAD,
    QUERY,
)
from contextctl.model.message import JsonObject
from contextctl.model.record import IndexRead, Noted

_FITS, _FEWEST = 0.5, 3
_SHOWN = 120
_DO = {
    INDEX: "mend what is listed: contextctl validate names what is not indexed",
    QUERY: "put the words that were asked for into descriptions and titles",
    GRANT: "grant it: the task's 'documents' or 'tools', the profile's permissions",
    LOAD: "search for it first (tool_search), or keep it resident: defer.always",
}


def _not_found(seen: Seen) -> Iterator[Advice]:
    """One symptom for each kind of discovery failure before the step, with the newest of them."""
    kinds: dict[str, list[tuple[int, JsonObject]]] = {}
    for place, body in _notes(seen, DISCOVERY_NOTE):
        kinds.setdefault(str(body.get("failure")), []).append((place, body))
    for kind, found in kinds.items():
        place, body = found[-1]
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        yield Advice(
            "select",
            f"discovery failed ({kind.removeprefix('discovery.')})",
            f"{_what(body)} ({name_of(place)}){more}",
            _DO.get(kind, _DO[INDEX]),
        )


def _never_loaded(seen: Seen) -> Iterator[Advice]:
    """A skill that is indexed, fits what was asked, and was not loaded."""
    loaded = {
        str(body.get("name")).casefold()
        for one in seen.before
        if one.call.name == "view_skill"
        for body in (_arguments(one.call.arguments),)
    }
    index = [e for e in seen.events[: seen.at] if isinstance(e, IndexRead) and e.source == "skills"]
    if not index or seen.now.step < 2:
        return
    asked = {term for _, text in seen.users for term in terms(text)}
    for entry in index[-1].entries:
        name = str(entry.get("name"))
        own = query_terms(f"{name} {entry.get('about') or ''}")
        fits = sum(term in asked for term in own)
        if name.casefold() in loaded or fits < _FEWEST or fits < _FITS * len(own):
            continue
        yield Advice(
            "select",
            "indexed, needed, never loaded",
            f"the skill '{name}' fits what was asked ({fits} of {len(own)} words), and was not"
            f" loaded by step {seen.now.step}",
            "say first in its description when to use it; disclosure.index.line_tokens shows more",
        )


def _never_searched(seen: Seen) -> Iterator[Advice]:
    """A deferred tool that fits what was asked, where nobody has searched."""
    waiting = waiting_tools(seen)
    searched = any(one.call.name == SEARCH_TOOL for one in seen.before)
    if not waiting or searched or seen.now.step < 2:
        return
    asked = {term for _, text in seen.users for term in terms(text)}
    for name, tool in waiting.items():
        own = query_terms(f"{name} {tool.description[:_SHOWN]}")
        fits = sum(term in asked for term in own)
        if fits >= _FEWEST and fits >= _FITS * len(own):
            yield Advice(
                "select",
                "indexed, needed, never loaded",
                f"the deferred tool '{name}' fits what was asked ({fits} of {len(own)} words), and"
                f" nothing was searched for by step {seen.now.step}",
                f"keep it resident: defer.always: [{name}]",
            )
            return


def execution_failures(seen: Seen) -> str:
    """What was found and failed before the step, in one line; empty when nothing did."""
    counts: dict[tuple[str, str], int] = {}
    for _, body in _notes(seen, EXECUTION_NOTE):
        key = (str(body.get("tool")), str(body.get("failure")).removeprefix("execution."))
        counts[key] = counts.get(key, 0) + 1
    if not counts:
        return ""
    shown = ", ".join(f"{tool} ({kind}) x{n}" for (tool, kind), n in [*counts.items()][:6])
    return f"execution failed before this step: {shown}"


def _notes(seen: Seen, topic: str) -> Iterator[tuple[int, JsonObject]]:
    for place, event in enumerate(seen.events[: seen.at]):
        if isinstance(event, Noted) and event.topic == topic:
            yield place, dict(event.body)


def _what(body: JsonObject) -> str:
    reason = " ".join(str(body.get("reason") or "").split())
    tool = str(body.get("tool") or body.get("server") or "")
    text = f"{tool}: {reason}" if tool and reason else tool or reason
    return text if len(text) <= _SHOWN else text[:_SHOWN].rstrip() + "…"


def _arguments(raw: str) -> JsonObject:
    try:
        return read_arguments(raw)
    except ArgumentsError:
        return {}


DISCOVERY: tuple[Callable[[Seen], Iterator[Advice]], ...] = (
    _not_found,
    _never_loaded,
    _never_searched,
)
"""Symptoms of finding things, in the order of an investigation."""
