"""CLI-01: nine endings, nine exit codes, one line that says what failed and where."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.servers.strict_openai import serving

PROFILE = "version: 1\nmodel: {name: scripted/replies.jsonl, window: 8192, reserve_output: 512}\n"
TOOL = "tools: {list_files: {command: [ls]}}\n"
CALL = {"tool_calls": [{"name": "list_files", "arguments": {}}], "repeat": True}
DONE = {"content": "done", "repeat": True}


def put(folder: Path, profile: str, replies: list[dict[str, Any]], tasks: int = 1) -> None:
    (folder / "profile.yaml").write_text(profile, encoding="utf-8")
    lines = "".join(json.dumps(line) + "\n" for line in replies)
    (folder / "replies.jsonl").write_text(lines, encoding="utf-8")
    asked = ({"id": f"t{n}", "input": f"do {n}"} for n in range(1, tasks + 1))
    (folder / "tasks.jsonl").write_text("".join(json.dumps(t) + "\n" for t in asked))


ENDINGS = {
    "success": (PROFILE, [DONE], 1, 0, ""),
    "unknown key": (PROFILE + "budgets: {}\n", [DONE], 1, 2, "profile.yaml:3"),
    "mcp server down": (
        PROFILE + "mcp: {files: {command: [python3, no_such_file.py]}}\n",
        [DONE],
        1,
        4,
        "'files'",
    ),
    "overflow": (PROFILE.replace("8192", "522"), [DONE], 1, 5, "step 1 of 't1' overflows by"),
    "step limit": (PROFILE + TOOL + "limits: {max_steps: 3}\n", [CALL], 1, 1, "limits.max_steps"),
    "one of three failed": (
        PROFILE,
        [{"error": {"status": 400, "message": "no such thing"}, "task": "t2"}, DONE],
        3,
        1,
        "task 't2'",
    ),
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("form", ["text", "json"])
def test_the_exit_code_says_how_it_ended(cli, tmp_path, ending, form):
    profile, replies, tasks, code, said = ENDINGS[ending]
    put(tmp_path, profile, replies, tasks)
    done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", "--format", form)
    assert done.code == code, done.err
    assert said in done.err
    assert "Traceback" not in done.err + done.out
    if form == "json" and done.out:
        assert done.json["status"] == {"success": "ok", "step limit": "max_steps"}.get(
            ending, "overflow" if ending == "overflow" else "failed"
        )
    if code in (0, 1, 5):
        statuses = [json.loads(x)["status"] for x in (tmp_path / "run/results.jsonl").open()]
        assert statuses.count("ok") == {"success": 1, "one of three failed": 2}.get(ending, 0)


def test_a_missing_profile_or_task_file_is_a_usage_error(cli, tmp_path):
    put(tmp_path, PROFILE, [DONE])
    for arguments in (("nowhere.yaml", "tasks.jsonl"), ("profile.yaml", "nowhere.jsonl")):
        done = cli("run", *arguments)
        assert done.code == 2
        assert done.out == ""
        assert next(name for name in arguments if name.startswith("nowhere")) in done.err
        assert "Traceback" not in done.err
    assert not (tmp_path / ".contextctl").exists()


def test_no_model_is_asked_when_a_required_server_cannot_start(cli, tmp_path):
    profile = ENDINGS["mcp server down"][0]
    put(tmp_path, profile, [DONE])
    cli("run", "profile.yaml", "tasks.jsonl", "--out", "run")
    assert not (tmp_path / "run").exists()
    optional = profile.replace("no_such_file.py]", "no_such_file.py], required: false")
    put(tmp_path, optional, [DONE])
    done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run2")
    assert done.code == 0
    assert "mcp" in done.err


def test_401_is_a_failure_outside(cli, tmp_path):
    error = {"status": 401, "error": {"message": "bad key", "type": "auth"}, "repeat": True}
    with serving([error]) as server:
        name = f"{{name: openai/gpt-4o-mini, api_base: '{server.url}'}}"
        put(tmp_path, f"version: 1\nmodel: {name}\n", [])
        done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", "--format", "json")
    assert done.code == 4, done.err
    assert len(server.requests) == 1
    assert done.json["status"] == "failed"
    assert "HTTP 401" in done.json["results"][0]["error"]
    assert "t1" in done.err
    assert "Traceback" not in done.err


def test_ctrl_c_ends_with_130_and_can_be_resumed(cli, tmp_path):
    slow = {"content": "late", "delay_s": 60, "task": "t2"}
    put(tmp_path, PROFILE, [slow, DONE], tasks=3)
    command = [sys.executable, "-m", "contextctl", "run", "profile.yaml", "tasks.jsonl"]
    process = subprocess.Popen(
        [*command, "--out", "run", "--format", "json"],
        cwd=tmp_path,
        env=cli._environment({"PYTHONPATH": str(Path(__file__).resolve().parents[2])}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    results = tmp_path / "run/results.jsonl"
    until = time.monotonic() + 30
    while time.monotonic() < until and not (results.exists() and results.read_text()):
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert json.loads(out)["status"] == "interrupted"
    assert b"Traceback" not in err
    lines = [json.loads(line) for line in results.open()]
    assert [(line["id"], line["status"]) for line in lines] == [("t1", "ok"), ("t2", "interrupted")]
    put(tmp_path, PROFILE, [DONE], tasks=3)
    done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", "--resume")
    assert done.code == 0, done.err
    lines = [json.loads(line) for line in results.open()]
    assert [(line["id"], line["status"]) for line in lines] == [
        ("t1", "ok"),
        ("t2", "ok"),
        ("t3", "ok"),
    ]


def test_json_nested_too_deeply_is_an_answer_and_never_a_bug(cli, tmp_path):
    """From a tool, in a model's arguments, and as the answer that is checked."""
    deep = "[" * 50_000
    (tmp_path / "deep.json").write_text(deep + "]" * 50_000, encoding="utf-8")
    replies: list[dict[str, Any]] = [
        {"tool_calls": [{"name": "show", "arguments": {}}]},
        {"tool_calls": [{"name": "read_workspace", "arguments": deep}]},
        {"tool_calls": [{"name": "show", "arguments": '{"a":' * 50_000}]},
        {"content": deep},
    ]
    put(tmp_path, PROFILE + "tools: {show: {command: [cat, deep.json]}}\n", replies)
    task = {"id": "t1", "input": "go", "expect": {"json_schema": {"type": "object"}}}
    (tmp_path / "tasks.jsonl").write_text(json.dumps(task) + "\n", encoding="utf-8")
    ran = cli("run", "profile.yaml", "tasks.jsonl", "--out", "r", "--format", "json")
    assert ran.code != 3, ran.err
    (result,) = ran.json["results"]
    assert "a bug" not in str(result.get("error"))
    assert "Traceback" not in ran.err
