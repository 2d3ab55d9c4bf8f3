"""Subagents: windows of their own, numbered folders, limits, and what a crash leaves of them."""

from __future__ import annotations

import json
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contextctl.io.runs.folder import TaskFolder
from contextctl.io.runs.records import read_record
from contextctl.model.record import ResultArrived, ToolsListed
from contextctl.run.meter import Meter, Share
from contextctl.run.own_tools import open_own_tools
from contextctl.run.task import Ended, run_task

TOOLS = """\
import pathlib, time

def log(text):
    with open('side.log', 'a') as file:
        file.write(f'{text} {time.monotonic()}\\n')

def fetch(url: str) -> str:
    log('begin ' + url)
    time.sleep(0.3)
    if 'down' in url:
        raise RuntimeError('timeout after 3 s')
    log('end ' + url)
    return 'page of ' + url + ': ' + 'word ' * 200
"""
MODEL = {"window": 8192, "reserve_output": 512, "retries": 0}


def call(own_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": own_id, "name": name, "arguments": arguments}


@pytest.fixture
def shop(bench):
    (bench.folder / "web.py").write_text(TOOLS, "utf-8")
    write_child(bench, "reader")
    return bench


def write_child(bench, name: str, **more: Any) -> None:
    profile = {
        "version": 1,
        "model": {"name": f"scripted/{name}.jsonl", **MODEL},
        "tools": {"fetch": {"python": "web:fetch"}},
        **more,
    }
    (bench.folder / f"{name}.yaml").write_text(json.dumps(profile), "utf-8")


def script(bench, name: str, *lines: dict[str, Any]) -> None:
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (bench.folder / f"{name}.jsonl").write_text(text, "utf-8")


def run(bench, make_task, name: str = "a", meter: Meter | None = None, **task: Any) -> Ended:
    setting = bench.setting(f"store-{name}", meter)
    setting = replace(setting, own=open_own_tools(setting.profile))
    given = make_task(input="Compare the shops", **task)
    return run_task(setting, given, folder_of(bench, name))


def folder_of(bench, name: str = "a") -> TaskFolder:
    return TaskFolder(bench.folder / "runs" / name / "tasks" / "t1")


def results(bench, name: str = "a") -> dict[str, ResultArrived]:
    record, _ = read_record(folder_of(bench, name).record)
    return {e.call_id: e for e in record if isinstance(e, ResultArrived)}


def back(bench, call_id: str, name: str = "a") -> dict[str, Any]:
    value: dict[str, Any] = json.loads(results(bench, name)[call_id].content)
    return value


READER = {"reader": {"profile": "reader.yaml", "description": "Reads pages.", "max_steps": 5}}
ASKED = (
    {
        "tool_calls": [
            call("d1", "reader", task="Read shop one"),
            call("d2", "reader", task="Read shop two"),
        ]
    },
    {"content": "Shop one is cheaper."},
)
PAGES = (
    {"when": "shop one", "tool_calls": [call("f1", "fetch", url="https://one.example")]},
    {"when": "shop two", "tool_calls": [call("f2", "fetch", url="https://two.example")]},
    {"when": "one.example", "content": "One asks 3.10."},
    {"when": "two.example", "content": "Two asks 4.20."},
)


def test_two_in_one_turn_work_at_the_same_time_each_in_its_own_window(shop, make_task):
    shop.profile(subagents=READER)
    shop.script(*ASKED)
    script(shop, "reader", *PAGES)
    ended = run(shop, make_task, constraints=["prices in EUR", "nothing older than 2025"])
    assert (ended.result.status, ended.result.answer) == ("ok", "Shop one is cheaper.")
    assert [back(shop, one)["summary"] for one in ("d1", "d2")] == [
        "One asks 3.10.",
        "Two asks 4.20.",
    ]
    times = {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in side_log(shop)}
    assert times["begin https://two.example"] < times["end https://one.example"]
    assert times["begin https://one.example"] < times["end https://two.example"]
    assert [folder.name for folder in folder_of(shop).subs()] == ["1", "2"]
    for number, other in (("1", "two"), ("2", "one")):
        record = (folder_of(shop).path / "sub" / number / "record.jsonl").read_text("utf-8")
        assert "prices in EUR" in record
        assert "nothing older than 2025" in record
        assert f"shop {other}" not in record
        assert "Compare the shops" not in record  # not inherited, so not told


def side_log(bench) -> list[str]:
    return (bench.folder / "side.log").read_text("utf-8").splitlines()


def test_the_ledger_shows_the_peak_with_and_without(shop, make_task):
    shop.profile(subagents=READER)
    shop.script(*ASKED)
    script(shop, "reader", *PAGES)
    ended = run(shop, make_task)
    assert ended.result.actions == {"isolate": 2}
    isolated = ended.result.isolated
    assert (isolated["subagents"], isolated["steps"]) == (2, 4)
    lines = folder_of(shop).ledger.read_text("utf-8").splitlines()
    last = json.loads(lines[-1])
    actions = last["actions"]
    assert [a["rule"] for a in actions] == ["/subagents/reader"] * 2
    saved = sum(a["tokens_before"] - a["tokens_after"] for a in actions)
    assert saved > 400  # two pages of 200 words
    assert isolated["peak"] == last["total"]
    assert isolated["peak_without"] == last["total"] + saved
    assert sum(last["raw_buckets"].values()) == last["total"] + saved


def test_sources_that_failed_are_counted_from_the_record(shop, make_task):
    shop.profile(subagents=READER)
    shop.script({"tool_calls": [call("d1", "reader", task="Read all")]}, {"content": "done"})
    down = "https://down.example"
    script(
        shop,
        "reader",
        {"tool_calls": [call("f1", "fetch", url=down), call("f2", "fetch", url="https://up")]},
        {"tool_calls": [call("f3", "fetch", url=down)]},
        {"tool_calls": [call("f4", "fetch", link="misspelt")]},
        {"content": '{"status": "ok", "summary": "Nothing was found.", "confidence": "high"}'},
    )
    run(shop, make_task)
    told = back(shop, "d1")
    assert told["status"] == "partial"  # it says ok, and the record says otherwise
    assert told["summary"] == "Nothing was found."
    assert (told["sources_attempted"], told["sources_succeeded"]) == (2, 1)
    failure = told["failures"][0]
    assert failure["source"] == f"fetch({down})"
    assert "timeout after 3 s" in failure["error"]
    assert failure["retried"] == 1
    assert told["confidence"] == "medium"


def test_nothing_that_could_be_read_is_a_failure(shop, make_task):
    shop.profile(subagents=READER)
    shop.script({"tool_calls": [call("d1", "reader", task="Read")]}, {"content": "done"})
    script(
        shop,
        "reader",
        {"tool_calls": [call("f1", "fetch", url="https://down.example")]},
        {"content": "There is no such offer."},
    )
    run(shop, make_task)
    told = back(shop, "d1")
    assert (told["status"], told["confidence"]) == ("failed", "low")
    assert results(shop)["d1"].status == "error"


def test_a_crash_leaves_what_a_subagent_did(shop, make_task):
    shop.profile(subagents=READER)
    shop.script({"content": "Shop one is cheaper.", "when": '"tool_call_id": "d2"'}, ASKED[0])
    # What stands in the window decides: a scripted model forgets when its process ends.
    script(shop, "reader", *reversed(PAGES))
    run(shop, make_task, "whole")
    facts = folder_of(shop, "whole").record.read_text("utf-8").splitlines(keepends=True)
    kinds = [json.loads(line)["kind"] for line in facts]
    for cut in range(kinds.index("call_started") + 1, len(facts) + 1):
        name = f"cut{cut}"
        folder = folder_of(shop, name)
        folder.path.parent.mkdir(parents=True)
        shutil.copytree(folder_of(shop, "whole").path, folder.path)
        folder.record.write_text("".join(facts[:cut]), "utf-8")
        before = len(side_log(shop))
        ended = run(shop, make_task, name)
        assert ended.result.answer == "Shop one is cheaper."
        assert len(side_log(shop)) == before  # no page was fetched again
        assert back(shop, "d1", name) == back(shop, "d1", "whole")
        assert len(folder.subs()) == 2


def test_depth_is_kept_by_the_runtime(shop, make_task):
    write_child(shop, "reader", subagents={"deeper": {"profile": "reader.yaml"}})
    shop.profile(subagents=READER, limits={"max_depth": 1})
    shop.script({"tool_calls": [call("d1", "reader", task="go on")]}, {"content": "done"})
    script(
        shop, "reader", {"tool_calls": [call("d2", "deeper", task="further")]}, {"content": "no"}
    )
    run(shop, make_task)
    record, _ = read_record(folder_of(shop).path / "sub" / "1" / "record.jsonl")
    offered = [spec.name for e in record if isinstance(e, ToolsListed) for spec in e.tools]
    assert offered == ["fetch"]
    refused = next(e for e in record if isinstance(e, ResultArrived))
    assert refused.status == "error"
    assert "no tool 'deeper'" in refused.content
    assert not (folder_of(shop).path / "sub" / "1" / "sub").exists()


def test_constraints_pass_on_to_every_level(shop, make_task):
    deeper = {"deeper": {"profile": "deeper.yaml", "inherit": []}}
    write_child(shop, "reader", subagents=deeper)
    write_child(shop, "deeper", subagents={"deepest": {"profile": "deepest.yaml"}})
    write_child(shop, "deepest")
    shop.profile(subagents=READER, limits={"max_depth": 3})
    for name, below in (("replies", "reader"), ("reader", "deeper"), ("deeper", "deepest")):
        script(
            shop, name, {"tool_calls": [call("d", below, task=f"for {below}")]}, {"content": "ok"}
        )
    script(shop, "deepest", {"content": "seen"})
    run(shop, make_task, constraints=["prices in EUR"])
    at = folder_of(shop).path / "sub" / "1" / "sub" / "1"
    asked = [json.loads(x) for x in (at / "record.jsonl").read_text("utf-8").splitlines()]
    first = next(line for line in asked if line["kind"] == "message")["message"]["content"]
    assert "for deeper" in first
    assert "prices in EUR" not in first  # 'inherit: []' tells nothing here
    deepest = (at / "sub" / "1" / "record.jsonl").read_text("utf-8")
    assert "prices in EUR" in deepest  # and loses nothing for those below


def test_a_task_that_names_its_tools_names_its_delegates(shop, make_task):
    shop.profile(subagents=READER, tools={"look": {"python": "web:fetch"}})
    shop.script({"tool_calls": [call("d1", "reader", task="go")]}, {"content": "done"})
    script(shop, "reader", {"content": "read"})
    run(shop, make_task, "without", tools=["look"])
    assert results(shop, "without")["d1"].status == "error"
    run(shop, make_task, "with", tools=["look", "reader"])
    assert back(shop, "d1", "with")["summary"] == "read"


def test_isolation_can_be_switched_off(shop, make_task):
    shop.profile(subagents=READER, remedies={"isolate": False})
    shop.script({"tool_calls": [call("d1", "reader", task="go")]}, {"content": "done"})
    script(shop, "reader", {"content": "read"})
    run(shop, make_task)
    assert "no tool 'reader'" in results(shop)["d1"].content


def test_arguments_that_are_none_start_no_subagent(shop, make_task):
    shop.profile(subagents=READER)
    shop.script(
        {
            "tool_calls": [
                {"id": "d1", "name": "reader", "arguments": "{task: "},
                call("d2", "reader"),
            ]
        },
        {"content": "done"},
    )
    script(shop, "reader", {"content": "read"})
    run(shop, make_task)
    assert {back(shop, one)["error"] for one in ("d1", "d2")} == {"bad_arguments"}
    assert folder_of(shop).subs() == ()


def test_a_stopped_run_stops_its_subagents_and_continues_them(shop, make_task):
    shop.profile(subagents=READER)
    shop.script({"content": "done", "when": '"tool_call_id": "d2"'}, ASKED[0])
    script(shop, "reader", *reversed(PAGES))
    setting = bench_setting(shop)
    timer = threading.Timer(0.15, setting.stop.set)
    timer.start()
    ended = run_task(setting, make_task(input="Compare the shops"), folder_of(shop))
    timer.join()
    assert ended.result.status == "interrupted"
    time.sleep(0.5)  # tools that were under way end by themselves
    assert run(shop, make_task).result.status == "ok"
    assert [back(shop, one)["status"] for one in ("d1", "d2")] == ["ok", "ok"]


def bench_setting(bench) -> Any:
    setting = bench.setting("store-stopped")
    return replace(setting, own=open_own_tools(setting.profile))


def test_a_share_of_the_money_ends_before_the_whole():
    whole = Meter(max_cost=1.0)
    share = Share(whole, 0.25)
    share.spend(0.2)
    assert not share.exhausted
    share.spend(0.1)
    assert (share.exhausted, whole.exhausted) == (True, False)
    assert whole.spent == pytest.approx(0.3)
    Share(whole, None).spend(0.8)
    assert whole.exhausted
    assert Share(whole, None).exhausted


def test_a_broken_profile_of_a_subagent_is_found_before_any_model_is_asked(shop):
    shop.profile(subagents=READER)
    shop.script(*ASKED)
    Path("reader.yaml").write_text("version: 1\nmodel: {nam: x}\n", "utf-8")
    with pytest.raises(Exception, match=r"reader\.yaml:2"):
        open_own_tools(shop.setting().profile)
