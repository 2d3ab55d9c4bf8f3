"""TRM-01: whatever the budget, calls and results stay together, or the step says it overflows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from contextctl.core.count import message_tokens
from contextctl.io.models.vocab import counter_for
from contextctl.model.message import message_from_openai

PROFILE = """\
version: 1
model: {name: openai/gpt-4o, window: 2000, reserve_output: 0}
workspace: {tools: []}
history: {strategy: summary_recent, keep_turns: {safe: 12, warn: 6, danger: 1}}
remedies: {shape: false, offload: false, compact: false}
compaction: {protect_steps: 1}
"""


def window_at(cli: Any, folder: Path, shared: Path, budget: int) -> tuple[int, Any, Any]:
    """The exit code, the last ledger line and the last window (None when there is none)."""
    source = shared / "cases/inputs/TRM-01/messages.jsonl"
    messages = [json.loads(line) for line in source.read_text("utf-8").splitlines()]
    (folder / "tasks.jsonl").write_text(json.dumps({"id": "t1", "messages": messages}) + "\n")
    (folder / "profile.yaml").write_text(PROFILE)
    done = cli(
        "run", "profile.yaml", "tasks.jsonl", "--dry-run", "--windows", "--out", "run",
        "--set", f"model.window={budget}",
    )  # fmt: skip
    assert "Traceback" not in done.err
    ledger = [json.loads(line) for line in (folder / "run/tasks/t1/ledger.jsonl").open()][-1]
    windows = [json.loads(line) for line in (folder / "run/tasks/t1/windows.jsonl").open()]
    window = next((w for w in windows if w["step"] == ledger["step"]), None)
    return done.code, ledger, window


def is_valid(messages: list[dict[str, Any]]) -> bool:
    """Each result directly answers a call, and no call is left open."""
    open_ids: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_ids:
                return False
            open_ids.remove(message["tool_call_id"])
        elif open_ids:
            return False
        else:
            open_ids = [call["id"] for call in message.get("tool_calls") or []]
    return not open_ids


@pytest.mark.parametrize("budget", [2000, 900, 500, 400, 200, 60])
def test_the_newest_exchange_is_whole_or_the_step_overflows(cli, tmp_path, shared, budget):
    code, ledger, window = window_at(cli, tmp_path, shared, budget)
    if window is None:
        assert budget <= 200
        assert (code, ledger["status"]) == (5, "overflow")
        assert ledger["total"] > ledger["usable"]
        return
    messages = window["messages"]
    assert is_valid(messages)
    assert messages[0] == {"role": "system", "content": "You are a helper."}
    texts = [message.get("content") or "" for message in messages]
    assert "and B2?" in texts
    calls = [c for m in messages for c in m.get("tool_calls") or []]
    assert [c["id"] for c in calls][-1] == "c2"
    assert messages[-1]["role"] == "tool"
    assert messages[-1]["content"].startswith("B2 y y")
    counter = counter_for("o200k_base", "gpt-4o")
    assert sum(message_tokens(message_from_openai(m), counter) for m in messages) <= budget
    if budget == 2000:
        assert len(messages) == 8
    else:
        assert len(messages) < 8
        assert "c1" not in [c["id"] for c in calls]
