"""tau2-bench results: ``simulations`` with the agent's and the simulated user's messages.

The agent's view is read: calls that the user side made, and their results, are notes. The policy
of the domain is the system message; the agent wraps a few lines around it that the file lacks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextctl.io.traces.draft import Draft, as_list, as_object, as_text, tool_call, tool_result
from contextctl.io.traces.usage import usage_fact
from contextctl.model.message import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contextctl.io.traces.source import Source
    from contextctl.model.message import JsonObject
    from contextctl.model.trace import Trace

NAME = "tau2"


def recognises(source: Source) -> bool:
    """Whether a document has a list of ``simulations``."""
    return any(
        isinstance(value, dict) and isinstance(value.get("simulations"), list)
        for value in source.head
    )


def read(source: Source) -> Iterator[Trace]:
    """One trace a simulation: task and trial name it."""
    for line, value in source.values():
        body = as_object(value)
        info = as_object(body.get("info"))
        environment = as_object(info.get("environment_info"))
        for item in as_list(body.get("simulations")):
            simulation = as_object(item)
            name = f"{simulation.get('task_id')}-r{simulation.get('trial', 0)}"
            draft = Draft(name, NAME, model=as_text(as_object(info.get("agent_info")).get("llm")))
            draft.offer(as_list(environment.get("tool_defs")))
            policy = simulation.get("policy") or environment.get("policy")
            if isinstance(policy, str):
                draft.add(Message("system", policy))
            for message in as_list(simulation.get("messages")):
                _add(draft, as_object(message), source, line)
            ending = ("reward_info", "termination_reason", "agent_cost")
            draft.note("ending", {key: simulation.get(key) for key in ending})
            yield draft.trace()


def _add(draft: Draft, message: JsonObject, source: Source, line: int) -> None:
    role, content = as_text(message.get("role")), message.get("content")
    text = content if content is None or isinstance(content, str) else as_text(content)
    if role == "tool":
        if message.get("requestor") == "user":
            draft.note("user_tool", message)
            return
        failed = message.get("error") is True
        draft.add(tool_result(message.get("id"), message.get("name"), text, failed=failed))
    elif role == "assistant":
        calls = (as_object(call) for call in as_list(message.get("tool_calls")))
        made = tuple(tool_call(c.get("id"), c.get("name"), c.get("arguments")) for c in calls)
        draft.add(Message("assistant", text, tool_calls=made))
        draft.use(usage_fact(message.get("usage"), draft.model, message.get("cost")))
    elif role == "user" and not message.get("tool_calls"):
        draft.add(Message("user", text))
    elif role == "user":
        draft.note("user_tool", message)
    else:
        source.warn(line, f"skipped: unknown role {role!r} in simulation '{draft.id}'")
