"""What was not found, and what failed: two kinds, said apart."""

from __future__ import annotations

import json

import pytest

from contextctl.core.explain.advice import advice
from contextctl.core.explain.failed import execution_failures
from contextctl.core.explain.seen import Seen
from contextctl.core.explain.whatif import settled
from contextctl.core.walk import walk
from contextctl.model.explanation import Advice
from contextctl.model.message import Message, ToolCall
from contextctl.model.record import Event, IndexRead, MessageAdded, Noted, ResultArrived, StepTaken
from tests.unit.core.folding import Words, opened, profile, turn, user


def seen(*events: Event) -> Seen:
    prof = profile(5_000, prefix=[{"id": "skills", "index": "skills"}])
    told = [*settled([opened(), *events])]
    last = list(walk(prof, Words(), (*told, StepTaken(99))))[-1].assembly
    return Seen(prof, told, len(told), last.ledger, (), last.messages)


def failed(topic: str, failure: str, tool: str, reason: str) -> Noted:
    body = {"failure": failure, "tool": tool, "call_id": "c1", "reason": reason}
    return Noted(f"{topic}_failure", body)


def selected(found: Seen) -> dict[str, Advice]:
    return {one.symptom: one for one in advice(found) if one.stage == "select"}


@pytest.mark.parametrize(
    ("kind", "do"),
    [
        ("index", "contextctl validate"),
        ("query", "descriptions"),
        ("grant", "'documents'"),
        ("load", "tool_search"),
    ],
)
def test_each_kind_of_discovery_failure_has_its_own_edit(kind, do):
    note = failed("discovery", f"discovery.{kind}", "view_skill", "no skill 'unpack'")
    one = selected(seen(user("go"), *turn(1), note))[f"discovery failed ({kind})"]
    assert "view_skill: no skill 'unpack'" in one.evidence
    assert do in one.do


def test_execution_failures_are_counted_apart():
    events = [failed("execution", "execution.tool", "pay", "HTTP 500")] * 2
    events.append(failed("execution", "execution.arguments", "look", "missing 'id'"))
    found = seen(user("go"), *turn(1), *events)
    assert execution_failures(found) == (
        "execution failed before this step: pay (tool) x2, look (arguments) x1"
    )
    assert selected(found) == {}
    assert execution_failures(seen(user("go"), *turn(1))) == ""


INDEX = IndexRead(
    "skills",
    (
        {"name": "refunds", "about": "Use when a customer asks for money back"},
        {"name": "labels", "about": "Print a parcel label"},
    ),
)
ASKED = user("The customer wants his money back for order 17, can you refund it?")


def test_a_skill_that_fits_and_was_never_loaded_is_told():
    one = selected(seen(INDEX, ASKED, *turn(1)))["indexed, needed, never loaded"]
    assert "'refunds' fits what was asked" in one.evidence
    assert "labels" not in one.evidence


def test_a_skill_that_was_loaded_or_does_not_fit_is_not():
    call = ToolCall("v1", "view_skill", json.dumps({"name": "refunds"}))
    asked = MessageAdded(Message("assistant", None, (call,)))
    loaded = [asked, ResultArrived("v1", "view_skill", "x")]
    assert selected(seen(INDEX, ASKED, *loaded, *turn(2))) == {}
    assert selected(seen(INDEX, user("Where is parcel 9?"), *turn(1))) == {}
    assert selected(seen(INDEX, ASKED)) == {}  # there was no time to
