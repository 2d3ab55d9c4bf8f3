"""SUB-01: what a parent gets from a subagent, whatever its last message was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.servers.strict_openai import StrictServer, serving

FOUND = "Found 3 late orders: 000417, 000418, 000420"
PARENT = """version: 1
model: {{name: openai/stub, window: 20000, api_base: {url}, retries: 0}}
subagents:
  finder: {{profile: finder.yaml, description: Finds late orders., max_steps: {steps}}}
"""
CHILD = """version: 1
model: {{name: openai/stub, window: 20000, api_base: {url}, retries: 0}}
tools:
  note: {{python: "notes:note"}}
"""


def script_of(shared: Path, name: str) -> list[dict[str, Any]]:
    text = (shared / "cases/inputs/SUB-01" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def run(cli: Any, folder: Path, script: list[dict[str, Any]], steps: int = 12) -> StrictServer:
    """Run the parent; its server afterwards, with the requests it saw."""
    (folder / "notes.py").write_text('def note() -> str:\n    return "saved"\n', "utf-8")
    task = {"id": "t1", "input": "Which orders are late?", "constraints": ["only this year"]}
    (folder / "tasks.jsonl").write_text(json.dumps(task) + "\n", "utf-8")
    with serving(script) as server:
        (folder / "parent.yaml").write_text(PARENT.format(url=server.url, steps=steps), "utf-8")
        (folder / "finder.yaml").write_text(CHILD.format(url=server.url), "utf-8")
        done = cli("run", "parent.yaml", "tasks.jsonl", "--out", "run", "--format", "json")
    assert done.code == 0, done.err + done.out
    assert [entry["problems"] for entry in server.requests] == [[]] * len(server.requests)
    return server


def windows(server: StrictServer) -> list[list[dict[str, Any]]]:
    return [entry["body"]["messages"] for entry in server.requests]


def given_back(server: StrictServer) -> dict[str, Any]:
    """What the parent's window holds of the subagent at its last step."""
    results = [m for m in windows(server)[-1] if m["role"] == "tool"]
    assert len(results) == 1
    value: dict[str, Any] = json.loads(results[0]["content"])
    return value


def test_the_last_text_that_is_not_empty_is_the_answer(cli, shared, tmp_path):
    server = run(cli, tmp_path, script_of(shared, "replies.jsonl"))
    back = given_back(server)
    assert back == {
        "status": "ok",
        "summary": FOUND,
        "sources_attempted": 1,
        "sources_succeeded": 1,
        "failures": [],
        "confidence": "high",
    }
    first, child, _, last = windows(server)
    assert "only this year" in child[-1]["content"]
    assert "Which orders are late?" not in json.dumps(child)
    assert last[: len(first)] == first
    assert len(last) == len(first) + 2  # the call and its result, and nothing else


def test_no_text_at_all_is_an_error_that_says_so(cli, shared, tmp_path):
    server = run(cli, tmp_path, script_of(shared, "replies_silent.jsonl"))
    back = given_back(server)
    assert back["status"] == "failed"
    assert back["summary"] == "subagent ended without an answer"
    assert back["reason"] == "the model answered nothing"
    assert back["steps"] == 2
    assert "saved" not in json.dumps(back)
    out = cli("workspace", "read", "run", back["trace"])
    assert "[result h2 note: ok] saved" in out.out
    tools = [tool["function"]["name"] for tool in server.requests[-1]["body"]["tools"]]
    assert "read_workspace" in tools  # what the result names can be read


def test_the_step_limit_is_told_with_the_text_so_far(cli, shared, tmp_path):
    script = script_of(shared, "replies.jsonl")
    del script[2]  # the subagent's second answer never comes
    back = given_back(run(cli, tmp_path, script, steps=1))
    assert (back["status"], back["summary"]) == ("partial", FOUND)
    assert back["reason"] == "no answer after 1 steps (limits.max_steps)"
    assert back["confidence"] == "low"  # the one call it made was not run any more


def test_an_error_is_told_with_the_text_so_far(cli, shared, tmp_path):
    script = script_of(shared, "replies.jsonl")
    script[2] = {"status": 500, "error": {"message": "no capacity"}}
    back = given_back(run(cli, tmp_path, script))
    assert (back["status"], back["summary"]) == ("partial", FOUND)
    assert "HTTP 500: no capacity" in back["reason"]


@pytest.mark.parametrize("steps", [1, 12])
def test_an_error_before_any_text_is_a_failure(cli, shared, tmp_path, steps):
    script = script_of(shared, "replies_silent.jsonl")
    script[1:3] = [{"status": 500, "error": {"message": "no capacity"}}]
    back = given_back(run(cli, tmp_path, script, steps))
    assert (back["status"], back["summary"]) == ("failed", "subagent ended without an answer")
    assert "no capacity" in back["reason"]
