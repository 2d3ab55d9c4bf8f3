"""Real sessions with constraints and pins, compacted on the way: every window looked at.

``tests/pins_in_windows.py`` does the looking: it reads only what a run wrote.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.pins_in_windows import check_task, faults_of

SETS = "data/01_trajectories/openai"
RULES = ("Only ship to the office.", "不要发票，也不要电话联系。")
PINS = {
    "confirmed_slots.order": "SO-000417-é",
    "confirmed_slots.box": {"weight": "1.10", "rows": [1, 2]},
    "citations": ["p1", "p2"],
}
BLOCK = [
    f"- constraints.1: {RULES[0]}",
    f"- constraints.2: {RULES[1]}",
    "- confirmed_slots.order: SO-000417-é",
    '- confirmed_slots.box: {"weight":"1.10","rows":[1,2]}',
    '- citations: ["p1","p2"]',
]
# traces, how many of them, profile, settings, windows behind a compaction in each task at least
WALKS = [
    ("pi_sessions", 2, "coding", ["model.window=65536", "compaction.when.every_steps=40"], 400),
    ("pi_sessions", 2, "aibuddy", ["model.window=65536", "remedies.trim=false"], 300),
    (
        "mini-swe-agent_dev",
        8,
        "coding",
        ["model.window=16384", "compaction.when.every_steps=10"],
        9,
    ),
    ("mini-swe-agent_dev", 8, "aibuddy", ["model.window=16384", "remedies.trim=false"], 1),
]


def script(root: Path, run: Path, least: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, root / "tests/pins_in_windows.py", run, "--least-compacted", least]
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: f"{walk[0]}-{walk[2]}")
def test_pins_stand_once_in_every_window_of_real_sessions(cli, tmp_path, shared, root, walk):
    name, count, profile, settings, least = walk
    lines = (shared / SETS / f"{name}.jsonl").read_text("utf-8").splitlines()
    traces = sorted(map(json.loads, lines), key=lambda trace: -len(trace["messages"]))[:count]
    tasks = [
        {"id": f"t{n}", "messages": trace["messages"], "constraints": RULES, "pins": PINS}
        for n, trace in enumerate(traces)
    ]
    text = "".join(json.dumps(task, ensure_ascii=False) + "\n" for task in tasks)
    (tmp_path / "tasks.jsonl").write_text(text, "utf-8")
    arguments = ["run", root / f"profiles/{profile}.yaml", "tasks.jsonl", "--dry-run", "--windows"]
    for setting in settings:
        arguments += ["--set", setting]
    for out in ("a", "b"):
        done = cli(*arguments, "--out", out, timeout=600)
        assert done.code == 0, done.err
    looked = script(root, tmp_path / "a", least)
    assert looked.returncode == 0, looked.stdout
    for task in (tmp_path / "a/tasks").iterdir():
        for file in ("ledger.jsonl", "windows.jsonl"):
            assert (task / file).read_bytes() == (
                tmp_path / "b/tasks" / task.name / file
            ).read_bytes()
        for line in (task / "windows.jsonl").read_text("utf-8").splitlines():
            texts = [str(message.get("content")) for message in json.loads(line)["messages"]]
            (block,) = [text for text in texts if text.startswith("[pinned]")]
            assert block.splitlines()[1:] == BLOCK
        ledger = [json.loads(x) for x in (task / "ledger.jsonl").read_text("utf-8").splitlines()]
        assert all(line["total"] <= line["usable"] for line in ledger)
    assert cli("audit", "verify", "a").code == 0


# -- what the script finds -----------------------------------------------------------------------


def put(folder: Path, windows: list[list[dict[str, Any]]]) -> Path:
    """A task with one pin and these windows."""
    folder.mkdir()
    facts = [{"kind": "task", "constraints": [RULES[0]], "pins": {}}]
    facts += [{"kind": "step", "step": n} for n, _ in enumerate(windows, 1)]
    rows = [{"step": n, "messages": messages} for n, messages in enumerate(windows, 1)]
    for name, some in (("record.jsonl", facts), ("windows.jsonl", rows)):
        text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in some)
        (folder / name).write_text(text, "utf-8")
    return folder


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


GOOD = user(f"[pinned] These hold\n- constraints.1: {RULES[0]}")


@pytest.mark.parametrize(
    ("window", "fault"),
    [
        ([GOOD, user("go")], ""),
        ([GOOD, user(f"I said: {RULES[0]}")], ""),  # a user may repeat a pin
        ([user("go")], "pin 'constraints.1' stands 0 times"),
        ([GOOD, GOOD], "2 pin blocks"),
        ([GOOD, user(f"[summary c1] Steps\n- {RULES[0]}")], "the text of pin 'constraints.1'"),
        ([user("[pinned] These hold\n- constraints.1: Only ship to an office.")], "stands 0 times"),
        ([GOOD, {"role": "tool", "tool_call_id": "k", "content": "x"}], "answers no open call"),
        ([GOOD, {"role": "assistant", "tool_calls": [{"id": "k"}]}], "'k' is not answered"),
    ],
)
def test_the_script_finds_what_is_wrong(tmp_path, window, fault):
    found = check_task(put(tmp_path / "t", [window]))
    assert bool(found.faults) == bool(fault)
    if fault:
        assert any(fault in one for one in found.faults), found.faults


def test_a_live_pin_does_not_stand_in_the_frozen_block():
    texts = ["[pinned] These hold\n- todo.1: call the shop"]
    assert [*faults_of({"todo.1": "call the shop"}, texts)] == [
        "live pin 'todo.1' stands in the frozen block"
    ]


# -- pins from results ---------------------------------------------------------------------------

PROFILE = """\
version: 1
name: desk
model: {name: openai/gpt-4.1-mini, window: 8000, reserve_output: 500}
tools:
  look: {result: {pin: {confirmed_slots.order_id: "items[0].id", confirmed_slots.sum: total}}}
