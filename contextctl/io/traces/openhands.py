"""OpenHands: the log of one model call, with the exact request and its response.

One file is one step; the last file of a run holds the whole conversation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextctl.io.traces.draft import Draft, as_list, as_object, as_text
from contextctl.io.traces.openai_chat import add_checked
from contextctl.io.traces.usage import usage_fact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contextctl.io.traces.source import Source
    from contextctl.model.message import Json, JsonObject
    from contextctl.model.trace import Trace

NAME = "openhands"


def recognises(source: Source) -> bool:
    """Whether a document has the call's messages beside its response and its ``kwargs``."""
    return any(
        isinstance(value, dict) and {"messages", "response", "kwargs"} <= value.keys()
        for value in source.head
    )


def read(source: Source) -> Iterator[Trace]:
    """One trace a document: the request's messages, then the reply."""
    for line, value in source.values():
        body, draft = as_object(value), Draft("", NAME)
        response = as_object(body.get("response"))
        inner = as_object(body.get("kwargs")).get("tools")
        draft.offer(as_list(body.get("tools")) or as_list(inner))
        for item in as_list(body.get("messages")):
            add_checked(draft, flat(as_object(item)), source, line)
        choice = as_object((as_list(response.get("choices")) or [None])[0])
        if isinstance(choice.get("message"), dict):
            add_checked(draft, flat(as_object(choice["message"])), source, line)
            usage = usage_fact(response.get("usage"), response.get("model"), body.get("cost"))
            draft.use(usage)
        draft.model = draft.model or as_text(response.get("model"))
        yield draft.trace()


def flat(message: JsonObject) -> JsonObject:
    """A message whose content parts are all text, as text."""
    parts = as_list(message.get("content"))
    if not parts or any(as_object(part).get("type") != "text" for part in parts):
        return message
    text: Json = "\n".join(as_text(as_object(part).get("text")) for part in parts)
    return {**message, "content": text}
