"""Briefs and results: what is told in words, what is counted, what is cut."""

from __future__ import annotations

import json

import pytest

from contextctl.core.tools.coverage import Coverage, call_source, coverage
from contextctl.core.tools.delegation import (
    BRIEF,
    Held,
    brief_text,
    cut_summary,
    held_by,
    material_tokens,
    result_of,
)
from contextctl.model.counter import Approx
from contextctl.model.message import Message, ToolCall, ToolSpec
from contextctl.model.record import (
    Event,
    MessageAdded,
    Noted,
    PinSet,
    ResultArrived,
    StepTaken,
    TaskGiven,
    ToolsListed,
)
from contextctl.model.subagent import SourceFailure

GIVEN = TaskGiven("Plan the trip", ("only trains", "under 200 EUR"), {"confirmed_slots.to": "Ulm"})


def said(text: str, *calls: ToolCall) -> MessageAdded:
    return MessageAdded(Message("assistant", text, calls))


def record_of(*events: Event) -> tuple[Event, ...]:
    fetch = ToolSpec("fetch", "", {"type": "object"})
    return (ToolsListed("profile", (fetch,)), StepTaken(1), *events)


def test_what_holds_is_what_the_record_says_last():
    record = (GIVEN, PinSet("confirmed_slots.to", "Bonn"), PinSet("confirmed_slots.day", 7))
    assert held_by(record, ("constraints", "confirmed_slots")) == (
        Held("constraints.1", "only trains"),
        Held("constraints.2", "under 200 EUR"),
        Held("confirmed_slots.to", "Bonn"),
        Held("confirmed_slots.day", "7"),
    )
    let_go = (*record, PinSet("confirmed_slots.to", None))
    assert [one.key for one in held_by(let_go, ("confirmed_slots",))] == ["confirmed_slots.day"]
    assert held_by(record, ("task",)) == (Held("task", "Plan the trip"),)
    assert held_by(record, ()) == ()


def test_a_subagent_passes_on_what_it_was_told():
    told = {"task": "Read", "held": [{"key": "constraints.1", "text": "only trains"}]}
    record = (TaskGiven("You work on …"), Noted(BRIEF, told))
    assert held_by(record, ("constraints",)) == (Held("constraints.1", "only trains"),)


@pytest.mark.parametrize(("locale", "word"), [("en", "own words"), ("zh", "必须遵守")])
def test_a_brief_writes_constraints_out_in_words(locale, word):
    text = brief_text("Find a train", held_by((GIVEN,), ("constraints", "task")), locale, "MAP")
    for part in ("Find a train", "- only trains", "- under 200 EUR", "Plan the trip", "MAP", word):
        assert part in text
    assert '"status"' in text
    assert "constraints.1" not in text  # in words, not as keys


def test_sources_are_calls_with_their_arguments():
    one, two = ToolCall("1", "fetch", '{"url": "a"}'), ToolCall("2", "fetch", '{"url": "b"}')
    again = ToolCall("3", "fetch", '{"url": "a"}')
    slip = ToolCall("4", "fetch", '{"u": 1}')
    other = ToolCall("5", "read_workspace", '{"ref": "x"}')
    record = record_of(
        said("", one, two, slip, other),
        ResultArrived("1", "fetch", "error: timeout", "error"),
        ResultArrived("2", "fetch", "page"),
        ResultArrived("4", "fetch", "bad", "error", extra={"failure": "execution.arguments"}),
        ResultArrived("5", "read_workspace", "text"),
        said("", again),
        ResultArrived("3", "fetch", "error: 503", "error"),
    )
    covered = coverage(record)
    assert covered == Coverage(2, 1, (SourceFailure("fetch(a)", "503", 1),))
    recovered = (*record, said("", ToolCall("6", "fetch", '{"url": "a"}')))
    assert coverage((*recovered, ResultArrived("6", "fetch", "page"))) == Coverage(2, 2)


def test_a_long_call_has_a_short_name():
    source = call_source(ToolCall("1", "fetch", json.dumps({"url": "x" * 500, "n": [1]})))
    assert len(source) <= 100
    assert source.endswith("…)")
    assert call_source(ToolCall("1", "fetch", "{oops")) == "fetch({oops)"


