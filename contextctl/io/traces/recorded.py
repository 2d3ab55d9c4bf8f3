"""What contextctl's own recorder wrote: one model call a line, holding only what is new in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextctl.io.traces.draft import Draft, as_object, as_text
from contextctl.io.traces.exchanges import Conversation, api_of, extend

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contextctl.io.traces.source import Source
    from contextctl.model.trace import Trace

NAME = "recorded"


def recognises(source: Source) -> bool:
    """Whether the lines carry the recorder's mark."""
    return any(isinstance(value, dict) and "contextctl_call" in value for value in source.head)


def read(source: Source) -> Iterator[Trace]:
    """One trace a recorded conversation, in the order of their first calls."""
    conversations: dict[str, Conversation] = {}
    for line, value in source.values():
        entry = as_object(value)
        request, response = as_object(entry.get("request")), as_object(entry.get("response"))
        name, known = as_text(entry.get("trace")), entry.get("keep")
        if not request or not name or not isinstance(known, int):
            source.warn(line, "skipped: no recorded call")
            continue
        previous = as_text(request.get("previous_response_id"))
        kept = (c for c in conversations.values() if previous and c.response_id == previous)
        conversation = next(kept, None) or conversations.get(name)
        if conversation is None:
            conversation = conversations[name] = Conversation(Draft(name, NAME))
        api = as_text(entry.get("api")) or api_of(request, response)
        extend(conversation, api, known, request, response, source, line)
        if entry.get("error"):
            conversation.draft.note("error", {"error": entry["error"]})
    for conversation in conversations.values():
        yield conversation.draft.trace()
