"""LED-01: a run killed in the middle of its calls goes on and repeats nothing outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

PROFILE = """\
version: 1
model: {name: scripted/replies.jsonl, window: 8192, reserve_output: 512}
tools:
  rates: {python: "tools_mod:rates"}
  send_mail: {python: "tools_mod:send_mail", side_effects: true}
  report: {python: "tools_mod:report"}
"""
CALLS = [
    {"id": "j1", "name": "rates", "arguments": {}},
    {"id": "j2", "name": "send_mail", "arguments": {"to": "a@example.invalid"}},
    {"id": "j3", "name": "report", "arguments": {}},
]
IN_ORDER = [{"tool_calls": [call]} for call in CALLS] + [{"content": "finished"}]
# What has been said decides what comes next.
AT_ONCE = [{"content": "finished", "when": '"j3"'}, {"tool_calls": CALLS}]
ONE_BY_ONE = [
    {"content": "finished", "when": '"tool_call_id": "j3"'},
    {"tool_calls": CALLS[2:], "when": '"tool_call_id": "j2"'},
    {"tool_calls": CALLS[1:2], "when": '"tool_call_id": "j1"'},
    {"tool_calls": CALLS[:1]},
]


def side_log(folder: Path) -> Counter[str]:
    log = folder / "side.log"
    return Counter(log.read_text().split() if log.exists() else [])


def started(folder: Path, cli: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "contextctl", "run", "profile.yaml", "tasks.jsonl"]
    root = str(Path(__file__).resolve().parents[2])
    return subprocess.Popen(
        [*command, "--out", "run"],
        cwd=folder,
        env=cli._environment({"PYTHONPATH": root}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.fixture
def folder(tmp_path: Path, shared: Path) -> Path:
    tools = (shared / "cases/inputs/LED-01/tools_mod.py").read_text("utf-8")
    (tmp_path / "tools_mod.py").write_text(tools)
    (tmp_path / "profile.yaml").write_text(PROFILE)
    (tmp_path / "tasks.jsonl").write_text('{"id": "t1", "input": "send the report"}\n')
    return tmp_path


@pytest.mark.parametrize(
    "script", [AT_ONCE, ONE_BY_ONE, IN_ORDER], ids=["at once", "one by one", "in order"]
)
def test_after_kill_9_the_mail_is_not_sent_again(cli, folder, script):
    (folder / "replies.jsonl").write_text("".join(json.dumps(line) + "\n" for line in script))
    process = started(folder, cli)
    until = time.monotonic() + 30
    while time.monotonic() < until and side_log(folder)["send_mail"] == 0:
        time.sleep(0.02)
    record = (folder / "run/tasks/t1/record.jsonl").read_text("utf-8")
    assert '"kind":"call_started","call_id":"j2"' in record
    time.sleep(0.5)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert side_log(folder) == {"rates": 1, "send_mail": 1}
    done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", "--resume")
    assert done.code == 0, done.err
    assert side_log(folder) == {"rates": 1, "send_mail": 1, "report": 1}
    events = [json.loads(line) for line in (folder / "run/tasks/t1/record.jsonl").open()]
    results = {e["call_id"]: e for e in events if e["kind"] == "result"}
    assert [results[name]["status"] for name in ("j1", "j2", "j3")] == ["ok", "unknown", "ok"]
    assert "not repeated" in results["j2"]["content"]
    assert cli("replay", "--verify", "run").code == 0


def test_a_second_process_is_kept_out(cli, folder):
    (folder / "replies.jsonl").write_text("".join(json.dumps(line) + "\n" for line in AT_ONCE))
    process = started(folder, cli)
    until = time.monotonic() + 30
    while time.monotonic() < until and side_log(folder)["send_mail"] == 0:
        time.sleep(0.02)
    done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", "--resume")
    assert done.code == 2
    assert "another process" in done.err
    assert process.wait(timeout=30) == 0
    assert side_log(folder) == {"rates": 1, "send_mail": 1, "report": 1}
