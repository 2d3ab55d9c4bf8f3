"""The two tools with which a model reads and proposes memories.

Reading is bound to the task's subject by the loop; a model cannot name another. A proposal passes
the gates, and what it quotes decides who said it: words of the user may be kept, words of a tool
or a page are held for somebody to confirm, and words that nobody said are refused.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

import regex

from contextctl.core.memory.text import STANDING, memory_lines, read_item
from contextctl.core.search.terms import query_terms, terms
from contextctl.model.memory import KINDS, Candidate, Recalled, Written
from contextctl.model.message import Json, JsonObject, ToolSpec
from contextctl.model.own_sources import MEMORY
from contextctl.model.record import (
    Event,
    MessageAdded,
    Record,
    ResultArrived,
    RetrievedAdded,
    event_id,
)

_TEXT: JsonObject = {"type": "string"}

MEMORY_TOOLS: Mapping[str, ToolSpec] = MappingProxyType(
    {
        "memory_recall": ToolSpec(
            "memory_recall",
            "Search what is remembered of this user from earlier conversations.",
            {"type": "object", "properties": {"query": _TEXT}, "required": ["query"]},
            MEMORY,
        ),
        "memory_propose": ToolSpec(
            "memory_propose",
            "Propose something lasting to remember of this user. quote: the user's own words.",
            {
                "type": "object",
                "properties": {
                    "kind": {"type": "string", "enum": [*KINDS]},
                    "key": {"type": "string", "description": "slot it fills, e.g. ship-to"},
                    "text": _TEXT,
                    "quote": _TEXT,
                    "confidence": {"type": "number"},
                    "ttl_days": {"type": "number"},
                    "session_only": {"type": "boolean"},
                },
                "required": ["kind", "key", "text", "quote"],
            },
            MEMORY,
        ),
    }
)
"""The tools by name, in the order in which they are offered."""


def recalled_answer(query: str, found: Iterable[Recalled], locale: str) -> JsonObject:
    """What ``memory_recall`` answers: labelled lines under the standing line."""
    items = [read_item(one.memory) for one in found]
    if not items:
        return {"query": query, "memories": [], "hint": _NOTHING[locale]}
    lines: list[Json] = [line.removeprefix("- ") for line in memory_lines(items, locale)]
    return {
        "query": query,
        "note": STANDING[locale].partition("] ")[2],
        "memories": lines,
        "ids": [item["id"] for item in items],
    }


def proposed_answer(written: Written, locale: str) -> JsonObject:
    """What ``memory_propose`` answers: what became of it and, when it is not kept, why."""
    answer = written.to_json()
    if written.outcome == "refused":
        answer["error"] = written.code
    hint = _HINTS[locale].get(written.outcome)
    return answer | ({"hint": hint} if hint else {})


def candidate_from(
    arguments: Mapping[str, Json], record: Record, *, subject: str, session: str
) -> Candidate:
    """The candidate a model proposes, with the source its quote proves.

    Raises ``ValueError`` that names a wrong argument.
    """
    quote = _text(arguments, "quote", "")
    text = _text(arguments, "text")
    source, turn = said_by(quote, record, text)
    return Candidate(
        text=text,
        kind=_text(arguments, "kind"),
        key=_text(arguments, "key", ""),
        subject=subject,
        confidence=_number(arguments, "confidence", 1.0) or 0.0,
        source=source,
        turn=turn,
        ttl_days=_number(arguments, "ttl_days", None),
        session=session if arguments.get("session_only") is True else "",
    )


def said_by(quote: str, record: Record, text: str = "") -> tuple[str, str]:
    """Who said ``quote``, and in which event: ``user``, ``tool:<name>``, ``page:<source>``, or
    ``model`` if nobody else did. The user's own words count before others.

    ``text`` is what is to be remembered on the strength of it: where its words are rather those of
    a tool or a page, a quote of the user does not make them the user's.
    """
    wanted = _plain(quote)
    if len(wanted) < (_SHORTEST_HAN if _HAN.search(wanted) else _SHORTEST):
        return "model", ""
    found = ("model", "")
    for place, said, words in _heard(record):
        if wanted in _plain(words):
            if said == "user":
                return _rather(text, record) or (said, place)
            found = (said, place)
    return found


def _rather(text: str, record: Record) -> tuple[str, str] | None:
    """The tool or page that has more of the words of ``text`` than the user ever said."""
    asked = frozenset(query_terms(text)) if text else frozenset()
    heard = [(place, said, asked.intersection(terms(words))) for place, said, words in
             _heard(record)] if asked else []  # fmt: skip
    own = frozenset[str]().union(*(had for _, said, had in heard if said == "user"))
    others = [(len(had), place, said) for place, said, had in heard if said != "user"]
    most, place, said = max(others, default=(0, "", ""), key=lambda one: one[0])
    return (said, place) if most > len(own) else None


def _heard(record: Record) -> Iterator[tuple[str, str, str]]:
    """What the model was told: the event, who said it, and the words."""
    for number, event in enumerate(record, start=1):
        for said, words in _spoken(event):
            yield event_id(number), said, words


# Tools whose answers repeat what the model itself has written.
_ECHOES = frozenset(
    {"memory_propose", "todo_write", "finish_stage", "save_output", "pin", "write_workspace"}
)
_SHORTEST, _SHORTEST_HAN = 4, 3  # characters of a quote that prove anything
_HAN = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]")
_NOTHING = {
    "en": "nothing is remembered that fits; ask the user",
    "zh": "没有相关记忆；请询问用户",
}
_HINTS = {
    "en": {
        "held": "not used until a person confirms it",
        "refused": "do not propose it again in other words",
    },
    "zh": {"held": "经人确认之前不会使用", "refused": "请勿换一种说法再次提交"},
}


def _spoken(event: Event) -> Iterator[tuple[str, str]]:
    if isinstance(event, MessageAdded) and event.message.role == "user":
        yield "user", event.message.text
    elif isinstance(event, ResultArrived) and event.name not in _ECHOES:
        yield f"tool:{event.name}", event.content
    elif isinstance(event, RetrievedAdded):
        for one in event.passages:
            yield f"page:{one.get('source') or one.get('id') or 'retrieved'}", str(one.get("text"))


def _plain(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def _text(arguments: Mapping[str, Json], key: str, default: str | None = None) -> str:
    value = arguments.get(key, default)
    if not isinstance(value, str):
        raise ValueError(f"'{key}' must be text, got {value!r:.60}")
    return value


def _number(arguments: Mapping[str, Json], key: str, default: float | None) -> float | None:
    value = arguments.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"'{key}' must be a number, got {value!r:.60}")
    return float(value)
