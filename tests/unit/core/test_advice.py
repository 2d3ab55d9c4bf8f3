"""Symptoms and the advice for each: seen on small records made for them, and on nothing else."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from contextctl.core.explain.advice import advice
from contextctl.core.explain.seen import Past, Seen
from contextctl.core.explain.whatif import settled
from contextctl.core.walk import walk
from contextctl.model.explanation import STAGES, Advice
from contextctl.model.message import Message, ToolCall, ToolSpec
from contextctl.model.profile import Profile
from contextctl.model.record import (
    Event,
    MessageAdded,
    Noted,
    ResultArrived,
    RetrievedAdded,
    StepTaken,
    Todo,
    TodoSet,
    ToolsListed,
)
from tests.conftest import ROOT
from tests.unit.core.folding import Words, opened, profile, turn, user


def called(number: int, name: str, arguments: dict[str, Any], result: str) -> list[Event]:
    call = ToolCall(f"c{number}", name, json.dumps(arguments, ensure_ascii=False))
    return [MessageAdded(Message("assistant", None, (call,))), ResultArrived(call.id, name, result)]


def seen(events: list[Event], prof: Profile, later: list[Event] | None = None) -> Seen:
    """The step after ``events``; ``later`` is what the record holds beyond it."""
    events = [*settled(events)]
    walked = list(walk(prof, Words(), (*events, StepTaken(99))))
    last = walked[-1].assembly
    past = tuple(
        Past(w.assembly.ledger.step, w.assembly.ledger.total, w.assembly.ledger.ratio, "ok",
             w.assembly.ledger.prefix.broke_at)
        for w in walked
    )  # fmt: skip
    return Seen(prof, [*events, *(later or [])], len(events), last.ledger, past, last.messages)


def symptoms(found: Seen) -> dict[str, Advice]:
    return {one.symptom: one for one in advice(found)}


def test_a_calm_window_needs_no_advice() -> None:
    events = [opened(), user("tidy up"), *turn(1, 10), *turn(2, 10)]
    assert advice(seen(events, profile(5_000))) == ()


def test_results_over_half_name_the_tool_and_rung_one() -> None:
    events = [opened(), user("tidy up"), *turn(1, 300), *turn(2, 300, tool="list")]
    one = symptoms(seen(events, profile(1_000, shaping={"max_tokens": 5_000})))[
        "tool results are over half"
    ]
    assert (one.stage, one.remedy) == ("budget", 1)
    assert "tools." in one.do


def test_one_item_that_overflows_alone_is_rung_four() -> None:
    prof = profile(700, remedies={"shape": False, "trim": False, "offload": False})
    events = [opened(), user("read it"), *turn(1, 20), *turn(2, 900)]
    one = symptoms(seen(events, prof))["one item fills the window"]
    assert one.remedy == 4
    assert "e08 (bash result, step 2) takes" in one.evidence


def test_large_schemas_are_rung_three() -> None:
    words = " ".join(["word"] * 300)
    tools = ToolsListed("trace", (ToolSpec("bash", words, {"type": "object"}),))
    events = [opened(), tools, user("go"), *turn(1, 10)]
    one = symptoms(seen(events, profile(600)))["large system text or tool schemas"]
    assert one.remedy == 3


def test_a_long_conversation_that_fills_late_is_rung_two() -> None:
    prof = profile(520, remedies={"shape": False, "trim": False, "offload": False})
    events: list[Event] = [opened(), user("go")]
    for number in range(1, 14):
        call = ToolCall(f"c{number}", "bash", '{"command": "' + "word " * 40 + str(number) + '"}')
        events += [MessageAdded(Message("assistant", None, (call,)))]
        events += [ResultArrived(call.id, "bash", "ok")]
    assert symptoms(seen(events, prof))["full only late, in a long conversation"].remedy == 2


def test_a_stretch_that_reads_most_is_rung_five() -> None:
    prof = profile(4_000, remedies={"shape": False, "trim": False, "offload": False})
    events: list[Event] = [opened(), user("go")]
    for number in range(1, 22):
        events += turn(number, 400 if 3 <= number <= 8 else 10)
    one = symptoms(seen(events, prof))["one stretch of work eats the window"]
    assert one.remedy == 5
    assert "steps 3-8" in one.evidence


@pytest.mark.parametrize(
    "question",
    ["How many orders are late?", "What is the total?", "一共有几笔待发货？", "多少订单？"],
)
def test_a_counting_question_over_a_cut_list_asks_for_an_aggregate(question: str) -> None:
    rows = [{"id": n, "state": "late"} for n in range(20)]
    page = json.dumps({"items": rows, "total": 217, "next_cursor": "20"})
    events = [opened(), user(question), *called(1, "list_orders", {}, page)]
    later: list[Event] = [MessageAdded(Message("assistant", "There are 20 orders."))]
    one = symptoms(seen(events, profile(5_000), later))["a part is counted as the whole"]
    assert one.stage == "select"
    assert "20 of 217" in one.evidence
    assert "step 2 then says 20" in one.evidence
    assert "tools.list_orders.result.aggregate" in one.do


def test_a_whole_list_or_another_question_is_no_false_total() -> None:
    rows = [{"id": n} for n in range(20)]
    whole = json.dumps({"items": rows, "total": 20})
    events = [opened(), user("How many?"), *called(1, "list_orders", {}, whole)]
    assert "a part is counted as the whole" not in symptoms(seen(events, profile(5_000)))
    page = json.dumps({"items": rows, "total": 217})
    events = [opened(), user("Open the first one."), *called(1, "list_orders", {}, page)]
    assert "a part is counted as the whole" not in symptoms(seen(events, profile(5_000)))


def test_fields_that_nobody_reads_become_a_whitelist() -> None:
    rows = [
        {
            "id": f"PX-{n}00",
            "city": f"Town{n}",
            "note": f"long note {n} " * 4,
            "hash": f"ab{n}cdef99",
        }
        for n in range(8)
    ]
    events = [opened(), user("Where does it go?"), *called(1, "orders", {}, json.dumps(rows))]
    later: list[Event] = [MessageAdded(Message("assistant", "PX-300 goes to Town3."))]
    one = symptoms(seen(events, profile(5_000), later))["fields that nobody reads"]
    assert one.remedy == 1
    assert one.do == "tools.orders.result.fields: [id, city]"
    assert "note, hash" in one.evidence


def test_the_same_call_three_times_is_drift() -> None:
    events: list[Event] = [opened(), user("find it")]
    for number in range(1, 4):
        events += called(number, "search", {"q": "parser"}, "nothing found")
    one = symptoms(seen(events, profile(5_000)))["the agent repeats itself"]
    assert "3 times with the same answer (steps 1, 2, 3)" in one.evidence


def test_a_build_after_each_edit_is_work_and_no_drift() -> None:
    events: list[Event] = [opened(), user("fix it")]
    for number in range(1, 5):
        events += called(2 * number, "edit", {"line": number}, "ok")
        events += called(2 * number, "build", {}, "ok")
        events += called(2 * number + 100, "edit", {"line": -number}, "ok")
    assert "the agent repeats itself" not in symptoms(seen(events, profile(5_000)))


def test_an_invented_id_that_keeps_failing_is_poisoning() -> None:
    events: list[Event] = [opened(), user("cancel my order")]
    for number, name in enumerate(["get_order", "cancel", "refund"], start=1):
        events += called(number, name, {"id": "ORD-9999"}, "Error: order not found")
    one = symptoms(seen(events, profile(5_000)))["an invented value is taken for a fact"]
    assert one.stage == "assemble"
    assert "'ORD-9999'" in one.evidence
    told = [opened(), user("cancel my order ORD-9999"), *events[2:]]
    assert "an invented value is taken for a fact" not in symptoms(seen(told, profile(5_000)))


def test_a_rule_that_left_the_window_is_truncation_amnesia() -> None:
    rule = "Only ship to the company address."
    events: list[Event] = [opened(), user("hello"), *turn(1, 5)]
    events += [user(rule + "\n" + "word " * 40), *turn(2, 5)]
    found = seen(events, profile(5_000))
    assert "truncation amnesia" not in symptoms(found)
    without = [m for m in found.messages if rule not in str(m.get("content"))]
    cut = Seen(found.profile, found.events, found.at, found.now, found.past, without)
    one = symptoms(cut)["truncation amnesia"]
    assert (one.stage, "Only ship" in one.evidence) == ("recover", True)


def test_a_value_that_is_needed_now_and_gone_is_told() -> None:
    events = [opened(), user("go"), *called(1, "find", {}, "ticket INC-20931-EU is open")]
    later = called(2, "close", {"id": "INC-20931-EU"}, "ok")
    found = seen(events, profile(5_000), later)
    assert "a value that is needed now has left the window" not in symptoms(found)
    cut = Seen(found.profile, found.events, found.at, found.now, found.past, found.messages[:1])
    one = symptoms(cut)["a value that is needed now has left the window"]
    assert "'INC-20931-EU'" in one.evidence


def test_compactions_that_the_agent_made_itself_are_told() -> None:
    events = [opened(), user("go"), *turn(1, 5), Noted("compaction", {"summary": "…"})]
    one = symptoms(seen(events, profile(5_000)))["the agent compacted by itself"]
    assert "1 times, after step 1" in one.evidence


def test_a_tool_that_is_not_offered_is_a_matter_of_selection() -> None:
    tools = ToolsListed("trace", (ToolSpec("bash", "", {"type": "object"}),))
    events = [opened(), tools, user("go"), *turn(1, 5, tool="bsh")]
    assert symptoms(seen(events, profile(5_000)))["a tool is called that is not offered"].stage == (
        "select"
    )


def test_a_prefix_that_breaks_at_every_step_is_told() -> None:
    events = [opened(), user("go"), *turn(1, 5)]
    found = seen(events, profile(5_000))
    past = tuple(Past(step, 100, 0.1, "ok", "layer:environment") for step in range(1, 8))
    broken = Seen(found.profile, found.events, found.at, found.now, past, found.messages)
    assert "layer:environment" in symptoms(broken)["every step costs more than it adds"].evidence


def test_a_question_that_does_not_fit_by_itself_is_no_matter_of_compaction() -> None:
    events = [opened(), user("word " * 900), *turn(1, 5)]
    found = symptoms(seen(events, profile(500)))
    one = found["what may not be cut does not fit"]
    assert (one.stage, one.remedy) == ("select", 0)
    assert "most of it query" in one.evidence
    assert "close to full with every other remedy at work" not in found


def test_passages_that_leave_no_trace_are_told() -> None:
    passages = ({"id": "kb-17", "text": "The limit is INV-4471-EU.", "source": "limits.md"},)
    events = [opened(), RetrievedAdded(passages), user("What is the limit?")]
    unused: list[Event] = [MessageAdded(Message("assistant", "I do not know."))]
    used: list[Event] = [MessageAdded(Message("assistant", "INV-4471-EU, says the manual."))]
    symptom = "material that was provided is not used"
    walked = [*events, *unused, user("Are you sure?")]
    assert symptoms(seen(walked, profile(5_000)))[symptom].stage == "select"
    assert symptom not in symptoms(seen([*events, *used, user("Thanks")], profile(5_000)))
    assert symptom not in symptoms(seen(events, profile(5_000)))


def test_an_answer_with_open_items_in_the_plan_is_told() -> None:
    plan = TodoSet((Todo("read", "done"), Todo("write", "pending"), Todo("send", "failed")))
    events = [opened(), user("go"), *turn(1, 5), plan]
    later: list[Event] = [MessageAdded(Message("assistant", "All done!"))]
    one = symptoms(seen(events, profile(5_000), later))["the plan is taken as done"]
    assert "1 of 3 items" in one.evidence
    closed = TodoSet((Todo("read", "done"), Todo("write", "done")))
    events = [opened(), user("go"), *turn(1, 5), closed]
    assert "the plan is taken as done" not in symptoms(seen(events, profile(5_000), later))


def test_stages_come_in_their_order_and_nothing_asks_for_more_prompt_or_window() -> None:
    rows = json.dumps({"items": [{"id": n} for n in range(9)], "total": 99})
    events: list[Event] = [opened(), user("How many are there?")]
    for number in range(1, 4):
        events += called(number, "list", {"q": "all"}, rows + " word" * 400)
    found = advice(seen(events, profile(900, remedies={"shape": False, "trim": False})))
    order = [STAGES.index(one.stage) for one in found]
    assert order == sorted(order)
    assert len(found) >= 2
    for one in found:
        said = f"{one.do} {one.symptom}".lower()
        assert "larger window" not in said
        assert "system prompt" not in said


def test_every_symptom_stands_in_the_table_of_the_first_hour() -> None:
    table = (ROOT / "docs" / "first-hour.md").read_text(encoding="utf-8")
    sources = [
        ROOT / "contextctl" / "core" / "explain" / name for name in ("advice.py", "symptoms.py")
    ]
    found = {
        symptom
        for source in sources
        for symptom in re.findall(
            r'Advice\(\s*"\w+",\s*"([^"]+)"', source.read_text(encoding="utf-8")
        )
    }
    assert len(found) >= 18
    assert [symptom for symptom in found if symptom not in table] == []