FINE = Coverage(2, 2)
PART = Coverage(2, 1, (SourceFailure("a", "timeout"),))
NONE = Coverage(1, 0, (SourceFailure("a", "timeout"),))


@pytest.mark.parametrize(
    ("answer", "covered", "fault", "expected"),
    [
        ("Found.", FINE, "", ("ok", "Found.", "high")),
        ("Found.", Coverage(), "", ("ok", "Found.", "medium")),
        ("Found.", PART, "", ("partial", "Found.", "medium")),
        ("Nothing.", NONE, "", ("failed", "Nothing.", "low")),
        ("Found.", FINE, "step limit", ("partial", "Found.", "medium")),
        ('{"status": "partial", "summary": "Some."}', FINE, "", ("partial", "Some.", "medium")),
        ('{"status": "ok", "summary": "Some."}', PART, "", ("partial", "Some.", "medium")),
        ('{"summary": "S", "confidence": "low"}', FINE, "", ("ok", "S", "low")),
        ('```json\n{"status": "ok", "summary": "S"}\n```', FINE, "", ("ok", "S", "high")),
        ('Here: {"status": "failed", "summary": "S"}', FINE, "", ("failed", "S", "low")),
        ('{"status": "odd", "summary": "S"}', FINE, "", ("ok", "S", "high")),
    ],
)
def test_a_result_may_be_worse_than_the_record_and_never_better(answer, covered, fault, expected):
    result = result_of(record_of(said(answer)), covered, fault)
    assert (result.status, result.summary, result.confidence) == expected


@pytest.mark.parametrize(
    "form",
    [
        '{"status": "ok", "summary": "", "confidence": "high"}',
        '```json\n{"status": "ok", "summary": " "}\n```',
        '{"summary": null}',
    ],
)
def test_a_form_without_a_summary_is_no_answer(form):
    empty = result_of(record_of(said(form)), FINE, "")
    assert (empty.status, empty.summary) == ("failed", "subagent ended without an answer")
    assert empty.reason == "the model answered nothing"
    before = result_of(record_of(said("Two are late."), said(form)), FINE, "")
    assert (before.status, before.summary) == ("ok", "Two are late.")


def test_failures_that_only_the_subagent_knows_of_are_passed_on():
    form = {
        "status": "partial",
        "summary": "One page was a login form.",
        "failures": [{"source": "https://a.example", "error": "login"}, {"source": ""}, 5],
    }
    result = result_of(record_of(said(json.dumps(form))), FINE, "")
    assert result.status == "partial"
    assert result.failures == (SourceFailure("https://a.example", "login"),)


def test_an_empty_answer_is_never_success():
    for fault in ("", "no capacity"):
        result = result_of(record_of(said(" \n")), FINE, fault)
        assert (result.status, result.confidence) == ("failed", "low")
        assert result.summary == "subagent ended without an answer"
        assert result.reason


def test_many_failures_are_counted_and_the_first_ten_told():
    failures = tuple(SourceFailure(f"s{n}", "timeout") for n in range(30))
    result = result_of(record_of(said("x")), Coverage(40, 10, failures), "")
    assert (len(result.failures), result.sources_attempted) == (10, 40)


def test_a_long_summary_is_cut_in_the_middle_and_says_where_the_rest_is():
    text = "a" * 5_000 + "b" * 5_000
    cut = cut_summary(text, "s1-ref")
    assert len(cut) < 4_200
    assert cut.startswith("a" * 3_200)
    assert cut.endswith("b" * 800)
    assert "6000 characters left out" in cut
    assert "s1-ref" in cut
    assert cut_summary("short", "s1-ref") == "short"


def test_the_material_is_what_came_after_the_brief():
    before = (MessageAdded(Message("user", "brief " * 100)),)
    after = record_of(said("words"), ResultArrived("1", "fetch", "x" * 4_000))
    tokens = material_tokens((*before, *after), Approx())
    assert 1_000 <= tokens <= 1_030
