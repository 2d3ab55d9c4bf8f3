"""DEF-01: a tool that a search has loaded stays loaded through batches, a crash and a resume."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.servers.strict_openai import serving

PROFILE = """version: 1
model: {{name: openai/stub, window: 5200, reserve_output: 400, api_base: "{url}", retries: 0}}
tokenizer: o200k_base
plan: {{enabled: false}}
defer: {{always: [report], activation: {activation}}}
compaction: {{when: {{ratio: 0.6, every_steps: 4}}, protect_steps: 1}}
tools:
"""
TOOL = "  {name}: {{python: 'desk:call', description: {about}, parameters: {schema}}}\n"
MODULE = '''"""Forty tools, each of which says what it was called with, and a long report."""

from pathlib import Path


def call(q: str) -> str:
    with Path("calls.log").open("a", encoding="utf-8") as out:
        out.write(q + "\\n")
    return f"done: {q}"


def report() -> str:
    return "Branch ledger refund shipment notice audit review. " * 60
'''


def put(folder: Path, shared: Path, url: str, activation: str) -> list[str]:
    """A profile with the case's forty tools; their names."""
    tools = json.loads((shared / "cases/inputs/DEF-01/tools.json").read_text(encoding="utf-8"))
    text = PROFILE.format(url=url, activation=activation)
    for tool in tools:
        about, schema = (
            json.dumps(tool[key], ensure_ascii=False) for key in ("description", "inputSchema")
        )
        text += TOOL.format(name=tool["name"], about=about, schema=schema)
    text += "  report: {python: 'desk:report'}\n"
    (folder / "profile.yaml").write_text(text, encoding="utf-8")
    (folder / "desk.py").write_text(MODULE, encoding="utf-8")
    (folder / "tasks.jsonl").write_text('{"id": "t1", "input": "Refund order 000417."}\n')
    return [tool["name"] for tool in tools]


def calling(number: int, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    call = {"id": f"f{number}", "type": "function", "function": function}
    return {"message": {"role": "assistant", "content": None, "tool_calls": [call]}}


def refund(number: int, order: str, activation: str) -> dict[str, Any]:
    if activation == "array":
        return calling(number, "issue_refund", {"q": order})
    inner = {"name": "issue_refund", "arguments": {"q": order}}
    return calling(number, "call_tool", inner)


def results_of(run: Path) -> dict[str, dict[str, Any]]:
    lines = (run / "tasks/t1/record.jsonl").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    return {event["call_id"]: event for event in events if event["kind"] == "result"}


@pytest.mark.parametrize("activation", ["array", "call"])
def test_a_found_tool_stays_through_batches_a_crash_and_a_resume(cli, shared, tmp_path, activation):
    script = [
        calling(1, "create_invoice", {"q": "guess"}),
        calling(2, "tool_search", {"query": "退款"}),
        refund(3, "000417", activation),
        *(calling(number, "report", {}) for number in range(4, 12)),
        refund(12, "000418", activation),
        {"status": 401, "error": {"message": "no", "type": "auth"}},
    ]
    with serving(script) as model:
        names = put(tmp_path, shared, model.url, activation)
        first = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run")
        assert first.code == 4, first.err
        seen = len(model.requests)
        model.script += [refund(13, "000419", activation), {"message": {"content": "finished"}}]
        again = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", "--resume")
    assert again.code == 0, again.err
    assert len(model.requests) == seen + 2
    assert [entry["problems"] for entry in model.requests] == [[]] * len(model.requests)
    results = results_of(tmp_path / "run")
    assert "not loaded: use tool_search" in results["f1"]["content"]
    assert results["f1"]["extra"]["failure"] == "discovery.load"
    found = [tool["name"] for tool in json.loads(results["f2"]["content"])["tools"]]
    assert found[0] == "issue_refund"
    for call, order in (("f3", "000417"), ("f12", "000418"), ("f13", "000419")):
        assert results[call]["content"] == f"done: {order}"
        assert results[call]["name"] == "issue_refund"
    assert (tmp_path / "calls.log").read_text().split() == ["000417", "000418", "000419"]

    arrays = [entry["body"]["tools"] for entry in model.requests]
    ledger = (tmp_path / "run/tasks/t1/ledger.jsonl").read_text(encoding="utf-8").splitlines()
    reports = [json.loads(line) for line in ledger]
    rows = cli("audit", "ls", "run", "--format", "json")
    assert rows.code == 0, rows.err
    compactions = rows.json["compactions"]
    assert compactions, "nothing was compacted"
    shown = cli("audit", "show", "run", compactions[-1]["compaction_id"], "--format", "json")
    assert shown.json["loaded"] == found
    reduced = {action["kind"] for report in reports for action in report["actions"]}
    assert reduced & {"trim", "compact"}, reduced
    never = set(names) - set(found)
    for array in arrays:
        offered = [tool["function"]["name"] for tool in array]
        assert not never & set(offered)
        assert offered.count("tool_search") == 1
        assert "report" in offered
    if activation == "array":
        check_array(arrays, found, reports)
    else:
        before = json.dumps(arrays[0])
        batch = next(i for i, array in enumerate(arrays) if json.dumps(array) != before)
        assert batch > 3  # the array changed at a batch, not when the tool was found
        parameters = json.loads(results["f2"]["content"])["tools"][0]["parameters"]
        assert parameters["required"] == ["q"]


def check_array(arrays: list[Any], found: list[str], reports: list[Any]) -> None:
    """From the search on: once, the same bytes, the same place, everything before as it was."""
    for before, after in pairwise(arrays):
        assert json.dumps(after).startswith(json.dumps(before)[:-1])
    for array in arrays[2:]:
        places = [i for i, tool in enumerate(array) if tool["function"]["name"] == "issue_refund"]
        assert len(places) == 1
        assert array[places[0]] == arrays[2][places[0]]
    assert [r["prefix"]["broke_at"] for r in reports[:4]] == [None, None, "tools", None]
    (action,) = [a for a in reports[2]["actions"] if a["kind"] == "defer"]
    assert action["rule"] == "/defer/total"
    assert action["new"]
    assert action["target"] == "profile"
    assert 0 < action["tokens_after"] < action["tokens_before"]
    assert found[0] == "issue_refund"
