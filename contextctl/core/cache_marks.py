"""Where a provider that caches only on request is told to: marks on what will stand again.

Marks are put on the messages when they are sent and never recorded: they say how to bill a window,
not what is in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from contextctl.model.message import Json, JsonObject
    from contextctl.model.prices import CacheRule

_MARK: dict[str, Json] = {"type": "ephemeral"}
# How far a provider looks back from a mark for an earlier cache entry, in content blocks.
_LOOK_BACK = 20
_MARKABLE = ("text", "image_url", "document", "file")


def mark(
    messages: Sequence[JsonObject],
    sizes: Sequence[int],
    rule: CacheRule | None,
    *,
    tail: int = 0,
    before: int = 0,
) -> tuple[JsonObject, ...]:
    """``messages`` with at most ``rule.limit`` cache marks; unchanged when ``rule`` is None.

    ``sizes`` are the tokens of each message, ``before`` those of the tool schemas, which come first
    in a provider's prefix. The last ``tail`` messages (reminders, live pins) are replaced at every
    step and get no mark. A mark never stands on an empty block: it moves to the message before; nor
    where the prefix up to it is below the model's minimum.
    """
    if rule is None or rule.limit < 1:
        return tuple(messages)
    stable = len(messages) - tail
    places = [place for place in _wished(messages, stable) if place is not None]
    allowed = [p for p in dict.fromkeys(places) if before + sum(sizes[: p + 1]) >= rule.min_tokens]
    chosen = set(allowed[: rule.limit])
    return tuple(
        _marked(message) if place in chosen else message for place, message in enumerate(messages)
    )


def _wished(messages: Sequence[JsonObject], stable: int) -> Iterator[int | None]:
    """Places for marks, most wanted first.

    The newest message, so that the next step reads all of it; the end of the system messages, which
    other tasks share; then places within the look-back of the newest, so that a step of many
    parallel results still finds the entry that the step before has written.
    """
    yield _at_or_before(messages, stable - 1)
    system = 0
    while system < stable and messages[system].get("role") == "system":
        system += 1
    yield _at_or_before(messages, system - 1)
    blocks = 0
    for place in range(stable - 1, system - 1, -1):
        blocks += _blocks(messages[place])
        if blocks >= _LOOK_BACK - 2:
            yield _at_or_before(messages, place)
            blocks = 0


def _at_or_before(messages: Sequence[JsonObject], place: int) -> int | None:
    """The last message up to ``place`` that has a block to carry a mark."""
    while place >= 0 and not _carries(messages[place]):
        place -= 1
    return place if place >= 0 else None


def _carries(message: Mapping[str, Json]) -> bool:
    content = message.get("content")
    if isinstance(content, str):
        return bool(content.strip())
    return isinstance(content, list) and any(_is_full(part) for part in content)


def _is_full(part: Json) -> bool:
    if not isinstance(part, dict) or part.get("type") not in _MARKABLE:
        return False
    return part["type"] != "text" or bool(str(part.get("text") or "").strip())


def _blocks(message: Mapping[str, Json]) -> int:
    content, calls = message.get("content"), message.get("tool_calls")
    texts = len(content) if isinstance(content, list) else int(bool(content))
    return texts + (len(calls) if isinstance(calls, list) else 0)


def _marked(message: JsonObject) -> JsonObject:
    """A copy with the mark on its last full block; on a message of plain text, beside the text."""
    content = message.get("content")
    if not isinstance(content, list):
        return {**message, "cache_control": dict(_MARK)}
    last = max(place for place, part in enumerate(content) if _is_full(part))
    parts: list[Json] = list(content)
    parts[last] = {**cast("JsonObject", parts[last]), "cache_control": dict(_MARK)}
    return {**message, "content": parts}
