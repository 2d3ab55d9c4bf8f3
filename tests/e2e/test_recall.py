"""Recall through the command: a fact of an early turn comes back when it is asked for."""

from __future__ import annotations

import json
from typing import Any

from tests.conftest import Cli

PROFILE = """
version: 1
model: {name: openai/gpt-4.1-mini, window: 6000, reserve_output: 500}
tokenizer: o200k_base
history: {recall: {enabled: %s, top_k: 1}}
"""
CHAT = "We talked about the garden fence, the neighbours and the weather of that week. " * 8
FACT = "The spare key of the boat house hangs behind the blue barometer."
ASKED = "Where does the spare key of the boat house hang?"


def talk() -> dict[str, Any]:
    messages: list[dict[str, str]] = []
    for turn in range(1, 61):
        messages += [
            {"role": "user", "content": f"Story number {turn}, please."},
            {"role": "assistant", "content": f"{FACT if turn == 4 else ''} {CHAT}"},
        ]
    messages += [
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": "Behind the blue barometer."},
        {"role": "user", "content": "Thank you."},
        {"role": "assistant", "content": "You are welcome."},
    ]
    return {"id": "boat", "messages": messages, "tools": []}


def windows(cli: Cli, enabled: str) -> list[dict[str, Any]]:
    (cli.cwd / "p.yaml").write_text(PROFILE % enabled, encoding="utf-8")
    (cli.cwd / "t.jsonl").write_text(json.dumps(talk()) + "\n", encoding="utf-8")
    done = cli("replay", "p.yaml", "t.jsonl", "--windows", "--out", f"RUN-{enabled}")
    assert done.code == 0, done.err
    path = cli.cwd / f"RUN-{enabled}" / "tasks" / "boat" / "windows.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_fact_comes_back_and_the_run_verifies(cli: Cli) -> None:
    found = windows(cli, "true")
    asking = next(w for w in found if any(m["content"] == ASKED for m in w["messages"]))
    at = [message["content"] for message in asking["messages"]].index(ASKED)
    recalled = asking["messages"][at + 1]
    assert recalled["role"] == "user"
    assert recalled["content"].startswith("[recalled] ")
    assert f"- from turn 4 (assistant): {FACT}" in recalled["content"]
    assert cli("replay", "--verify", "RUN-true").code == 0
    ledger = cli.cwd / "RUN-true" / "tasks" / "boat" / "ledger.jsonl"
    line = json.loads(ledger.read_text(encoding="utf-8").splitlines()[asking["step"] - 1])
    assert line["parts"]["retrieved.recalled"] == line["buckets"]["retrieved"] > 0
    later = found[-1]["messages"]
    assert recalled in later  # what was shown stays where it was


def test_without_recall_the_fact_is_gone(cli: Cli) -> None:
    found = windows(cli, "false")
    asking = next(w for w in found if any(m["content"] == ASKED for m in w["messages"]))
    assert all("behind the blue barometer" not in str(m["content"]) for m in asking["messages"])
