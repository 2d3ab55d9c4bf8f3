"""The tail: what holds right now, as the last message, rebuilt for every step.

Reminders and changed readings stand where a model looks most, after everything a cache can hold.
They are replaced, never accumulated, and never become part of the history.
"""

from __future__ import annotations

from contextctl.core.compaction.plan import todo_lines
from contextctl.core.count import message_parts
from contextctl.core.fold.pins import pin_news
from contextctl.core.fold.prefix import environment_news, index_news
from contextctl.core.fold.reminders import reminder_lines
from contextctl.core.fold.state import State
from contextctl.model.message import JsonObject, Message

HEADING = {"en": "[now] State of this run, not a request:", "zh": "[当前] 运行状态，不是新请求："}


def tail_message(state: State) -> tuple[JsonObject, int] | None:
    """The tail block and its tokens, or None when there is nothing to say."""
    lines = reminder_lines(state)
    lines += environment_news(state)
    lines += [f"- {line}" for line in index_news(state)]
    lines += [f"- {line}" for line in pin_news(state)]
    lines += todo_lines(state)
    if not lines:
        return None
    text = "\n".join([HEADING[state.profile.shaping.locale], *lines])
    message = Message(role="user", content=text)
    return message.to_openai(), sum(message_parts(message, state.counter).values())
