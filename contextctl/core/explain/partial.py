"""Lists that were not whole: cut by a rule of the profile, or by the tool itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from contextctl.core.explain.seen import Seen, name_of
from contextctl.core.shaping import unwrapped
from contextctl.core.shaping.items import find_items
from contextctl.core.shaping.parsed import records_in
from contextctl.model.message import Json, JsonObject

_TOTAL = (
    "total",
    "total_count",
    "totalCount",
    "count_total",
    "totalResults",
    "total_results",
    "总数",
)
_MORE = ("has_more", "hasMore", "truncated", "incomplete_results", "has_next", "is_truncated")
_NEXT = ("next_cursor", "nextCursor", "next_page", "nextPageToken", "next_page_token", "next")


@dataclass(frozen=True, slots=True)
class Partial:
    """A list of which the agent saw ``returned`` rows; ``total`` is 0 where nobody said it."""

    tool: str
    event: str
    place: int
    returned: int
    total: int


def partial_lists(seen: Seen) -> tuple[Partial, ...]:
    """Every list before the step that was not whole, in order."""
    return tuple(_lists(seen))


def _lists(seen: Seen) -> Iterator[Partial]:
    cut = {a.target for a in seen.now.actions if a.kind in ("shape", "refer", "offload")}
    shown = {
        str(message.get("tool_call_id")): message.get("content")
        for message in seen.messages
        if message.get("role") == "tool"
    }
    for one in seen.before:
        if one.result is None or one.result_place >= seen.at:
            continue
        event = name_of(one.result_place)
        root = _object(one.result.content)
        found = _by_tool(root) if root is not None else None
        if found is None and event in cut:
            visible = shown.get(one.call.id)
            page = _object(visible) if isinstance(visible, str) else None
            found = _by_tool(page) if page is not None else None
        if found is not None:
            yield Partial(one.call.name, event, one.result_place, *found)


def _object(content: str) -> JsonObject | None:
    records = records_in(unwrapped(content))
    return records.root if records and isinstance(records.root, dict) else None


def _by_tool(root: JsonObject) -> tuple[int, int] | None:
    """Rows returned and rows there are, when a result says that it is a part."""
    items = find_items(root, only_records=True) or find_items(root)
    if items is None or not items.rows:
        return None
    rows = len(items.rows)
    total = max((_whole(root.get(key)) for key in _TOTAL), default=0)
    if total > rows:
        return rows, total
    more = any(root.get(key) is True for key in _MORE)
    following = any(root.get(key) not in (None, "", False) for key in _NEXT)
    return (rows, 0) if more or following else None


def page_keys(content: str) -> JsonObject | None:
    """The keys by which a listing says how many rows there are and where the next page begins."""
    root = _object(content)
    if root is None or find_items(root, only_records=True) is None:
        return None
    keys: JsonObject = {}
    total = next((key for key in _TOTAL if _whole(root.get(key))), None)
    following = next((key for key in _NEXT if key in root), None)
    if total is not None:
        keys["total"] = total
    if following is not None:
        keys["cursor"] = following
    return keys or None


def _whole(value: Json) -> int:
    text = str(value)
    return int(text) if text.isdecimal() else 0
