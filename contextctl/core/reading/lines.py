"""What a model reads back from the workspace, given the text: bounded parts and honest ranges.

A part is bounded by lines and by bytes, because one line can be a whole report. Every answer says
which lines it holds, how many there are, and where the next part begins; reading on from ``next``
until it is null yields the whole text, character for character. An answer never holds a ref in
place of content. Lines count from 0 and end at ``\\n`` only.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contextctl.core.reading.exact_json import dump_exact
from contextctl.model.record import MessageAdded, Record, ResultArrived

if TYPE_CHECKING:
    from contextctl.model.message import Json, JsonObject, ToolCall

READ_LINES = 80
"""Lines of one part when the model names no limit (tutorial: ``limit=80``)."""
READ_BYTES = 6000
"""UTF-8 bytes of one part's text in its JSON form: at most about 2,000 tokens of usual text."""
HEAD_CHARS = 200
"""Characters of the head shown after ``write_workspace``."""

_MIN_BYTES = 64
_WORD = 200
_WIDEST = 6  # bytes of one character in JSON, as in "\\u001b"
_ANY = 1 << 60


@dataclass(frozen=True, slots=True)
class PastCall:
    """A tool call made earlier in the record, with its raw result."""

    name: str
    arguments: str
    status: str
    result: str


def not_found(ref: str) -> JsonObject:
    """The one answer for a ref that is unknown, of another session, or not a ref at all."""
    return {
        "error": "not_found",
        "ref": ref,
        "hint": "no such ref or name here; copy it exactly as it was shown",
    }


def bad_arguments(message: str) -> JsonObject:
    """The answer to a call of a reader tool whose arguments cannot be used."""
    return {"error": "bad_arguments", "hint": message}


def read_lines(
    text: str,
    ref: str,
    start: int = 0,
    limit: int = READ_LINES,
    max_bytes: int = READ_BYTES,
    *,
    offset: int = 0,
) -> JsonObject:
    """One part of ``text``: up to ``limit`` lines from line ``start``, at most ``max_bytes``.

    ``offset`` skips characters of the first line; a negative ``start`` counts from the end.
    ``end`` is the line after the last one shown. ``next`` is null at the end, else the
    ``{"start", "offset"}`` to read on from.
    """
    total = count_lines(text)
    if start < 0:
        start = max(0, total + start)
    begin = position(text, start, offset)
    stop = _skip_lines(text, begin, max(1, limit))
    shown = _part(text[begin:stop], max_bytes)
    end = begin + len(shown)
    following = None if end >= len(text) else place(text, end)
    out: JsonObject = {"ref": ref, "start": min(start, total)}
    out["end"] = total if following is None else following[0] + (following[1] > 0)
    out["total_lines"] = total
    out["truncated"] = following is not None
    out["next"] = None if following is None else {"start": following[0], "offset": following[1]}
    out["text"] = shown
    return out


def written(text: str, ref: str) -> JsonObject:
    """The answer to ``write_workspace``: the ref, the size, and the first 200 characters."""
    head = text[: _whole(text, HEAD_CHARS)]
    return {"ref": ref, "lines": count_lines(text), "chars": len(text), "head": head}


def find_call(record: Record, call_id: str) -> PastCall | None:
    """The last call with ``call_id`` in the record and its result; None when there is none."""
    call: ToolCall | None = None
    result: ResultArrived | None = None
    for event in record:
        if isinstance(event, MessageAdded):
            for made in event.message.tool_calls:
                if made.id == call_id:
                    call, result = made, None
        elif isinstance(event, ResultArrived) and event.call_id == call_id:
            result = event
    if call is None and result is None:
        return None
    return PastCall(
        name=call.name if call is not None else "" if result is None else result.name,
        arguments="" if call is None else call.arguments,
        status="pending" if result is None else result.status,
        result="" if result is None else result.content,
    )


def read_call(
    call: PastCall, call_id: str, start: int = 0, max_bytes: int = READ_BYTES, *, offset: int = 0
) -> JsonObject:
    """A part of an earlier call's raw result; the first part also holds the call's arguments.

    Arguments longer than half a part are cut in the middle, with the count of omitted characters.
    """
    out: JsonObject = {"call_id": call_id, "name": call.name, "status": call.status}
    room = max_bytes
    if start == 0 and offset == 0 and call.arguments:
        shown = _middle(call.arguments, max_bytes // 2)
        out["arguments"] = shown
        room -= json_size(shown)
    part = read_lines(call.result, "", start, _ANY, room, offset=offset)
    del part["ref"]
    return out | part


def count_lines(text: str) -> int:
    """Lines of ``text``; a last line without ``\\n`` counts, empty text has none."""
    return text.count("\n") + (not text.endswith("\n") and text != "")


def position(text: str, line: int, offset: int = 0) -> int:
    """The character position of ``offset`` within ``line``, never past the line's end."""
    begin = _skip_lines(text, 0, line)
    return min(begin + max(0, offset), _skip_lines(text, begin, 1))


def place(text: str, at: int) -> tuple[int, int]:
    """The ``(line, offset)`` of character position ``at``: the inverse of ``position``."""
    return text.count("\n", 0, at), at - (text.rfind("\n", 0, at) + 1)


def json_size(value: Json) -> int:
    """UTF-8 bytes of ``value`` as JSON."""
    return len(dump_exact(value).encode("utf-8"))


def fit(text: str, max_bytes: int) -> int:
    """How many leading characters of ``text`` take at most ``max_bytes`` as a JSON string."""
    if len(text) <= max_bytes // _WIDEST:
        return len(text)
    low, high = 0, min(len(text), max(0, max_bytes))
    while low < high:
        middle = (low + high + 1) // 2
        if json_size(text[:middle]) - 2 <= max_bytes:
            low = middle
        else:
            high = middle - 1
    return low


def _part(text: str, max_bytes: int) -> str:
    """The head of ``text`` that fits: whole lines if one fits, else whole words or characters."""
    count = fit(text, max(_MIN_BYTES, max_bytes))
    if count == len(text):
        return text
    cut = text.rfind("\n", 0, count) + 1 or text.rfind(" ", max(0, count - _WORD), count) + 1
    return text[: cut or _whole(text, count)]


def _whole(text: str, count: int) -> int:
    """``count``, or a little less so that no character is parted from the marks that follow it."""
    for cut in range(min(count, len(text)), max(0, count - 16), -1):
        following = text[cut : cut + 1]
        joins = following in ("\n", "\u200d", "\ufe0f") or unicodedata.combining(following or " ")
        if not joins and text[cut - 1 : cut] != "\u200d":
            return cut
    return count


def _middle(text: str, max_bytes: int) -> str:
    if json_size(text) <= max_bytes:
        return text
    head = text[: fit(text, max_bytes * 3 // 4)]
    tail = text[len(text) - fit(text[::-1], max_bytes // 8) :]
    return f"{head}…[{len(text) - len(head) - len(tail)} characters omitted]…{tail}"


def _skip_lines(text: str, begin: int, lines: int) -> int:
    """The position after ``lines`` line ends from ``begin``, or the end of the text."""
    at = begin
    for _ in range(lines):
        newline = text.find("\n", at)
        if newline < 0:
            return len(text)
        at = newline + 1
    return at
