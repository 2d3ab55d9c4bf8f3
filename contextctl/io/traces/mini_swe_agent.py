"""mini-swe-agent ``.traj.json``: chat messages with the provider's raw response beside each reply.

The submission that ends a run is an ``exit`` message that no model saw: a note. The call that
submitted has no result. The only tool, ``bash``, is described in the agent, not in the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextctl.io.traces.draft import Draft, as_list, as_object, as_text
from contextctl.io.traces.openai_chat import add_checked
from contextctl.io.traces.usage import usage_fact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contextctl.io.traces.source import Source
    from contextctl.model.message import JsonObject
    from contextctl.model.trace import Trace

NAME = "mini-swe-agent"
_SENT = ("role", "content", "tool_calls", "tool_call_id", "name")


def recognises(source: Source) -> bool:
    """Whether a document says it is this format, or has its ``info`` beside messages."""
    return any(
        isinstance(value, dict)
        and (
            as_text(value.get("trajectory_format")).startswith("mini-swe-agent")
            or ({"info", "messages"} <= value.keys() and "mini_version" in as_object(value["info"]))
        )
        for value in source.head
    )


def read(source: Source) -> Iterator[Trace]:
    """One trace a document."""
    for line, value in source.values():
        body = as_object(value)
        draft = Draft(as_text(body.get("instance_id")), NAME)
        config = as_object(as_object(body.get("info")).get("config"))
        draft.model = as_text(as_object(config.get("model")).get("model_name"))
        for item in as_list(body.get("messages")):
            entry = as_object(item)
            if entry.get("role") == "exit":
                draft.note("exit", {"content": entry.get("content")})
                continue
            _add(draft, entry, source, line)
        yield draft.trace()


def _add(draft: Draft, entry: JsonObject, source: Source, line: int) -> None:
    add_checked(draft, {key: entry[key] for key in _SENT if key in entry}, source, line)
    extra = as_object(entry.get("extra"))
    response = as_object(extra.get("response"))
    if entry.get("role") == "assistant" and response:
        # The configured name says the provider too; the response only its own short name.
        model = draft.model or response.get("model")
        draft.use(usage_fact(response.get("usage"), model, extra.get("cost")))
