"""SHP-01, SHP-03, SHP-05: no row lost, characters stay characters, pages tell the truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from contextctl.core.shaping import ShapeCall, ShapeRule, shape_result
from contextctl.io.models.vocab import counter_for
from contextctl.model.tool_rules import Page

COUNTER = counter_for("o200k_base", "gpt-4.1")
REF = "s1-kqhzmwtdbe"
PATHS = (
    "hits.total",
    "hits.hits._id",
    "hits.hits._source.title",
    "hits.hits._source.tags.v",
    "hits.hits._source.author.name",
)


def case(shared: Path, name: str) -> Path:
    return shared / "cases" / "inputs" / name


def profile(folder: Path, tool: str, rule: dict[str, Any], **more: Any) -> Path:
    path = folder / "profile.yaml"
    body = {
        "version": 1,
        "model": {"name": "openai/gpt-4.1-mini", "window": 32768},
        "tools": {tool: {"result": rule}},
        **more,
    }
    path.write_text(json.dumps(body, ensure_ascii=False), encoding="utf-8")
    return path


def test_shp_01_a_path_through_lists_keeps_every_row(cli, shared, tmp_path):
    raw = (case(shared, "SHP-01") / "result.json").read_text(encoding="utf-8")
    expected = json.loads((case(shared, "SHP-01") / "expected.json").read_text(encoding="utf-8"))
    ran = cli("shape", profile(tmp_path, "search", {"fields": list(PATHS)}), "search", stdin=raw)
    assert ran.code == 0, ran.err
    rows = ran.json["hits"]["hits"]
    assert [row["_id"] for row in rows] == expected["ids"]
    assert [row["_source"].get("title") for row in rows] == expected["titles"]
    tags = [[tag["v"] for tag in row["_source"]["tags"] if "v" in tag] for row in rows]
    assert tags == [[v] for v in expected["tags_v"]]
    assert ran.json["hits"]["total"] == expected["total"]
    for gone in expected["absent"]:
        assert gone not in ran.out
    assert ran.err.count("_source.author.name") == 1
    assert "warning: field 'hits.hits._source.author.name'" in ran.err


def test_shp_01_when_every_path_misses_the_result_says_so(cli, shared, tmp_path):
    raw = (case(shared, "SHP-01") / "result.json").read_text(encoding="utf-8")
    ran = cli("shape", profile(tmp_path, "search", {"fields": [PATHS[-1]]}), "search", stdin=raw)
    assert ran.code == 0, ran.err
    assert PATHS[-1] in ran.json["hint"]
    assert "None of the asked fields" in ran.json["hint"]
    assert "hits.hits[]._id" in ran.json["available"]
    assert ran.json["ref"]


@pytest.mark.parametrize("env", [{}, {"LC_ALL": "C", "PYTHONUTF8": "0"}])
def test_shp_03_characters_stay_characters_everywhere(cli, shared, tmp_path, env):
    raw = (case(shared, "SHP-03") / "result.json").read_bytes()
    values = json.loads(raw)
    escaped = json.dumps(values)
    path = profile(
        tmp_path,
        "report",
        {"fields": list(values)},
        workspace={"offload_over": 200},
        shaping={"max_tokens": 200},
    )
    ran = cli("shape", path, "report", stdin=raw, env=env)
    assert json.loads(ran.out) == values
    assert "\\u" not in ran.out
    assert COUNTER.text(ran.out.strip()) <= 38
    assert COUNTER.text(escaped) > 100

    listing = cli("shape", path, "report", "--format", "json", stdin=escaped.encode(), env=env)
    assert "季度经营分析报告" in listing.out
    assert "\\u" not in listing.out

    # A second, larger copy is offloaded; the trace, the window and the exported file hold it as is.
    rows = json.dumps([values] * 40)
    trace = tmp_path / "trace.jsonl"
    messages = [
        {"role": "user", "content": "报告？"},
        {"role": "assistant", "content": None, "tool_calls": [call("c1"), call("c2")]},
        {"role": "tool", "tool_call_id": "c1", "content": escaped},
        {"role": "tool", "tool_call_id": "c2", "content": rows},
        {"role": "assistant", "content": "好。"},
    ]
    line = json.dumps({"id": "t1", "messages": messages, "tools": []})
    trace.write_text(line + "\n", encoding="utf-8")
    out = tmp_path / "run"
    ran = cli("replay", path, trace, "--windows", "--out", out, env=env)
    assert ran.code == 0, ran.err
    windows = (out / "tasks" / "t1" / "windows.jsonl").read_text(encoding="utf-8")
    shown = json.loads(windows.splitlines()[-1])["messages"]
    results = [m["content"] for m in shown if m["role"] == "tool"]
    assert json.loads(results[0]) == values
    assert "季度经营分析报告" in results[0]
    assert all("\\u" not in text for text in results)
    ran = cli("workspace", "export", out, "--out", tmp_path / "files", env=env)
    assert ran.code == 0, ran.err
    stored = [f.read_text(encoding="utf-8") for f in (tmp_path / "files").glob("*-*")]
    assert any(json.loads(text) == [values] * 40 for text in stored)


def call(call_id: str) -> dict[str, Any]:
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": "report", "arguments": "{}"},
    }


def page(shared: Path, name: str, cursor: Any = None, limit: int = 20) -> dict[str, Any]:
    raw = (case(shared, "SHP-05") / name).read_text(encoding="utf-8")
    rule = ShapeRule(page=Page(limit))
    shaped = shape_result(raw, rule, "full", COUNTER, REF, "en", ShapeCall(cursor=cursor))
    out: dict[str, Any] = json.loads(shaped.text)
    assert out["data"]["query"] == "bolt"
    assert out["took"] == 4
    assert shaped.tokens <= rule.max_tokens
    return out


def numbers(out: dict[str, Any]) -> list[int]:
    return [item["n"] for item in out["data"]["items"]]


def test_shp_05_the_pages_of_137_items(shared: Path) -> None:
    first = page(shared, "result.json")
    assert numbers(first) == list(range(20))
    assert (first["returned"], first["total"], first["omitted"]) == (20, 137, 117)
    assert first["truncated"] is True
    assert first["next_cursor"] == 20
    assert "137" in first["hint"]
    second = page(shared, "result.json", first["next_cursor"])
    assert numbers(second) == list(range(20, 40))
    last = page(shared, "result.json", 120)
    assert numbers(last) == list(range(120, 137))
    assert last["next_cursor"] is None
    past = page(shared, "result.json", 140)
    assert (numbers(past), past["total"], past["next_cursor"]) == ([], 137, None)
    assert "empty" in past["hint"]


def test_shp_05_twenty_twenty_one_and_no_items(shared: Path) -> None:
    twenty = page(shared, "result_20.json")
    assert numbers(twenty) == list(range(20))
    assert "next_cursor" not in twenty
    assert page(shared, "result_21.json")["next_cursor"] == 20
    rest = page(shared, "result_21.json", 20)
    assert (numbers(rest), rest["total"], rest["next_cursor"]) == ([20], 21, None)
    none = page(shared, "result_0.json")
    assert (none["total"], none["hint"]) == (0, "no items")


def test_shp_05_the_mark_counts_inside_the_limit(shared: Path) -> None:
    raw = (case(shared, "SHP-05") / "result.json").read_text(encoding="utf-8")
    rule = ShapeRule(page=Page(20), max_tokens=150)
    shaped = shape_result(raw, rule, "full", COUNTER, REF, "en")
    out = json.loads(shaped.text)
    assert COUNTER.text(shaped.text) <= 150
    assert 0 < out["returned"] == len(out["data"]["items"]) < 20
    assert out["next_cursor"] == out["returned"]


def test_shp_05_through_the_command(cli, shared, tmp_path):
    path = profile(tmp_path, "list_items", {"page": {"limit": 20}, "aggregate": "count_items"})
    raw = (case(shared, "SHP-05") / "result.json").read_text(encoding="utf-8")
    ran = cli("shape", path, "list_items", "--cursor", "20", stdin=raw)
    assert numbers(ran.json) == list(range(20, 40))
    assert "count_items" in ran.json["hint"]
    assert "returned 20 of 137, omitted 117" in ran.err
