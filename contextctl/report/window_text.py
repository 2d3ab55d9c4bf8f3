"""A window as a person reads it: each message under its owner, omissions marked."""

from __future__ import annotations

import json
from collections.abc import Iterator

from contextctl.model.assembly import Assembly
from contextctl.model.ledger import Action, Item
from contextctl.model.message import JsonObject


def window_text(assembly: Assembly) -> str:
    """The whole window as text."""
    return "\n".join(_lines(assembly)) + "\n"


def _lines(assembly: Assembly) -> Iterator[str]:
    ledger = assembly.ledger
    fits = ledger.status != "overflow"
    yield (
        f"{ledger.task} step {ledger.step}: {ledger.total:,} of {ledger.usable:,} usable tokens"
        f" ({ledger.zone}), {_count(len(ledger.items), 'message')},"
        f" {ledger.buckets['tools_schema']:,} tokens of tool schemas"
    )
    actions = {action.target: action for action in ledger.actions}
    if not fits:
        yield "This step does not fit, so it has no window; `contextctl explain` says why."
        yield "What it would have to hold:"
        yield from (_head(item, actions.get(item.event)) for item in ledger.items)
        return
    names = ", ".join(_name(tool) for tool in assembly.tools)
    yield f"tools: {names}" if names else "tools: none"
    for item, message in zip(ledger.items, assembly.messages, strict=True):
        yield ""
        yield _head(item, actions.get(item.event))
        yield from _body(message)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _name(tool: JsonObject) -> str:
    function = tool.get("function")
    return str(function.get("name")) if isinstance(function, dict) else str(tool.get("type"))


def _head(item: Item, action: Action | None) -> str:
    head = f"=== {item.event} {item.role} · {item.part} · {item.tokens:,} tokens"
    if action is None:
        return head
    where = action.origin or f"default of {action.rule}"
    ref = f", whole: {action.ref}" if action.ref else ""
    return f"{head} · {action.kind} from {action.tokens_before:,} ({where}{ref})"


def _body(message: JsonObject) -> Iterator[str]:
    content = message.get("content")
    if isinstance(content, str):
        yield content
    elif content is not None:
        yield json.dumps(content, ensure_ascii=False)
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict) and isinstance(call.get("function"), dict):
            function = call["function"]
            yield f"-> {function['name']} {function['arguments']}"  # type: ignore[index,call-overload]  # our own rendering
