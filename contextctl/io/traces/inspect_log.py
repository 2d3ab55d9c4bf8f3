"""Inspect AI eval logs in JSON: one trace a sample, with the tools and usage of its model events.

Long texts stand in ``attachments`` and are referred to as ``attachment://…``: they are put back.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from contextctl.io.traces.draft import Draft, as_list, as_object, as_text, tool_call, tool_result
from contextctl.io.traces.usage import usage_fact
from contextctl.model.message import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contextctl.io.traces.source import Source
    from contextctl.model.message import Json, JsonObject
    from contextctl.model.trace import Trace

NAME = "inspect"
_ATTACHMENT = re.compile(r"attachment://([0-9a-f]{32})")


def recognises(source: Source) -> bool:
    """Whether a document has ``eval`` and ``samples``."""
    return any(
        isinstance(value, dict) and "eval" in value and isinstance(value.get("samples"), list)
        for value in source.head
    )


def read(source: Source) -> Iterator[Trace]:
    """One trace a sample: task, sample and epoch name it."""
    for _, value in source.values():
        body = as_object(value)
        spec = as_object(body.get("eval"))
        for item in as_list(body.get("samples")):
            sample = as_object(item)
            epoch = f"-e{sample['epoch']}" if sample.get("epoch") not in (None, 1) else ""
            name = f"{as_text(spec.get('task')) or source.name}-{sample.get('id')}{epoch}"
            draft = Draft(name, NAME, model=as_text(spec.get("model")))
            _fill(draft, as_object(_attached(sample, as_object(sample.get("attachments")))))
            yield draft.trace()


def _fill(draft: Draft, sample: JsonObject) -> None:
    calls = [as_object(event) for event in as_list(sample.get("events"))]
    calls = [event for event in calls if event.get("event") == "model"]
    for event in calls:
        draft.offer(as_list(event.get("tools")))
    # The usage of a reply is found by the reply's id, else by its place among the calls.
    usages: dict[str, JsonObject] = {}
    for event in calls:
        choice = as_object((as_list(as_object(event.get("output")).get("choices")) or [None])[0])
        usages[as_text(as_object(choice.get("message")).get("id"))] = event
    for item in as_list(sample.get("messages")):
        message = as_object(item)
        _add(draft, message)
        if message.get("role") == "assistant":
            event = usages.get(as_text(message.get("id"))) or {}
            if not event and draft.turns <= len(calls):
                event = calls[draft.turns - 1]
            usage = as_object(event.get("output")).get("usage")
            draft.use(usage_fact(usage, event.get("model") or draft.model))
    scores = sample.get("scores")
    if scores:
        draft.note("scores", {"scores": scores})


def _add(draft: Draft, message: JsonObject) -> None:
    role, content = as_text(message.get("role")), _content(message.get("content"), draft)
    if role == "tool":
        error = as_object(message.get("error"))
        text = content or as_text(error.get("message"))
        call_id, name = message.get("tool_call_id"), message.get("function")
        draft.add(tool_result(call_id, name, text, failed=bool(error)))
        return
    calls = (as_object(call) for call in as_list(message.get("tool_calls")))
    made = tuple(tool_call(c.get("id"), c.get("function"), c.get("arguments")) for c in calls)
    draft.add(Message(role, content, tool_calls=made))


def _content(raw: Json, draft: Draft) -> str | list[Json] | None:
    if raw is None or isinstance(raw, str):
        return raw
    parts: list[Json] = []
    for item in as_list(raw):
        part = as_object(item)
        if part.get("type") == "reasoning":
            draft.note("thinking", {"text": part.get("reasoning")})
        elif part.get("type") == "image":
            parts.append({"type": "image_url", "image_url": {"url": part.get("image")}})
        else:
            parts.append(part)
    if all(as_object(part).get("type") == "text" for part in parts):
        return "\n".join(as_text(as_object(part).get("text")) for part in parts)
    return parts


def _attached(value: Json, texts: JsonObject) -> Json:
    if isinstance(value, str):
        if "attachment://" not in value:
            return value
        return _ATTACHMENT.sub(lambda found: as_text(texts.get(found[1], found[0])), value)
    if isinstance(value, list):
        return [_attached(item, texts) for item in value]
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if key != "attachments"}
        return {key: _attached(item, texts) for key, item in kept.items()}
    return value
