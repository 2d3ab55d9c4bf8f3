"""One page of records: which rows, and what the page says about the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contextctl.core.reading.exact_json import Number
from contextctl.core.shaping.select import path_steps, value_at
from contextctl.model.message import Json, JsonObject

if TYPE_CHECKING:
    from contextctl.core.shaping.setting import Setting


@dataclass(frozen=True, slots=True)
class Listing:
    """The rows a page is taken from.

    ``total`` may be more than ``rows``: the tool itself gave a page. ``place`` is the path that
    ``fetch`` reads the rows by, ``""`` when they can only be read as text. ``tool_cursor`` is where
    the tool says its own next page begins.
    """

    rows: Sequence[Json]
    start: int
    total: int
    place: str = ""
    tool_cursor: Json = None

    @property
    def rest(self) -> int:
        """Rows from ``start`` to the end."""
        return max(0, len(self.rows) - self.start)


def listing(root: Json, rows: list[Json], place: str, setting: Setting) -> Listing:
    """The rows of ``root`` from the asked cursor on, with the total the tool gives, if it does."""
    page = setting.rule.page
    total = len(rows)
    tool_cursor: Json = None
    if page is not None and page.total:
        total = max(total, _whole_number(value_at(root, path_steps(page.total))))
    if page is not None and page.cursor and isinstance(root, dict):
        tool_cursor = _scalar(value_at(root, path_steps(page.cursor)))
    return Listing(rows, _start(rows, setting), total, place, tool_cursor)


def next_cursor(found: Listing, returned: int, setting: Setting) -> Json:
    """Where the next page begins: a cursor field's value, else a row number; None at the end."""
    after = found.start + returned
    if after >= len(found.rows):
        return found.tool_cursor if found.total > after else None
    cursor = _row_cursor(found.rows[after], setting)
    return after if cursor is None else cursor


def page_note(found: Listing, returned: int, setting: Setting) -> JsonObject:
    """What a page that is not the whole states, ``hint`` last."""
    following = next_cursor(found, returned, setting)
    return {
        "returned": returned,
        "total": found.total,
        "truncated": returned < found.total,
        "omitted": found.total - returned,
        "next_cursor": following,
        "hint": _hint(found, returned, following, setting),
    }


def whole_note(found: Listing, setting: Setting) -> JsonObject:
    """What a list that is complete states."""
    note: JsonObject = {"returned": found.total, "total": found.total, "truncated": False}
    return note | {"hint": setting.say("none")} if found.total == 0 else note


def _hint(found: Listing, returned: int, following: Json, setting: Setting) -> str:
    ref = setting.ref
    if returned == 0:
        whole = setting.say("whole", ref=ref) if ref else ""
        return setting.joined(setting.say("past", total=found.total), whole)
    after = found.start + returned
    said = [setting.say("part", first=found.start, last=after - 1, total=found.total)]
    if setting.rule.aggregate:
        said.append(setting.say("aggregate", tool=setting.rule.aggregate))
    page = setting.rule.page
    if following is not None and (not ref or (page is not None and page.cursor)):
        said.append(setting.say("cursor"))
    if ref and after < len(found.rows):
        key = "fetch" if found.place else "read"
        said.append(setting.say(key, ref=ref, path=found.place, start=after))
    elif ref:
        said.append(setting.say("whole", ref=ref))
    return setting.joined(*said)


def _start(rows: list[Json], setting: Setting) -> int:
    cursor = setting.call.cursor
    if cursor is None:
        return 0
    page = setting.rule.page
    if page is not None and page.cursor:
        for index, row in enumerate(rows):
            found = _row_cursor(row, setting)
            if found is not None and str(found) == str(cursor):
                return index
        if any(_row_cursor(row, setting) is not None for row in rows):
            return len(rows)
    return min(_whole_number(cursor), len(rows))


def _row_cursor(row: Json, setting: Setting) -> Json:
    page = setting.rule.page
    if page is None or not page.cursor:
        return None
    return _scalar(value_at(row, path_steps(page.cursor)))


def _scalar(value: Json) -> Json:
    return None if isinstance(value, (dict, list, bool)) else value


def _whole_number(value: Json) -> int:
    if isinstance(value, bool) or value is None:
        return 0
    if isinstance(value, int):
        return max(0, value)
    written = isinstance(value, (str, Number)) and value.isascii() and value.isdigit()
    return int(value) if written and len(value) < 16 else 0  # type: ignore[arg-type]
