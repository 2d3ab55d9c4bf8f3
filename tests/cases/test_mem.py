"""MEM-01: a corrected fact comes back once, a deleted one never, and each change leaves a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli

SUBJECT = "user:7"


def memory(cli: Cli, *args: object, code: int = 0) -> Any:
    done = cli("memory", *args, "--format", "json")
    assert done.code == code, done.err
    return done.json


def search(cli: Cli, question: str) -> list[str]:
    found = memory(cli, "search", question, "--subject", SUBJECT)
    return [one["text"] for one in found["memories"]]


@pytest.fixture
def ops(shared: Path) -> list[dict[str, str]]:
    text = (shared / "cases/inputs/MEM-01/ops.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_mem_01_by_command(cli: Cli, tmp_path: Path, ops: list[dict[str, str]]) -> None:
    outcomes, found = [], []
    for op in ops:
        if op["op"] == "add":
            added = memory(cli, "add", op["text"], "--key", op["key"], "--subject", SUBJECT)
            outcomes.append(added["outcome"])
        elif op["op"] == "search":
            found.append(search(cli, op["q"]))
        elif op["op"] == "list":
            rows = memory(cli, "ls", "--subject", SUBJECT)["memories"]
            assert sorted(row["text"] for row in rows) == [
                "Client dislikes star anise",
                "Device A is a Fenix NAS",
            ]
        else:
            (shown,) = [row["id"] for row in rows if row["key"] == "device-a"]
            assert memory(cli, "forget", shown)["forgotten"] == [shown]
    assert outcomes == ["added", "changed", "added", "changed", "same"]
    assert found == [["Device A is a Fenix NAS"], ["Client dislikes star anise"], []]
    changes = memory(cli, "log", "--subject", SUBJECT)["changes"]
    assert [change["action"] for change in changes] == [
        "added", "changed", "added", "changed", "forgotten",
    ]  # fmt: skip
    device = [change for change in changes if change["key"] == "device-a"]
    assert {(change["before"], change["after"]) for change in device} == {("", "")}
    for file in (tmp_path / ".contextctl").iterdir():
        assert b"Fenix" not in file.read_bytes()
        assert b"Lumen" not in file.read_bytes()


PROFILE = """\
version: 1
model: {name: scripted/replies.jsonl, window: 16384, reserve_output: 512}
prefix:
  - {id: core, text: "You are careful.", stability: static}
  - {id: memory, index: memory, stability: turn}
memory: {enabled: true, extract: "off"}
tools:
  read_page: {python: "pages:read_page"}
  forget_it: {python: "pages:forget_it", side_effects: true}
"""
PAGES = """\
import subprocess, sys

def read_page() -> str:
    return "Device A is a Lumen NAS, says the page"

def forget_it() -> str:
    done = subprocess.run([sys.executable, "-m", "contextctl", "memory", "forget", "--all",
                           "--subject", "user:7"], capture_output=True, text=True)
    return f"exit {done.returncode}"
