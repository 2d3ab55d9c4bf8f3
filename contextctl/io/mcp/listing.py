"""A server's list of tools: read page by page, each tool by itself.

One page is not the list, a cursor may lead nowhere, and one tool that is no tool must not cost the
others.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from contextctl.io.mcp.schemas import Unusable, mended
from contextctl.io.text.unicode import whole_characters
from contextctl.model.message import Json, JsonObject

MOST_PAGES = 500
_MOST_DESCRIPTION = 20_000  # characters; what is longer is no description

Page = Callable[[str | None], Awaitable[JsonObject]]


@dataclass(frozen=True, slots=True)
class ListedTool:
    """One tool as its server names it, with a schema that providers take.

    ``effects``: the server says that a call changes something, and does so again when repeated.
    """

    name: str
    description: str
    parameters: JsonObject
    effects: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools of one server in its own order, and what was wrong with its list.

    ``left_out`` are tools that cannot be offered, each with the reason.
    """

    tools: tuple[ListedTool, ...] = ()
    warnings: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()


async def read_pages(page: Page) -> tuple[list[Json], list[str]]:
    """All tools of all pages, and what was wrong with the pages.

    Raises what ``page`` raises for the first page; a later one that fails ends the list.
    """
    tools: list[Json] = []
    warnings: list[str] = []
    cursors: set[str] = set()
    cursor: str | None = None
    for number in range(1, MOST_PAGES + 1):
        try:
            raw = await page(cursor)
        except Exception as error:  # the SDK raises what the server or the transport said
            if number == 1:
                raise
            warnings.append(f"page {number} of its tools could not be read ({error})")
            return tools, warnings
        listed = raw.get("tools")
        tools += listed if isinstance(listed, list) else []
        following = raw.get("nextCursor")
        if not isinstance(following, str) or not following:
            return tools, warnings
        if following in cursors:
            warnings.append(f"its list of tools never ends: cursor '{following}' came again")
            return tools, warnings
        cursors.add(following)
        cursor = following
    warnings.append(f"its list of tools was left after {MOST_PAGES} pages")
    return tools, warnings


def listing(raw: Sequence[Json], include: Sequence[str], warnings: Sequence[str] = ()) -> Listing:
    """The tools in ``raw`` whose names match a pattern of ``include``, each once."""
    tools: dict[str, ListedTool] = {}
    left_out: dict[str, str] = {}
    names: list[str] = []
    for place, entry in enumerate(raw, start=1):
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(entry, dict) or not isinstance(name, str) or not name:
            left_out.setdefault(f"number {place}", "it has no name")
            continue
        name = whole_characters(name)
        names.append(name)
        if name in tools or not any(fnmatchcase(name, pattern) for pattern in include):
            continue
        try:
            parameters = mended(entry.get("inputSchema"))
        except (Unusable, RecursionError) as error:
            left_out.setdefault(name, str(error))
            continue
        tools[name] = ListedTool(name, _description(entry), parameters, _has_effects(entry))
    unmatched = (
        f"'include' has '{pattern}', which matches none of its tools"
        for pattern in include
        if pattern != "*" and not any(fnmatchcase(name, pattern) for name in names)
    )
    return Listing(tuple(tools.values()), (*warnings, *unmatched), tuple(left_out.items()))


def _has_effects(entry: JsonObject) -> bool:
    """What the server declares. A tool without a word about it counts as one that only reads."""
    hints = entry.get("annotations")
    if not isinstance(hints, dict):
        return False
    return hints.get("readOnlyHint") is False and hints.get("idempotentHint") is not True


def _description(entry: JsonObject) -> str:
    text = entry.get("description") or entry.get("title") or ""
    return whole_characters(text)[:_MOST_DESCRIPTION] if isinstance(text, str) else ""
