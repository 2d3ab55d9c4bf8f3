"""Deferred tools in an explanation: not offered at every step, and told when one was needed."""

from __future__ import annotations

from contextctl.core.explain.advice import advice
from contextctl.core.explain.seen import Seen
from contextctl.core.explain.whatif import settled
from contextctl.core.tools.waiting import waiting_tools
from contextctl.core.walk import walk
from contextctl.model.message import JsonObject, Message, ToolCall, ToolSpec
from contextctl.model.record import (
    Event,
    MessageAdded,
    ResultArrived,
    StepTaken,
    ToolsActivated,
    ToolsListed,
)
from tests.unit.core.folding import Words, opened, profile, turn, user

SCHEMA: JsonObject = {"type": "object", "properties": {}}
MANY = ToolsListed("post", tuple(ToolSpec(f"send_{n}", "", SCHEMA, "post") for n in range(40)))
REFUND = ToolsListed(
    "desk",
    (
        ToolSpec("refund_order", "Refund an order of a customer", SCHEMA, "desk"),
        *(ToolSpec(f"other_{n}", "Something else entirely", SCHEMA, "desk") for n in range(11)),
    ),
)


def seen(*events: Event) -> Seen:
    prof = profile(5_000)
    told = [*settled([opened(), *events])]
    last = list(walk(prof, Words(), (*told, StepTaken(99))))[-1].assembly
    return Seen(prof, told, len(told), last.ledger, (), last.messages)


def symptoms(found: Seen) -> dict[str, str]:
    return {one.symptom: one.evidence for one in advice(found)}


def searched(*names: str) -> tuple[Event, ...]:
    call = ToolCall("s1", "tool_search", '{"query": "x"}')
    return (
        MessageAdded(Message("assistant", None, (call,))),
        ResultArrived("s1", "tool_search", "found"),
        ToolsActivated(names, "s1"),
    )


def test_what_waits_is_what_no_search_has_loaded():
    assert set(waiting_tools(seen(MANY, user("go")))) == {f"send_{n}" for n in range(40)}
    found = seen(MANY, user("go"), *searched("send_3"))
    assert len(waiting_tools(found)) == 39
    assert "send_3" not in waiting_tools(found)


def test_deferred_tools_are_not_many_to_choose_from_and_a_search_is_no_unknown_tool():
    told = symptoms(seen(MANY, user("go"), *searched("send_3")))
    assert "many tools to choose from" not in told
    assert "a tool is called that is not offered" not in told


def test_a_tool_that_fits_and_was_not_searched_for_is_told():
    asked = user("Please refund the order of this customer")
    told = symptoms(seen(REFUND, asked, *turn(1)))
    assert "'refund_order'" in told["indexed, needed, never loaded"]
    found = symptoms(seen(REFUND, asked, *searched("refund_order")))
    assert "indexed, needed, never loaded" not in found
    other = symptoms(seen(REFUND, user("What is the weather?"), *turn(1)))
    assert "indexed, needed, never loaded" not in other
