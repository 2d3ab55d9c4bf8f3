"""Whether a provider would accept a message list, and whether it still says what is asked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from contextctl.core.measure.needed import calls_of, content_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contextctl.model.message import JsonObject


def window_problems(
    messages: Sequence[JsonObject], earlier: Sequence[JsonObject]
) -> tuple[str, ...]:
    """What makes a message list unsendable or headless; ``earlier`` is the trace so far."""
    problems: list[str] = []
    open_calls: list[str] = []
    for message in messages:
        if message.get("role") == "tool":
            answered = str(message.get("tool_call_id"))
            if answered in open_calls:
                open_calls.remove(answered)
            else:
                problems.append("a result that answers no open call")
            continue
        if open_calls:
            problems.append("a call that nobody answered")
        open_calls = [str(call.get("id")) for call in calls_of(message)]
    if open_calls:
        problems.append("a call that nobody answered")
    first = next((m for m in earlier if m.get("role") == "user"), None)
    if first is not None and not _present(first, messages):
        problems.append("the first user message is missing")
    if earlier and not _present(earlier[-1], messages):
        problems.append("the newest message is missing")
    return tuple(dict.fromkeys(problems))


def _present(wanted: JsonObject, messages: Sequence[JsonObject]) -> bool:
    """Whether a trace's message stands in the window: results and calls by id, others by text."""
    role, text = wanted.get("role"), content_text(wanted)
    if role == "tool":
        # An id that named two calls is made distinct by a number at its end.
        call_id = re.compile(re.escape(str(wanted.get("tool_call_id"))) + r"(?:_\d+)?")
        answered = (str(m.get("tool_call_id")) for m in messages if m.get("role") == "tool")
        return any(call_id.fullmatch(answer) for answer in answered)
    asked = {str(call.get("id")) for call in calls_of(wanted)}
    if asked:
        return any(asked <= {str(call.get("id")) for call in calls_of(m)} for m in messages)
    if not text.strip():
        return True  # an aborted turn says nothing; providers refuse an empty message
    return any(text in content_text(m) for m in messages if m.get("role") == role)
