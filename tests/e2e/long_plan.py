"""A plan of many items, each with one effect outside, for runs that are killed at any moment.

The scripted model has no memory: what it says follows from the newest messages alone, that is from
the last results and from the state of the plan at the tail. After an uncertain call it looks
whether the effect is there, and only makes it when it is not.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROFILE = """\
version: 1
model: {name: scripted/replies.jsonl, window: 6000, reserve_output: 500}
plan: {enabled: true}
limits: {max_steps: 2000, done_when: plan_complete}
tools:
  book: {python: "desk:book", side_effects: true}
  look: {python: "desk:look"}
"""
# The effect is a line in a file outside; a call sleeps before and after it, so that a kill meets
# all three moments: not yet done, done and not answered, answered.
DESK = """\
import os, time

def book(item: str) -> str:
    time.sleep(0.01)
    with open('effects.log', 'a') as file:
        file.write(item + '\\n')
        file.flush()
        os.fsync(file.fileno())
    time.sleep(0.01)
    return f'booked <{item}>'

def look(item: str) -> str:
    done = os.path.exists('effects.log') and item in open('effects.log').read().split()
    return f'found <{item}>' if done else f'missing <{item}>'
"""


def write_plan(folder: Path, items: int) -> None:
    """The profile, the tools, the task and the script of a plan of ``items``."""
    (folder / "profile.yaml").write_text(PROFILE, encoding="utf-8")
    (folder / "desk.py").write_text(DESK, encoding="utf-8")
    task = {"id": "t1", "input": f"Book all {items} items, one after the other."}
    (folder / "tasks.jsonl").write_text(json.dumps(task) + "\n", encoding="utf-8")
    lines = [*_script(items)]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "replies.jsonl").write_text(text, encoding="utf-8")


def _script(items: int) -> list[dict[str, Any]]:
    """The first line that fits the newest messages is what the model says."""
    names = [f"item-{n}" for n in range(1, items + 1)]
    plan = [{"id": str(n), "text": f"book <{name}>"} for n, name in enumerate(names, 1)]
    lines = [_says(f"{items} of {items} done", content="all booked")]
    for n, name in enumerate(names, 1):
        finish = [_call("finish_stage", item=str(n), note="booked")]
        now = f"now {n}: book <{name}>"
        lines += [
            _says(f"found <{name}>", calls=finish),
            _says(f"missing <{name}>", calls=[_call("book", item=name)]),
            _says(f"booked <{name}>", calls=finish),
            _says("uncertain: this call had started", now, calls=[_call("look", item=name)]),
            _says(now, calls=[_call("book", item=name)]),
        ]
    lines.append(_says(f"Book all {items}", calls=[_call("todo_write", items=plan)]))
    return lines


def _says(*newest: str, calls: list[Any] | None = None, content: str = "") -> dict[str, Any]:
    said = {"tool_calls": calls} if calls else {"content": content}
    return {"when_last": [*newest], "repeat": True, **said}


def _call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


@dataclass
class Killed:
    """What was seen while a run was killed again and again."""

    kills: int = 0
    resumes: int = 0
    wrong_briefs: list[str] = field(default_factory=list)
    fights_won_by_both: int = 0


def effects(folder: Path) -> Counter[str]:
    """How often each effect took place outside."""
    log = folder / "effects.log"
    return Counter(log.read_text(encoding="utf-8").split() if log.exists() else [])


def start(folder: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """The run, begun or gone on with."""
    more = ["--resume"] if (folder / "run/run.json").exists() else []
    return subprocess.Popen(
        [sys.executable, "-m", "contextctl", "run", "profile.yaml", "tasks.jsonl",
         "--out", "run", *more],
        cwd=folder, env=dict(env), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def kill_often(
    folder: Path,
    env: Mapping[str, str],
    kills: int,
    seed: int,
    *,
    longest_s: float,
    tell: Callable[[Killed], None] = lambda _seen: None,
) -> Killed:
    """Kill the run ``kills`` times, each at a random moment of its work; every fourth time with a
    second process at the same run. Stops early when the plan is done."""
    chance, seen = random.Random(seed), Killed()
    record = folder / "run/tasks/t1/record.jsonl"
    while seen.kills < kills and not _is_done(folder):
        size = record.stat().st_size if record.exists() else 0
        process = start(folder, env)
        rival = start(folder, env) if seen.kills % 4 == 3 else None
        _wait_for_work(record, size, process)
        time.sleep(chance.uniform(0, longest_s))
        for one in (process, rival):
            if one is not None and one.poll() is None:
                os.kill(one.pid, signal.SIGKILL)
        codes = [one.wait() for one in (process, rival) if one is not None]
        seen.fights_won_by_both += len(codes) == 2 and codes.count(0) == 2
        seen.kills += 1
        _check_brief(record, seen)
        tell(seen)
    return seen


def _is_done(folder: Path) -> bool:
    results = folder / "run/results.jsonl"
    return results.exists() and '"status":"ok"' in results.read_text(encoding="utf-8")


def _wait_for_work(record: Path, size: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 20
    while time.monotonic() < until and process.poll() is None:
        if record.exists() and record.stat().st_size > size:
            return
        time.sleep(0.005)


def _check_brief(record: Path, seen: Killed) -> None:
    """The brief of every resume says what the list before it says."""
    if not record.exists():
        return
    items: list[dict[str, Any]] = []
    seen.resumes, wrong = 0, []
    for line in record.read_bytes().split(b"\n"):
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if event["kind"] == "todo":
            items = event["items"]
        if event["kind"] == "brief" and event["text"].startswith("interrupted"):
            seen.resumes += 1
            done = sum(item["status"] == "done" for item in items)
            now = next((i["id"] for i in items if i["status"] == "active"), "")
            if f"{done} of {len(items)} done, now {now}: " not in event["text"]:
                wrong.append(event["text"])
    seen.wrong_briefs = wrong
