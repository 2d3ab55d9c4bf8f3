"""What a run offers beside the profile's tools, and what a continued run finds changed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contextctl.io.runs.folder import TaskFolder
from contextctl.io.runs.records import read_record
from contextctl.model.record import IndexRead, Noted, Record, ResultArrived, ToolsListed
from contextctl.run.own_tools import before_messages, open_own_tools, own_facts
from contextctl.run.task import run_task

SKILL = "---\nname: {0}\ndescription: {1}\n---\nFirst weigh it.\nThen see rules.md.\n"


def call(own_id: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"id": own_id, "name": "view_skill", "arguments": arguments}]}


@pytest.fixture
def shop(bench):
    add(bench.folder, "pack", "Pack a parcel")
    (bench.folder / "skills" / "pack" / "rules.md").write_text("At most 30 kg.\n", "utf-8")
    bench.profile(
        prefix=[{"id": "skills", "index": "skills"}],
        disclosure={"skills": ["skills/"]},
    )
    bench.script(
        {"content": "done", "when": '"tool_call_id": "v2"'},
        {"when": '"tool_call_id": "v1"', **call("v2", name="pack", path="rules.md")},
        call("v1", name="pack"),
    )
    return bench


def add(folder: Path, name: str, about: str) -> None:
    place = folder / "skills" / name
    place.mkdir(parents=True, exist_ok=True)
    (place / "SKILL.md").write_text(SKILL.format(name, about), "utf-8")


def folder_of(bench) -> TaskFolder:
    return TaskFolder(bench.folder / "runs" / "t1")


def run(bench, make_task) -> Record:
    setting = bench.setting()
    setting = replace(setting, own=open_own_tools(setting.profile))
    ended = run_task(setting, make_task(input="Pack it"), folder_of(bench))
    assert ended.result.status == "ok", ended.result.error
    return read_record(folder_of(bench).record)[0]


def windows(bench) -> list[dict[str, Any]]:
    lines = folder_of(bench).windows.read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_index_body_and_file_one_after_the_other(shop, make_task):
    record = run(shop, make_task)
    first, second, third = windows(shop)
    assert "- pack: Pack a parcel" in first["messages"][0]["content"]
    assert "weigh" not in json.dumps(first)
    assert "First weigh it." in second["messages"][-1]["content"]
    assert "30 kg" not in json.dumps(second)
    assert "At most 30 kg." in third["messages"][-1]["content"]
    assert third["messages"][: len(second["messages"])] == second["messages"]  # only appended
    results = [event for event in record if isinstance(event, ResultArrived)]
    assert [result.status for result in results] == ["ok", "ok"]


def test_a_skill_that_is_not_there_is_a_discovery_failure(shop, make_task):
    shop.script({"content": "done", "when": '"tool_call_id": "v1"'}, call("v1", name="unpack"))
    record = run(shop, make_task)
    result = next(event for event in record if isinstance(event, ResultArrived))
    assert json.loads(result.content)["skills"] == ["pack"]
    notes = [event for event in record if isinstance(event, Noted)]
    assert [n.body["failure"] for n in notes if n.topic == "discovery_failure"] == [
        "discovery.index"
    ]


def test_a_long_skill_is_paged_and_never_shaped(shop, make_task):
    place = shop.folder / "skills" / "pack" / "rules.md"
    place.write_text("".join(f"rule {n}: at most {n} kg\n" for n in range(2_000)), "utf-8")
    record = run(shop, make_task)
    shown = windows(shop)[-1]["messages"][-1]["content"]
    answer = json.loads(shown)
    assert answer["truncated"]
    assert answer["next"]["start"] > 100
    assert f"rule {answer['next']['start'] - 1}:" in answer["text"]
    assert shown == next(e.content for e in record if getattr(e, "call_id", "") == "v2"
                         and isinstance(e, ResultArrived))  # fmt: skip


def test_skills_that_changed_are_told_at_the_tail_until_the_next_batch(shop, make_task):
    run(shop, make_task)
    record = folder_of(shop).record
    lines = record.read_text("utf-8").splitlines(keepends=True)
    cut = next(n for n, line in enumerate(lines) if '"v1"' in line and '"kind":"result"' in line)
    record.write_text("".join(lines[: cut + 1]), "utf-8")
    add(shop.folder, "label", "Label a parcel")
    (shop.folder / "skills" / "pack" / "SKILL.md").unlink()
    events = run(shop, make_task)
    indexes = [[e["name"] for e in x.entries] for x in events if isinstance(x, IndexRead)]
    assert indexes == [["pack"], ["label"]]
    last = windows(shop)[-1]["messages"]
    assert "- pack: Pack a parcel" in last[0]["content"]  # the prefix holds
    assert "skills has more: label: Label a parcel" in last[-1]["content"]
    assert "skills no longer has: pack" in last[-1]["content"]


def test_nothing_is_offered_where_there_is_nothing(bench, make_task):
    bench.profile()
    bench.script({"content": "done"})
    own = open_own_tools(bench.setting().profile)
    assert own.facts(make_task(input="x")) == []
    assert own_facts(None, make_task(input="x"), ()) == []


def test_what_went_away_is_taken_back(shop, make_task):
    record = run(shop, make_task)
    (shop.folder / "skills" / "pack" / "SKILL.md").unlink()
    own = open_own_tools(shop.setting().profile)
    facts = own_facts(own, make_task(input="Pack it"), record)
    assert facts == [IndexRead("skills"), ToolsListed("skills", ())]


def test_facts_stand_before_what_is_said(shop, make_task):
    record = run(shop, make_task)
    kinds = [event.kind for event in record]
    opening = list(record[: kinds.index("message") + 1])
    assert [e.kind for e in before_messages(opening, [IndexRead("skills")])][-2:] == [
        "index",
        "message",
    ]
