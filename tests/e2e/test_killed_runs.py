"""A batch killed with -9 again and again: nothing outside happens twice, nothing is lost."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

TASKS, KILLS = 6, 6
PROFILE = """\
version: 1
model: {name: scripted/replies.jsonl, window: 8192, reserve_output: 512}
tools:
  look: {python: "shop:look"}
  pay: {python: "shop:pay", side_effects: true}
"""
SHOP = """\
import time

def log(text: str) -> None:
    with open('side.log', 'a') as file:
        file.write(text + '\\n')

def look(id: str) -> str:
    time.sleep(0.05)
    return 'row ' * 200 + id

def pay(id: str) -> str:
    log(id)
    time.sleep(0.1)
    return 'paid ' + id
"""


def script() -> list[dict[str, Any]]:
    """Three turns of a look and a payment for each task; what was answered decides the next."""
    lines: list[dict[str, Any]] = []
    for task in range(TASKS):
        for turn in (3, 2, 1, 0):
            calls = [
                {"id": f"look{turn}", "name": "look", "arguments": {"id": f"t{task}-{turn}"}},
                {"id": f"pay{turn}", "name": "pay", "arguments": {"id": f"t{task}-{turn}"}},
            ]
            line: dict[str, Any] = {"task": f"t{task}"}
            line |= {"content": f"done {task}"} if turn == 3 else {"tool_calls": calls}
            if turn:
                line["when"] = f'"tool_call_id": "pay{turn - 1}"'
            lines.append(line)
    return lines


@pytest.mark.slow
def test_payments_are_made_at_most_once_and_every_task_ends(cli, tmp_path: Path) -> None:
    (tmp_path / "profile.yaml").write_text(PROFILE)
    (tmp_path / "shop.py").write_text(SHOP)
    tasks = [{"id": f"t{n}", "input": f"pay {n}"} for n in range(TASKS)]
    for name, lines in (("tasks.jsonl", tasks), ("replies.jsonl", script())):
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    arguments = ["run", "profile.yaml", "tasks.jsonl", "--out", "run", "--concurrency", "3"]
    chance = random.Random(7)
    record = tmp_path / "run/tasks/t0/record.jsonl"
    for kill in range(KILLS):
        more = ["--resume"] if kill else []
        process = subprocess.Popen(
            [sys.executable, "-m", "contextctl", *arguments, *more],
            cwd=tmp_path,
            env=cli._environment({"PYTHONPATH": str(Path(__file__).resolve().parents[2])}),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        size = record.stat().st_size if record.exists() else 0
        until = time.monotonic() + 5  # past its start, so that the kill meets the work
        while time.monotonic() < until and not (record.exists() and record.stat().st_size > size):
            time.sleep(0.01)
        time.sleep(chance.uniform(0.0, 0.25))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    done = cli(*arguments, "--resume")
    assert done.code == 0, done.err
    paid = Counter((tmp_path / "side.log").read_text().split())
    assert paid
    assert max(paid.values()) == 1
    results = [json.loads(line) for line in (tmp_path / "run/results.jsonl").open()]
    assert sorted((line["id"], line["status"]) for line in results) == [
        (f"t{n}", "ok") for n in range(TASKS)
    ]
    for n in range(TASKS):
        events = [json.loads(line) for line in (tmp_path / f"run/tasks/t{n}/record.jsonl").open()]
        answered = {e["call_id"]: e["status"] for e in events if e["kind"] == "result"}
        assert len(answered) == 6
        for turn in range(3):
            assert paid[f"t{n}-{turn}"] == 1 or answered[f"pay{turn}"] == "unknown"
    verified = cli("replay", "--verify", "run")
    assert verified.code == 0, verified.out
