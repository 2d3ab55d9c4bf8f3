"""SWE-agent ``.traj`` files: the ``history`` that the model saw.

Agents without function calling receive what the environment printed as user messages; those are
named ``observation``. Tool schemas are not in the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextctl.io.traces.draft import Draft, as_list, as_object, as_text
from contextctl.io.traces.openai_chat import add_checked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contextctl.io.traces.source import Source
    from contextctl.model.message import Json, JsonObject
    from contextctl.model.trace import Trace

NAME = "swe-agent"


def recognises(source: Source) -> bool:
    """Whether a document has ``history`` beside ``trajectory``."""
    return any(
        isinstance(value, dict)
        and isinstance(value.get("history"), list)
        and isinstance(value.get("trajectory"), list)
        for value in source.head
    )


def read(source: Source) -> Iterator[Trace]:
    """One trace a document."""
    for line, value in source.values():
        body = as_object(value)
        draft = Draft("", NAME)
        config = as_object(body.get("replay_config"))
        model = as_object(as_object(config.get("agent")).get("model"))
        draft.model = as_text(model.get("name"))
        for item in as_list(body.get("history")):
            add_checked(draft, _message(as_object(item), started=draft.turns > 0), source, line)
        info = as_object(body.get("info"))
        draft.note(
            "info", {key: info[key] for key in ("exit_status", "model_stats") if key in info}
        )
        yield draft.trace()


def _message(entry: JsonObject, *, started: bool) -> JsonObject:
    role = entry.get("role")
    message: JsonObject = {"role": role, "content": entry.get("content")}
    if role == "assistant":
        message["tool_calls"] = entry.get("tool_calls")
    elif role == "tool":
        ids: list[Json] = as_list(entry.get("tool_call_ids"))
        message["tool_call_id"] = entry.get("tool_call_id") or (ids[0] if ids else "")
    elif role == "user" and started:
        message["name"] = "observation"
    return message