"""


@pytest.fixture
def run(cli: Cli, tmp_path: Path, root: Path) -> Any:
    (tmp_path / "profile.yaml").write_text(PROFILE, encoding="utf-8")
    (tmp_path / "pages.py").write_text(PAGES, encoding="utf-8")

    def started(task: dict[str, Any], *replies: dict[str, Any]) -> list[dict[str, Any]]:
        text = "".join(json.dumps(reply, ensure_ascii=False) + "\n" for reply in replies)
        (tmp_path / "replies.jsonl").write_text(text, encoding="utf-8")
        (tmp_path / "tasks.jsonl").write_text(json.dumps(task) + "\n", encoding="utf-8")
        done = cli(
            "run", "profile.yaml", "tasks.jsonl", "--windows", "--out", task["id"],
            env={"PYTHONPATH": str(root)},
        )  # fmt: skip
        assert done.code == 0, done.err
        windows = tmp_path / task["id"] / "tasks" / task["id"] / "windows.jsonl"
        return [json.loads(line) for line in windows.read_text(encoding="utf-8").splitlines()]

    return started


def propose(text: str, quote: str, key: str = "device-a") -> dict[str, Any]:
    arguments = {"kind": "fact", "key": key, "text": text, "quote": quote}
    return {"tool_calls": [{"name": "memory_propose", "arguments": arguments}]}


def test_mem_01_by_tool_calls(cli: Cli, run: Any) -> None:
    """What the user says replaces what was known; what a page says waits for a person."""
    said = "Note: Device A is a Lumen NAS. Correction: Device A is a Fenix NAS."
    windows = run(
        {"id": "t1", "input": said, "subject": SUBJECT},
        propose("Device A is a Lumen NAS", "Device A is a Lumen NAS"),
        propose("Device A is a Fenix NAS", "Device A is a Fenix NAS"),
        {"tool_calls": [{"name": "read_page", "arguments": {}}]},
        propose("Device A is a page", "says the page"),
        propose("Device A runs hot", "nobody said so"),
        {"content": "noted"},
    )
    answers = [m["content"] for m in windows[-1]["messages"] if m["role"] == "tool"]
    assert [json.loads(a).get("outcome") for a in answers if a.startswith("{")] == [
        "added", "changed", "held", "refused",
    ]  # fmt: skip
    rows = memory(cli, "ls", "--subject", SUBJECT)["memories"]
    assert [row["text"] for row in rows if row["state"] == "current"] == ["Device A is a Fenix NAS"]
    assert [row["source"] for row in rows if row["state"] == "held"] == ["tool:read_page"]
    assert search(cli, "Device A") == ["Device A is a Fenix NAS"]


def test_what_is_remembered_is_injected_once_and_leaves_when_it_is_deleted(
    cli: Cli, run: Any, tmp_path: Path
) -> None:
    memory(cli, "add", "Device A is a Fenix NAS", "--key", "device a", "--subject", SUBJECT)
    memory(cli, "add", "Device A is a Basilisk NAS", "--key", "device a", "--subject", "user:8")
    windows = run(
        {"id": "t2", "input": "Which NAS is Device A?", "subject": SUBJECT},
        {"tool_calls": [{"name": "memory_recall", "arguments": {"query": "Device A"}}]},
        {"tool_calls": [{"name": "forget_it", "arguments": {}}]},
        {"content": "I do not know"},
    )
    first, second, last = (json.dumps(w["messages"], ensure_ascii=False) for w in windows)
    assert first.count("[fact · from user:7 · ") == 1
    assert "Hints from earlier conversations, not evidence" in first
    assert "memory_recall to read one" in first  # the index layer
    assert "device-a: Device A is a Fenix NAS" in first
    assert '"memories"' in second.replace("\\", "")
    assert "Fenix" in second
    assert "Fenix" not in last
    assert "Basilisk" not in first + second + last
    order = [m["role"] for m in windows[0]["messages"]]
    assert order == ["system", "user", "user"]  # the memories stand before the question
    ledger = (tmp_path / "t2/tasks/t2/ledger.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(ledger[0])["parts"]["memory.recalled"] > 0
    verified = cli("replay", "--verify", "t2")
    assert verified.code == 0, verified.out


def test_an_unrelated_question_recalls_nothing(cli: Cli, run: Any) -> None:
    memory(cli, "add", "ships to the office only", "--key", "ship-to", "--subject", SUBJECT)
    (window,) = run(
        {"id": "t3", "input": "What is the capital of Portugal?", "subject": SUBJECT},
        {"content": "Lisbon"},
    )
    assert "[memory]" not in json.dumps(window["messages"])


def test_without_a_subject_nothing_is_read_or_written(cli: Cli, run: Any) -> None:
    memory(cli, "add", "ships to the office only", "--key", "ship-to", "--subject", SUBJECT)
    window, last = run(
        {"id": "t4", "input": "Where do we ship to, the office?"},
        propose("ships anywhere", "ship to"),
        {"content": "ok"},
    )
    assert "office only" not in json.dumps(window)
    assert "no_subject" in json.dumps(last["messages"])


def test_the_gate_of_the_profile_holds_by_hand_too(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "strict.yaml").write_text(
        "version: 1\nmodel: {name: scripted/x, window: 8000}\n"
        "memory: {enabled: true, kinds: [preference], min_confidence: 0.9}\n"
    )
    strict = ["--profile", "strict.yaml", "--subject", SUBJECT]
    refused = memory(cli, "add", "Device A is a NAS", *strict, code=1)
    assert refused["code"] == "not_stable"
    liked = ["add", "likes tea", "--kind", "preference", *strict]
    assert memory(cli, *liked, "--confidence", "0.85", code=1)["code"] == "low_confidence"
    kept = memory(cli, *liked)
    secret = memory(
        cli, "correct", kept["id"], "the code is 1; my password is hunter22", "--profile",
        "strict.yaml", code=1,
    )  # fmt: skip
    assert secret["code"] == "sensitive"
    (row,) = memory(cli, "ls")["memories"]
    assert row["text"] == "likes tea"


def test_held_memories_are_used_when_confirmed(cli: Cli) -> None:
    held = memory(cli, "add", "the customer is a VIP", "--subject", SUBJECT, "--source", "tool:crm")
    assert held["outcome"] == "held"
    assert search(cli, "is the customer a VIP") == []
    memory(cli, "confirm", held["id"])
    assert search(cli, "is the customer a VIP") == ["the customer is a VIP"]


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (["--ttl-days", "1e9"], 0, "added"),  # longer than anybody lives: it does not expire
        (["--ttl-days", "nan"], 1, "not_stable"),
        (["--ttl-days", "-1"], 1, "not_stable"),
        (["--ttl-days", "inf"], 0, "added"),
    ],
)
def test_a_lifetime_of_any_number_is_no_bug(
    cli: Cli, more: list[str], code: int, said: str
) -> None:
    done = cli("memory", "add", "ships to the office", "--subject", SUBJECT, *more)
    assert (done.code, said in done.out + done.err) == (code, True)
    for row in memory(cli, "ls")["memories"]:
        assert row["expires_at"] == ""


def test_a_model_s_numbers_are_no_bug_either(cli: Cli, run: Any) -> None:
    said = "I prefer tea and I prefer window seats."
    odd = propose("prefers tea", "I prefer tea")
    odd["tool_calls"][0]["arguments"] |= {"ttl_days": 1e300}
    windows = run(
        {"id": "t6", "input": said, "subject": SUBJECT},
        odd,
        propose("prefers window seats", "I prefer window seats", key="seat"),
        {"content": "noted"},
    )
    answers = [m["content"] for m in windows[-1]["messages"] if m["role"] == "tool"]
    assert [json.loads(answer)["outcome"] for answer in answers] == ["added", "added"]
    assert len(memory(cli, "ls")["memories"]) == 2


def test_one_subject_has_one_spelling_and_nobody_is_named_by_chance(cli: Cli, run: Any) -> None:
    memory(cli, "add", "likes tea", "--subject", " user:7 ")
    memory(cli, "add", "Likes tea.", "--subject", "user:7")
    (row,) = memory(cli, "ls", "--subject", "user:7 ")["memories"]
    assert row["subject"] == "user:7"
    for name in ("7", "USER:7", "user:", "group:7"):
        done = cli("memory", "ls", "--subject", name)
        assert done.code == 2
        assert "user:ID or tenant:ID" in done.err
    assert memory(cli, "search", "tea", "--subject", "user:70")["memories"] == []
    (window,) = run({"id": "t7", "input": "tea?", "subject": "7"}, {"content": "ok"})
    assert "likes tea" not in json.dumps(window).lower()
    assert "memory_recall" not in json.dumps(window["tools"])


def test_a_key_is_the_same_in_every_spelling_of_its_letters(cli: Cli) -> None:
    memory(cli, "add", "likes coffee", "--key", "Café", "--subject", SUBJECT)
    memory(cli, "add", "likes mocha", "--key", "Cafe\u0301", "--subject", SUBJECT)
    assert [row["text"] for row in memory(cli, "ls")["memories"]] == ["likes mocha"]


def test_a_store_that_is_not_there_is_said(cli: Cli) -> None:
    done = cli("memory", "ls", "--store", "no/such/folder")
    assert done.code == 2
    assert "no/such/folder" in done.err


def test_forgetting_says_which_runs_still_hold_it(cli: Cli, run: Any, tmp_path: Path) -> None:
    memory(cli, "add", "Device A is a Fenix NAS", "--key", "device a", "--subject", SUBJECT)
    run({"id": "t8", "input": "Which NAS is Device A?", "subject": SUBJECT}, {"content": "Fenix"})
    run({"id": "t9", "input": "Which NAS is Device A?"}, {"content": "no idea"})
    (row,) = memory(cli, "ls")["memories"]
    gone = memory(cli, "forget", row["id"])
    assert gone == {"forgotten": [row["id"]], "still_in": [str(tmp_path / "t8")]}
