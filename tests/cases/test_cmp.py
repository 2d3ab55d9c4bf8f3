"""CMP-01, CMP-03, CMP-05: pins outlive compactions, useless ones stop, broken calls are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.servers.strict_openai import serving

RULE = (
    "Never e-mail a customer yourself; drafts only. Order numbers keep their leading zeros, "
    "e.g. 000417. 回复一律用繁体中文。"
)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def put(folder: Path, profile: str, task: dict[str, Any]) -> None:
    (folder / "profile.yaml").write_text(profile, "utf-8")
    (folder / "tasks.jsonl").write_text(json.dumps(task, ensure_ascii=False) + "\n", "utf-8")


def summaries(messages: list[dict[str, Any]]) -> list[str]:
    """The texts of the summaries in a window."""
    texts = (str(message.get("content")) for message in messages)
    return [text for text in texts if text.startswith("[summary c")]


def audited(cli: Any) -> list[dict[str, Any]]:
    shown = cli("audit", "ls", "run", "--format", "json")
    assert shown.code == 0, shown.err
    rows: list[dict[str, Any]] = shown.json["compactions"]
    return sorted(rows, key=lambda row: int(row["step"]))


# -- CMP-01 ------------------------------------------------------------------------------------

PINNING = """\
version: 1
name: desk
model: {name: openai/gpt-4.1-mini, window: 32768, reserve_output: 4096}
tokenizer: o200k_base
compaction: {when: {ratio: 0.1046}, protect_steps: 2}  # 3,000 tokens of the 28,672 usable
"""


@pytest.fixture
def turns(shared: Path) -> list[dict[str, Any]]:
    """The history, then the three long turns, each answered but the last."""
    folder = shared / "cases/inputs/CMP-01"
    history, long = lines_of(folder / "messages.jsonl"), lines_of(folder / "turns.jsonl")
    assert RULE in history[3]["content"]
    ok = {"role": "assistant", "content": "ok"}
    return [*history, long[0], ok, long[1], ok, long[2]]


def test_a_pinned_rule_stands_once_after_each_of_three_compactions(cli, tmp_path, turns):
    put(tmp_path, PINNING, {"id": "t", "messages": turns, "constraints": [RULE]})
    done = cli("run", "profile.yaml", "tasks.jsonl", "--dry-run", "--windows", "--out", "run")
    assert done.code == 0, done.err
    windows = {line["step"]: line for line in lines_of(tmp_path / "run/tasks/t/windows.jsonl")}
    rows = [row for row in audited(cli) if row["outcome"] == "committed"]
    assert len(rows) >= 3
    for row in rows:
        messages = windows[row["step"]]["messages"]
        texts = [str(message.get("content")) for message in messages]
        assert sum(text.count(RULE) for text in texts) == 1
        (block,) = [text for text in texts if RULE in text]
        assert block.startswith("[pinned] ")
        assert summaries(messages)[-1].startswith(f"[summary {row['compaction_id']}]")


def test_the_audit_names_the_pin_its_message_and_what_was_dropped(cli, tmp_path, turns):
    put(tmp_path, PINNING, {"id": "t", "messages": turns, "constraints": [RULE]})
    assert cli("run", "profile.yaml", "tasks.jsonl", "--dry-run", "--out", "run").code == 0
    first, *_ = [row for row in audited(cli) if row["outcome"] == "committed"]
    assert first["tokens_after"] < first["tokens_before"]
    assert 0 < first["event_from"] < first["event_to"]
    assert first["pinned_keys"] == ["constraints.1"]
    (pin,) = first["pins"]
    assert pin["text"] == RULE
    record = lines_of(tmp_path / "run/tasks/t/record.jsonl")
    said = record[int(pin["source"].removeprefix("e")) - 1]
    assert RULE in said["message"]["content"]


def test_a_summariser_that_forgets_the_rule_changes_nothing(cli, tmp_path, turns):
    """The scripted summariser answers prose: refused, asked once more, then done without it."""
    history = turns[:-4]
    with serving(
        [
            {"message": {"content": "Summary: all fine."}, "when": "working notes", "repeat": True},
            {"message": {"content": "ok"}, "repeat": True},
        ]
    ) as server:
        profile = PINNING.replace("openai/gpt-4.1-mini,", f"openai/stub, api_base: {server.url},")
        profile = profile.replace(
            "protect_steps: 2",
            "protect_steps: 2, summarizer: {kind: model, model: openai/notes, window: 8000}",
        )
        put(tmp_path, profile, {"id": "t", "messages": history, "constraints": [RULE]})
        done = cli(
            "run", "profile.yaml", "tasks.jsonl", "--out", "run", env={"OPENAI_API_KEY": "none"}
        )
        assert done.code == 0, done.err
        asked = [r["body"] for r in server.requests if r["body"]["model"] == "notes"]
        answered = [r["body"] for r in server.requests if r["body"]["model"] == "stub"]
    assert [request["problems"] for request in server.requests] == [[]] * len(server.requests)
    assert len(asked) == 2
    assert asked[0]["response_format"]["json_schema"]["schema"]["required"][0] == "done"
    texts = [str(message.get("content")) for message in answered[-1]["messages"]]
    assert sum(text.count(RULE) for text in texts) == 1
    assert summaries(answered[-1]["messages"])
    (row,) = audited(cli)
    assert row["by"] == "mechanical"
    assert "JSON" in row["fallback"]
    ledger = lines_of(tmp_path / "run/tasks/t/ledger.jsonl")[-1]
    assert ledger["measured"]["summary"]["requests"] == 2
    assert ledger["measured"]["summary"]["prompt_tokens"] > 0


# -- CMP-03 ------------------------------------------------------------------------------------


def test_compaction_that_cannot_help_is_paused_and_says_why_once(cli, tmp_path, shared):
    folder = shared / "cases/inputs/CMP-03"
    (tmp_path / "prefix.txt").write_text((folder / "prefix.txt").read_text("utf-8"), "utf-8")
    messages = lines_of(folder / "messages.jsonl")
    with serving(
        [
            {"message": {"content": "notes"}, "when": "working notes", "repeat": True},
            {"message": {"content": "Fine."}, "repeat": True},
        ]
    ) as server:
        profile = f"""\
