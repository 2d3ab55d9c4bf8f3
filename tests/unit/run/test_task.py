"""One task: its facts in order, its endings, and that a crash anywhere changes nothing."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from contextctl.io.runs.folder import TaskFolder
from contextctl.io.runs.records import read_record
from contextctl.model.record import ResultArrived
from contextctl.run.meter import Meter
from contextctl.run.task import run_task

TOOLS = """\
import os, time

def log(text):
    with open('side.log', 'a') as file:
        file.write(text + '\\n')

def look(id: str) -> dict:
    "Look an order up."
    log('look ' + id)
    return {'id': id, 'total': 1}

def slow(id: str) -> str:
    log('slow ' + id)
    time.sleep(0.4)
    return 'slow ' + id

def pay(id: str) -> str:
    log('pay ' + id)
    return 'paid ' + id

def move(zone: str) -> str:
    os.environ['TZ'] = zone
    time.tzset()
    return 'moved'

def long() -> str:
    return 'line of text\\n' * 3000
"""
RULES = {
    "look": {"python": "shop:look", "result": {"pin": {"confirmed_slots.order": "id"}}},
    "slow": {"python": "shop:slow"},
    "pay": {"python": "shop:pay", "side_effects": True},
    "long": {"python": "shop:long"},
    "move": {"python": "shop:move"},
}


def call(own_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": own_id, "name": name, "arguments": arguments}


# What has been answered decides what comes next: a scripted model forgets when its process ends.
SCRIPT = (
    {"content": "all done", "when": '"tool_call_id": "c5"'},
    {"tool_calls": [call("c5", "look", id="B2")], "when": '"tool_call_id": "c4"'},
    {"tool_calls": [call("c3", "long"), call("c4", "look", id="A9")], "when": '"c2"'},
    {"tool_calls": [call("c1", "slow", id="A1"), call("c2", "look", id="A2")]},
)


@pytest.fixture
def shop(bench):
    (bench.folder / "shop.py").write_text(TOOLS, "utf-8")
    bench.profile(tools=RULES)
    bench.script(*SCRIPT)
    return bench


def folder_of(bench, name: str) -> TaskFolder:
    return TaskFolder(bench.folder / "runs" / name / "tasks" / "t1")


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def without_times(path: Path) -> list[dict[str, Any]]:
    return [{k: v for k, v in line.items() if k != "measured"} for line in lines_of(path)]


def kinds(folder: TaskFolder) -> list[str]:
    return [line["kind"] for line in lines_of(folder.record)]


def test_the_facts_stand_in_the_order_in_which_they_must_survive(shop, make_task):
    folder = folder_of(shop, "a")
    given = make_task(input="go", constraints=["no guessing"])
    ended = run_task(shop.setting(), given, folder)
    assert (ended.result.status, ended.result.answer, ended.result.steps) == ("ok", "all done", 4)
    opening = ["opened", "note", "task", "tools", "message"]
    pinned = ["result", "pin"]
    assert kinds(folder) == [
        *opening,
        *("step", "message", "call_started", "call_started", "result", *pinned),
        *("step", "message", "call_started", "call_started", "result", *pinned),
        *("step", "message", "call_started", *pinned),
        *("step", "message"),
    ]
    results = [e for e in read_record(folder.record)[0] if isinstance(e, ResultArrived)]
    assert [result.call_id for result in results] == ["c1", "c2", "c3", "c4", "c5"]
    assert [line["step"] for line in lines_of(folder.ledger)] == [1, 2, 3, 4]
    assert [line["step"] for line in lines_of(folder.windows)] == [1, 2, 3, 4]
    assert ended.result.actions == {"shape": 1}


def test_a_crash_after_any_fact_leads_to_the_same_record_ledger_and_windows(shop, make_task):
    whole = folder_of(shop, "whole")
    run_task(shop.setting("w"), make_task(input="go"), whole)
    facts = whole.record.read_text("utf-8").splitlines(keepends=True)
    for cut in range(1, len(facts) + 1):
        folder = folder_of(shop, f"cut{cut}")
        folder.path.mkdir(parents=True)
        torn = facts[cut][:20] if cut < len(facts) else ""
        folder.record.write_text("".join(facts[:cut]) + torn, "utf-8")
        if cut > 6:  # what a run that long may have left beside its record
            folder.ledger.write_text(whole.ledger.read_text("utf-8").splitlines()[0] + "\n")
        ended = run_task(shop.setting(f"w{cut}"), make_task(input="go"), folder)
        assert ended.result.status == "ok", (cut, ended.result.error)
        assert ended.result.steps == 4
        if cut < 6:  # no step was taken yet: it begins anew, under a new key
            assert kinds(folder) == kinds(whole)
            assert "first step" in ended.result.warnings[0]
            continue
        assert folder.record.read_text("utf-8") == "".join(facts), cut
        assert without_times(folder.ledger) == without_times(whole.ledger), cut
        assert lines_of(folder.windows)[-1] == lines_of(whole.windows)[-1], cut


def test_a_call_with_side_effects_that_had_started_is_answered_as_uncertain(shop, make_task):
    shop.script(
        {"content": "done", "when": "uncertain: this call had started"},
        {"content": "paid twice", "when": "paid A1"},
        {"tool_calls": [call("p1", "pay", id="A1"), call("p2", "pay", id="A2")]},
    )
    folder = folder_of(shop, "a")
    run_task(shop.setting(), make_task(input="go"), folder)
    facts = folder.record.read_text("utf-8").splitlines(keepends=True)
    started = next(place for place, line in enumerate(facts) if '"call_started"' in line)
    folder.record.write_text("".join(facts[: started + 1]), "utf-8")
    (shop.folder / "side.log").write_text("")
    ended = run_task(shop.setting(), make_task(input="go"), folder)
    assert ended.result.answer == "done"
    assert (shop.folder / "side.log").read_text() == "pay A2\n"


def test_a_result_that_came_early_is_kept_until_its_turn(shop, make_task):
    """c2 ends before c1; a crash between them must not run c2 a second time."""
    folder = folder_of(shop, "a")
    run_task(shop.setting("w"), make_task(input="go"), folder)
    assert not (folder.path / "early.jsonl").exists()
    facts = folder.record.read_text("utf-8").splitlines(keepends=True)
    first = next(place for place, line in enumerate(facts) if '"kind":"result"' in line)
    early = next(line for line in facts if '"kind":"result","call_id":"c2"' in line)
    folder.record.write_text("".join(facts[:first]), "utf-8")
    (folder.path / "early.jsonl").write_text(early, "utf-8")
    (shop.folder / "side.log").write_text("")
    run_task(shop.setting("w2"), make_task(input="go"), folder)
    assert sorted((shop.folder / "side.log").read_text().split("\n"))[1:] == [
        "look A9",
        "look B2",
        "slow A1",
    ]


def test_calls_of_one_turn_run_at_the_same_time(shop, make_task):
    shop.script(
        {"content": "done", "when": '"tool_call_id"'},
        {"tool_calls": [call(f"s{n}", "slow", id=str(n)) for n in range(6)]},
    )
    folder = folder_of(shop, "a")
    started = time.monotonic()
    assert run_task(shop.setting(), make_task(input="go"), folder).result.status == "ok"
    assert time.monotonic() - started < 6 * 0.4


def test_an_id_that_a_model_uses_again_is_made_distinct(shop, make_task):
    shop.script(
        {"tool_calls": [call("x", "look", id="1")]},
        {"tool_calls": [call("x", "look", id="2")]},
        {"content": "done"},
    )
    folder = folder_of(shop, "a")
    assert run_task(shop.setting(), make_task(input="go"), folder).result.status == "ok"
    results = [e for e in read_record(folder.record)[0] if isinstance(e, ResultArrived)]
    assert [(e.call_id, json.loads(e.content)["id"]) for e in results] == [("x", "1"), ("x_2", "2")]


def test_what_left_the_window_can_be_read_back_by_the_model(shop, make_task):
    shop.script(
        {"tool_calls": [call("a", "long")]},
        {"tool_calls": [call("b", "view_tool_call", call_id="a")]},
        {"content": "done"},
    )
    folder = folder_of(shop, "a")
    assert run_task(shop.setting(), make_task(input="go"), folder).result.status == "ok"
    results = [e for e in read_record(folder.record)[0] if isinstance(e, ResultArrived)]
    answer = json.loads(results[1].content)
    assert (answer["name"], answer["total_lines"]) == ("long", 3000)
    assert answer["text"].startswith("line of text\n")


def test_a_denied_tool_and_one_outside_the_task_are_refused_by_the_runtime(shop, make_task):
    shop.profile(tools={**RULES, "look": {**RULES["look"], "permission": "deny"}})
    shop.script(
        {"tool_calls": [call("a", "look", id="1"), call("b", "pay", id="1"), call("c", "nope")]},
        {"content": "done"},
    )
    folder = folder_of(shop, "a")
    run_task(shop.setting(), make_task(input="go", tools=["slow"]), folder)
    results = [e for e in read_record(folder.record)[0] if isinstance(e, ResultArrived)]
    assert [result.status for result in results] == ["error"] * 3
    assert "not permitted" in results[0].content
    assert "not among this task's tools" in results[1].content
    assert "no tool 'nope'" in results[2].content
    assert not (shop.folder / "side.log").exists()
    shown = lines_of(folder.windows)[0]["tools"]
    assert [tool["function"]["name"] for tool in shown if "workspace" not in str(tool)] == ["slow"]


class TestEndings:
    def test_the_step_limit_does_not_run_the_last_calls(self, shop, make_task):
        shop.profile(tools=RULES, limits={"max_steps": 2})
        shop.script({"tool_calls": [call("p", "pay", id="1")], "repeat": True})
        ended = run_task(shop.setting(), make_task(input="go"), folder_of(shop, "a"))
        assert (ended.result.status, ended.result.steps) == ("max_steps", 2)
        assert (shop.folder / "side.log").read_text() == "pay 1\n"

    def test_a_raised_limit_goes_on_with_the_calls_that_were_left(self, shop, make_task):
        shop.profile(tools=RULES, limits={"max_steps": 1})
        folder = folder_of(shop, "a")
        assert run_task(shop.setting(), make_task(input="go"), folder).result.status == "max_steps"
        shop.profile(tools=RULES)
        assert run_task(shop.setting(), make_task(input="go"), folder).result.status == "ok"

    def test_money_spent_ends_it_before_the_next_step(self, shop, make_task):
        meter = Meter(max_cost=0.5)
        meter.spend(0.5)
        ended = run_task(shop.setting(meter=meter), make_task(input="go"), folder_of(shop, "a"))
        assert (ended.result.status, ended.result.steps) == ("cost", 0)

    def test_overflow_is_recorded_and_never_sent(self, shop, make_task):
        shop.profile(tools=RULES, model={"name": "scripted/replies.jsonl", "window": 600})
        folder = folder_of(shop, "a")
        shop.profile(
            tools=RULES,
            model={"name": "scripted/replies.jsonl", "window": 600, "reserve_output": 500},
        )
        ended = run_task(shop.setting(), make_task(input="go"), folder)
        assert ended.result.status == "overflow"
        assert "overflows by" in ended.result.error
        assert [line["status"] for line in lines_of(folder.ledger)] == ["overflow"]
        assert not folder.windows.read_text()
        assert kinds(folder)[-1] == "step"

    def test_a_model_error_leaves_the_step_to_be_taken_again(self, shop, make_task):
        shop.script({"error": {"status": 401, "message": "bad key"}})
        folder = folder_of(shop, "a")
        ended = run_task(shop.setting(), make_task(input="go"), folder)
        assert (ended.result.status, ended.outside) == ("failed", True)
        assert [line["status"] for line in lines_of(folder.ledger)] == ["error"]
        shop.script(*SCRIPT)
        ended = run_task(shop.setting(), make_task(input="go"), folder)
        assert ended.result.status == "ok"
        assert [(line["step"], line["status"]) for line in lines_of(folder.ledger)] == [
            (1, "ok"),
            (2, "ok"),
            (3, "ok"),
            (4, "ok"),
        ]
        assert kinds(folder).count("step") == 4

    def test_an_empty_answer_is_a_failure(self, shop, make_task):
        shop.script({"content": " "})
        ended = run_task(shop.setting(), make_task(input="go"), folder_of(shop, "a"))
        assert (ended.result.status, ended.result.error) == ("failed", "the model answered nothing")

    def test_a_failed_check_is_a_failure_and_is_tried_anew_only_if_no_call_was_made(
        self, shop, make_task
    ):
        folder = folder_of(shop, "a")
        wanted = make_task(input="go", expect={"contains": "right"})
        shop.script({"content": "wrong"})
        ended = run_task(shop.setting(), wanted, folder)
        assert ended.result.status == "failed"
        assert ended.result.checks[0]["passed"] is False
        shop.script({"content": "right"})
        assert run_task(shop.setting(), wanted, folder).result.answer == "wrong"
        assert run_task(shop.setting(), wanted, folder, anew=True).result.answer == "right"
        shop.script(*SCRIPT)
        other = folder_of(shop, "b")
        assert run_task(shop.setting(), wanted, other).result.answer == "all done"
        shop.script({"content": "right"})
        assert run_task(shop.setting(), wanted, other, anew=True).result.answer == "all done"


class TestRefusedByTheProvider:
    def test_the_refusal_is_counted_and_a_smaller_window_is_sent(self, shop, make_task):
        shop.profile(
            tools=RULES,
            model={"name": "scripted/replies.jsonl", "window": 6000, "reserve_output": 500},
        )
        said = "maximum context length is 3000 tokens. However, your messages resulted in 3100"
        talk = [
            message
            for n in range(12)
            for message in (
                {"role": "user", "content": f"question {n} " + "word " * 120},
                {"role": "assistant", "content": f"answer {n} " + "word " * 120},
            )
        ]
        shop.script({"error": {"message": said, "overflow": True}}, {"content": "fits"})
        folder = folder_of(shop, "a")
        given = make_task(messages=[*talk, {"role": "user", "content": "and now?"}])
        ended = run_task(shop.setting(), given, folder)
        assert ended.result.answer == "fits", ended.result.error
        (line,) = lines_of(folder.ledger)
        assert line["total"] / line["tokenizer"]["factor"] < 3000
        assert line["tokenizer"]["factor"] > 1.0
        assert kinds(folder)[-5:] == ["step", "note", "usage", "step", "message"]

    def test_a_window_that_cannot_shrink_is_not_sent_twice(self, shop, make_task):
        shop.script({"error": {"message": "too large", "overflow": True}, "repeat": True})
        folder = folder_of(shop, "a")
        ended = run_task(shop.setting(), make_task(input="go"), folder)
        assert ended.result.status == "overflow"
        assert [line["status"] for line in lines_of(folder.ledger)] == ["overflow"]


class TestFallback:
    @pytest.fixture
    def two(self, shop):
        shop.profile(
            tools=RULES,
            model={
                "name": "scripted/replies.jsonl",
                "window": 8192,
                "reserve_output": 512,
                "retries": 0,
                "fallbacks": [{"name": "scripted/second.jsonl", "window": 1600}],
            },
        )
        lines = ({"tool_calls": [call("a", "long")]}, {"content": "from the second"})
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (shop.folder / "second.jsonl").write_text(text)
        return shop

    def test_it_gets_a_window_of_its_own_and_stays(self, two, make_task):
        two.script({"error": {"status": 500, "message": "down"}, "repeat": True})
        folder = folder_of(two, "a")
        ended = run_task(two.setting(), make_task(input="go"), folder)
        assert ended.result.answer == "from the second"
        ledger = lines_of(folder.ledger)
        assert [(line["model"], line["window"], line["status"]) for line in ledger] == [
            ("scripted/replies.jsonl", 8192, "error"),
            ("scripted/second.jsonl", 1600, "ok"),
            ("scripted/second.jsonl", 1600, "ok"),
        ]
        assert all(line["total"] <= 1600 - 512 for line in ledger)
        assert "the next model is asked" in ended.result.warnings[0]
        steps = [line for line in lines_of(folder.record) if line["kind"] == "step"]
        assert [step["step"] for step in steps] == [1, 1, 2]


def test_a_reading_that_changes_is_told_at_the_tail_and_leaves_the_layer(
    shop, make_task, monkeypatch
):
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    layer = {"id": "env", "environment": ["timezone"], "stability": "step"}
    shop.profile(tools=RULES, prefix=[layer])
    shop.script({"tool_calls": [call("m", "move", zone="Asia/Tokyo")]}, {"content": "done"})
    folder = folder_of(shop, "a")
    try:
        assert run_task(shop.setting(), make_task(input="go"), folder).result.status == "ok"
    finally:
        monkeypatch.undo()
        time.tzset()
    first, second = (window["messages"] for window in lines_of(folder.windows))
    assert first[0]["content"] == "timezone: Asia/Shanghai (UTC+08:00)"
    assert second[: len(first)] == first
    assert "timezone is now: Asia/Tokyo (UTC+09:00)" in second[-1]["content"]
    assert kinds(folder).count("environment") == 2