compaction: {when: {every_steps: 3}, protect_steps: 1}
"""


def conversation(turns: int) -> list[dict[str, Any]]:
    """The first look-up alone answers with an order; the others read on."""
    out: list[dict[str, Any]] = [user("Is the order paid?")]
    for n in range(turns):
        call = {"name": "look", "arguments": json.dumps({"page": n})}
        calls = [{"id": f"k{n}", "type": "function", "function": call}]
        rows = {"items": [{"id": "000417"}], "total": 19.90} if n == 0 else {"page": n}
        text = json.dumps({**rows, "note": "more about it " * 60})
        out += [
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": f"k{n}", "content": text.replace("19.9,", "19.90,")},
        ]
    return out


@pytest.mark.parametrize("kind", ["replay", "dry run"])
def test_what_a_rule_pins_of_a_recorded_result_outlives_its_compaction(cli, tmp_path, root, kind):
    (tmp_path / "profile.yaml").write_text(PROFILE, "utf-8")
    line = json.dumps({"id": "t", "messages": conversation(9)})
    (tmp_path / "t.jsonl").write_text(line + "\n", "utf-8")
    arguments = ["replay"] if kind == "replay" else ["run", "--dry-run"]
    done = cli(*arguments, "profile.yaml", "t.jsonl", "--windows", "--out", "run")
    assert done.code == 0, done.err
    looked = script(root, tmp_path / "run", 3)
    assert looked.returncode == 0, looked.stdout
    assert "2 pins" in looked.stdout
    rows = (tmp_path / "run/tasks/t/windows.jsonl").read_text("utf-8").splitlines()
    texts = [str(message.get("content")) for message in json.loads(rows[-1])["messages"]]
    (block,) = [text for text in texts if text.startswith("[pinned]")]
    assert block.splitlines()[1:] == [
        "- confirmed_slots.order_id: 000417",
        "- confirmed_slots.sum: 19.90",
    ]
    assert cli("replay", "--verify", "run").code == 0
    assert cli("audit", "verify", "run").code == 0