version: 1
name: desk
model: {{name: openai/stub, window: 32768, reserve_output: 4096, api_base: {server.url}}}
tokenizer: o200k_base
prefix: [{{id: core, file: prefix.txt, stability: static}}]
budget: {{reduce: {{trigger: 0.1744, target: 0.12}}}}
compaction:
  when: {{ratio: 0.1744}}
  protect_steps: 1
  summarizer: {{kind: model, model: openai/notes, window: 8000}}
"""
        put(tmp_path, profile, {"id": "t", "messages": messages})
        done = cli(
            "run", "profile.yaml", "tasks.jsonl", "--out", "run", env={"OPENAI_API_KEY": "none"}
        )
        asked = [r for r in server.requests if r["body"]["model"] == "notes"]
    assert done.code == 0, done.err
    assert len(asked) <= 2
    ledger = lines_of(tmp_path / "run/tasks/t/ledger.jsonl")
    told = [text for line in ledger for text in line.get("warnings", []) if "paused" in text]
    assert len(told) == 1
    assert "> threshold 5,000" in told[0]
    assert "compaction cannot help" in told[0]
    assert "system.core 6," in told[0]
    assert told[0].partition("largest: ")[2].count(", ") >= 2
    assert ledger[-1]["actions"][-1]["kind"] == "pause"
    assert ledger[-1]["status"] == "ok"


# -- CMP-05 ------------------------------------------------------------------------------------


def test_a_call_without_a_result_is_closed_compacted_and_audited(cli, tmp_path, shared):
    messages = lines_of(shared / "cases/inputs/CMP-05/messages.jsonl")
    (tmp_path / "cards.py").write_text(
        "def charge(card: int) -> str:\n"
        "    open('side.log', 'a').write(f'{card}\\n')\n"
        "    return 'charged'\n",
        "utf-8",
    )
    with serving([{"message": {"content": "Card 2 was not charged."}, "repeat": True}]) as server:
        profile = f"""\
version: 1
name: desk
model: {{name: openai/stub, window: 32768, reserve_output: 4096, api_base: {server.url}}}
tokenizer: o200k_base
tools: {{charge: {{python: "cards:charge", side_effects: true}}}}
compaction:
  when: {{ratio: 0.021}}
  protect_steps: 1
  summarizer: {{kind: model, model: openai/notes, window: 8000}}
"""
        go_on = {"role": "user", "content": "go on"}
        put(tmp_path, profile, {"id": "t", "messages": [*messages, go_on]})
        done = cli(
            "run", "profile.yaml", "tasks.jsonl", "--out", "run", env={"OPENAI_API_KEY": "none"}
        )
        requests = server.requests
    assert done.code == 0, done.err
    assert [request["problems"] for request in requests] == [[]] * len(requests)
    asked = [r["body"] for r in requests if r["body"]["model"] == "stub"]
    (window,) = asked
    results = {m["tool_call_id"]: m for m in window["messages"] if m["role"] == "tool"}
    assert "charged 1" in json.dumps(window["messages"])
    if "d2" in results:
        assert "interrupted" in results["d2"]["content"]
    else:
        assert "call d2 (charge) has no result" in json.dumps(window["messages"])
    assert not (tmp_path / "side.log").exists()
    rows = audited(cli)
    assert [row["repaired"] for row in rows if row["outcome"] == "committed"] == [["d2"]]
