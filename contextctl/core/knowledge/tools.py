"""The three tools of whoever reads documents: ``search_docs``, ``read_doc``, ``read_section``.

They stand in the window of a knowledge subagent, not in the main one. Every answer is bounded; a
long section comes in pages, and reading on from ``next`` until it is null yields all of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from types import MappingProxyType

from contextctl.core.explain.tool_call import Arguments, bad_arguments, tool_spec
from contextctl.core.knowledge.documents import Found, Library, lines_of, section_text
from contextctl.core.reading.exact_json import dump_exact
from contextctl.core.reading.lines import READ_BYTES, read_lines
from contextctl.core.search.terms import query_terms, terms
from contextctl.model.document import Document, Section, cite
from contextctl.model.message import Json, JsonObject, ToolSpec
from contextctl.model.own_sources import KNOWLEDGE

MAP_BYTES = 6_000
_MAP_NOTE = 100
_DIGITS = re.compile(r"\d+")
_HITS = 8
_MOST_HITS = 20
_SNIPPET_CHARS = 320
_OUTLINE_BYTES = 6_000
_ANY = 1 << 40
_NAMES_SHOWN = 8
_TEXT: JsonObject = {"type": "string"}
_NUMBER: JsonObject = {"type": "integer"}

KNOWLEDGE_TOOLS: Mapping[str, ToolSpec] = MappingProxyType(
    {
        tool.name: tool
        for tool in (
            tool_spec(
                "search_docs",
                "Sections that fit a query, best first.",
                {"query": _TEXT},
                {"limit": _NUMBER},
                source=KNOWLEDGE,
            ),
            tool_spec(
                "read_doc",
                "A document's outline; of a folder or kind (x_*), its documents.",
                {"doc": _TEXT},
                {"start": _NUMBER},
                source=KNOWLEDGE,
            ),
            tool_spec(
                "read_section",
                "Text of a section, in pages.",
                {"doc": _TEXT, "section": _TEXT},
                {"start": _NUMBER, "offset": _NUMBER},
                source=KNOWLEDGE,
            ),
        )
    }
)
"""The tools by name, in the order in which they are offered."""


def answer_knowledge(tool: str, arguments: Mapping[str, Json], library: Library) -> JsonObject:
    """Answer a call of one of ``KNOWLEDGE_TOOLS``; what is not there is an answer with ``error``.

    ``error`` is ``nothing_found``, ``unknown_document``, ``unknown_section`` or ``bad_arguments``.
    """
    asked = Arguments(arguments)
    if tool == "search_docs":
        query, limit = asked.text("query"), asked.number("limit", _HITS)
        if asked.problem:
            return bad_arguments(asked.problem)
        return _search(query, max(1, min(limit, _MOST_HITS)), library)
    name, start, offset = asked.text("doc"), asked.number("start", 0), asked.number("offset", 0)
    name, _, within = name.strip().strip("[]").partition("#")
    wanted = asked.text("section", within) if tool == "read_section" else ""
    if asked.problem:
        return bad_arguments(asked.problem)
    document = library.get(name)
    if document is None:
        return _several(name, start, library) or _unknown_document(name, library)
    if tool == "read_doc":
        return _outline(document, start)
    return _section(document, wanted or within, start, offset)


def document_map(library: Library, max_bytes: int = MAP_BYTES) -> str:
    """One line for each document; where they are too many, kinds of documents with their number,
    and as many lines as fit."""
    lines = [
        f"- {document.id} | {document.title} | {len(document.sections)} sections"
        for document in library.documents
    ]
    if len("\n".join(lines).encode()) <= max_bytes:
        return "\n".join(lines)
    for group_of, example in ((_numbered, True), (_numbered, False), (_folder, True)):
        shown = _groups(library, group_of, example=example)
        if len("\n".join(shown).encode()) <= max_bytes - _MAP_NOTE:
            break
    room = max_bytes - _MAP_NOTE
    kept: list[str] = []
    for line in [*shown, *lines]:
        room -= len(line.encode()) + 1
        if room < 0:
            break
        kept.append(line)
    listed = max(0, len(kept) - len(shown))
    left = f"({len(lines) - listed} of {len(lines)} documents are not listed by name: search_docs)"
    return "\n".join([*kept, left])


def _groups(library: Library, group_of: Callable[[str], str], *, example: bool) -> list[str]:
    groups: dict[str, list[Document]] = {}
    for document in library.documents:
        groups.setdefault(group_of(document.id), []).append(document)
    return [
        f"- {group}: {len(members)}" + (f", such as: {members[0].title}" if example else "")
        for group, members in groups.items()
    ]


def _numbered(document: str) -> str:
    """``fees_001.md`` and ``fees_002.md`` are of one kind: ``fees_*.md``."""
    return _DIGITS.sub("*", document)


def _folder(document: str) -> str:
    return (document.rpartition("/")[0] or "(top)") + "/"


def _search(query: str, limit: int, library: Library) -> JsonObject:
    found = library.search(query, limit)
    if not found:
        return {
            "error": "nothing_found",
            "query": query,
            "searched": len(library.documents),
            "hint": "no document has any of these words; try others, or look at the document map",
        }
    asked = set(query_terms(query))
    hits: list[Json] = [
        {"at": hit.citation, "title": _title(hit), "text": _snippet(hit, asked)} for hit in found
    ]
    return {"query": query, "searched": len(library.documents), "hits": hits}


def _title(hit: Found) -> str:
    heading = hit.document.heading_of(hit.section)
    title = hit.document.title
    return heading if heading.startswith(title) else f"{title} › {heading}"


def _snippet(hit: Found, asked: set[str]) -> str:
    """The stretch of the passage with most of the words asked for."""
    lines = lines_of(hit.document)[hit.first - 1 : hit.last]
    if len(lines) > 1 and hit.first == hit.section.first and hit.section.title in lines[0]:
        del lines[0]  # the heading stands beside it already
    text = " ".join(" ".join(lines).split())
    if len(text) <= _SNIPPET_CHARS:
        return text
    best, at = -1, 0
    for start in range(0, len(text), _SNIPPET_CHARS // 2):
        score = len(asked.intersection(terms(text[start : start + _SNIPPET_CHARS])))
        if score > best:
            best, at = score, start
    head = text[at : at + _SNIPPET_CHARS].strip()
    return f"{'… ' if at else ''}{head}{' …' if at + _SNIPPET_CHARS < len(text) else ''}"


def _outline(document: Document, start: int) -> JsonObject:
    """The sections from the ``start``-th on, as many as fit into one answer."""
    sections: list[Json] = []
    size = 0
    for section in document.sections[start:]:
        line = _outline_line(section)
        size += len(dump_exact(line).encode()) + 2
        if sections and size > _OUTLINE_BYTES:
            break
        sections.append(line)
    end = start + len(sections)
    out: JsonObject = {"doc": document.id, "title": document.title}
    out["lines"] = document.text.count("\n") + 1
    out["total_sections"] = len(document.sections)
    out["next"] = {"start": end} if end < len(document.sections) else None
    out["sections"] = sections
    return out


def _outline_line(section: Section) -> str:
    return f"{section.id} {section.title} L{section.first}-{section.last}"


def _section(document: Document, wanted: str, start: int, offset: int) -> JsonObject:
    """A page of a section. ``start`` counts the lines of the document, as citations do."""
    section = document.section(wanted.strip().partition(":")[0])
    if section is None:
        return _unknown_section(document, wanted)
    begin = min(max(start, section.first), section.last)
    part = read_lines(
        section_text(document, section), "", begin - section.first, _ANY, READ_BYTES, offset=offset
    )
    shown, following = str(part["text"]), part["next"]
    last = begin + max(shown.count("\n") - shown.endswith("\n"), 0)
    out: JsonObject = {
        "at": cite(document.id, section.id, begin, min(last, section.last)),
        "title": document.heading_of(section),
        "section_lines": [section.first, section.last],
        "truncated": following is not None,
        "next": None,
    }
    if isinstance(following, dict):
        line = int(str(following["start"])) + section.first
        out["next"] = {"start": line, "offset": following["offset"]}
    return out | {"text": shown}


def _several(name: str, start: int, library: Library) -> JsonObject:
    """The documents of a kind or folder of the map, as many as fit; empty when there is none."""
    folder = name.rstrip("/") + "/"
    found = [
        one
        for one in library.documents
        if ("*" in name and fnmatchcase(one.id, name)) or one.id.startswith(folder)
    ]
    if not found or not name:
        return {}
    lines: list[Json] = []
    size = 0
    for one in found[start:]:
        line = f"{one.id} | {one.title}"
        size += len(line.encode()) + 4
        if lines and size > _OUTLINE_BYTES:
            break
        lines.append(line)
    end = start + len(lines)
    out: JsonObject = {"doc": name, "total_documents": len(found)}
    out["next"] = {"start": end} if end < len(found) else None
    return out | {"documents": lines}


def _unknown_document(name: str, library: Library) -> JsonObject:
    ids = [document.id for document in library.documents]
    close = get_close_matches(name, ids, 3) or [one for one in ids if name and name in one][:3]
    shown = close or ids[:_NAMES_SHOWN]
    hint = "copy a document's id from the list or from search_docs"
    return {"error": "unknown_document", "doc": name, "documents": [*shown], "hint": hint}


def _unknown_section(document: Document, wanted: str) -> JsonObject:
    lines: list[Json] = []
    size = 0
    for section in document.sections:
        line = _outline_line(section)
        size += len(line.encode())
        if size > _OUTLINE_BYTES // 3:
            break
        lines.append(line)
    out: JsonObject = {"error": "unknown_section", "doc": document.id, "section": wanted}
    return out | {"sections": lines, "hint": "take an id of the list; read_doc has all of them"}
