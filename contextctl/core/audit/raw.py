"""Whether the raw text of a compaction is whole: what it must hold of the events it covers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from contextctl.core.tools.arguments import replayable
from contextctl.model.record import Event, MessageAdded, Record, ResultArrived, event_id

# A line of a list of refs: the steps of a stretch, and the ref that leads to its text.
_LISTED = re.compile(r"\d+-\d+ (?P<ref>[A-Za-z0-9_-]+)")


def listed_refs(text: str) -> tuple[str, ...]:
    """The refs in ``text`` when it is a list of them and nothing else; empty for any other text."""
    lines = text.splitlines()
    found = [_LISTED.fullmatch(line) for line in lines]
    return tuple(match["ref"] for match in found if match) if lines and all(found) else ()


def missing_text(record: Record, first: int, last: int, raw: str) -> tuple[int, list[str]]:
    """How many events from ``first`` to ``last`` were looked for in ``raw``, and those not there.

    Assistant turns and results have to stand there whole. A user message may have stayed in the
    window as it is; it is looked for where ``raw`` has its heading.
    """
    looked, missing = 0, []
    for number in range(max(first, 1), min(last, len(record)) + 1):
        texts = [text for text in _texts(record[number - 1], number, raw) if text.strip()]
        looked += bool(texts)
        if any(text not in raw for text in texts):
            missing.append(event_id(number))
    return looked, missing


def _texts(event: Event, number: int, raw: str) -> Iterator[str]:
    if isinstance(event, ResultArrived):
        yield event.content
    elif isinstance(event, MessageAdded):
        message = event.message
        if message.role == "assistant":
            yield message.text
            yield from (f"{call.name} {replayable(call.arguments)}" for call in message.tool_calls)
        elif f"--- {event_id(number)} " in raw:
            yield message.text
