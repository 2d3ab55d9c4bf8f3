"""Real traces through the shipped profiles: every step accounted for, every window sendable."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from contextctl.core.measure.validity import window_problems
from tests.conftest import Cli

CONVERTED = "data/01_trajectories/openai"
ORIGINAL = "data/01_trajectories/original"
# profile, traces, window, traces in them, assistant turns in them (counted in the files)
RUNS = [
    ("coding", [f"{CONVERTED}/mini-swe-agent_dev.jsonl"], 16_384, 23, 1_843),
    ("records", [f"{CONVERTED}/livemcpbench.jsonl"], 8_192, 48, 435),
    ("records", [f"{CONVERTED}/tau1_airline_gpt4o.jsonl"], 12_288, 50, 642),
    ("records", [f"{CONVERTED}/tau2-airline-gpt41.jsonl"], 12_288, 20, 226),
    (
        "coding",
        [
            f"{ORIGINAL}/pi_large-session.jsonl",
            f"{ORIGINAL}/pi_compact.malformed-last-line.jsonl",
        ],
        65_536,
        2,
        957,
    ),
]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def source_messages(files: list[Path]) -> dict[str, list[dict[str, Any]]]:
    """The messages of converted traces by id; originals are checked for pairing alone."""
    found = {}
    for file in files:
        if file.parent.name == "openai":
            for trace in lines(file):
                found[trace["id"]] = trace["messages"]
    return found


@pytest.fixture(scope="module", params=RUNS, ids=lambda run: Path(run[1][0]).stem)
def run(
    request: pytest.FixtureRequest, shared: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Any, ...]:
    profile, files, window, traces, turns = request.param
    folder = tmp_path_factory.mktemp("replay")
    paths = [shared / file for file in files]
    command = Cli(cwd=folder)
    args = ["replay", profile, *paths, "--set", f"model.window={window}", "--windows"]
    first = command(*args, "--out", folder / "a")
    again = command(*args, "--out", folder / "b")
    assert first.code == again.code == 0, first.err
    return folder, paths, window - 4_096, traces, turns


def test_every_step_is_in_the_ledger_and_its_buckets_sum_up(run: tuple[Any, ...]) -> None:
    folder, _, usable, traces, turns = run
    tasks = sorted((folder / "a" / "tasks").iterdir())
    ledgers = [lines(task / "ledger.jsonl") for task in tasks]
    assert len(ledgers) == traces
    assert sum(map(len, ledgers)) == turns
    for ledger in ledgers:
        assert [step["step"] for step in ledger] == list(range(1, len(ledger) + 1))
        for step in ledger:
            assert sum(step["buckets"].values()) == step["total"]
            assert sum(step["parts"].values()) == step["total"]
            assert step["usable"] == usable
            assert (step["status"] == "overflow") == (step["total"] > usable)


def test_every_window_is_within_budget_and_a_valid_message_list(run: tuple[Any, ...]) -> None:
    folder, paths, usable, _, _ = run
    sources = source_messages(paths)
    for task in sorted((folder / "a" / "tasks").iterdir()):
        ledger = {step["step"]: step for step in lines(task / "ledger.jsonl")}
        windows = {window["step"]: window for window in lines(task / "windows.jsonl")}
        assert windows.keys() == {n for n, step in ledger.items() if step["status"] == "ok"}
        for number, window in windows.items():
            assert ledger[number]["total"] <= usable
            messages = sources.get(window["task"], [])
            turns = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
            earlier = messages[: turns[number - 1]] if turns else []
            assert window_problems(window["messages"], earlier) == ()


def test_a_second_run_is_the_same_to_the_byte(run: tuple[Any, ...]) -> None:
    folder = run[0]
    for name in ("ledger.jsonl", "windows.jsonl", "record.jsonl"):
        for task in sorted((folder / "a" / "tasks").iterdir()):
            twin = folder / "b" / "tasks" / task.name / name
            assert (task / name).read_bytes() == twin.read_bytes()


def test_a_replay_opens_no_socket_and_does_not_import_litellm(
    shared: Path, tmp_path: Path, root: Path
) -> None:
    trace = shared / CONVERTED / "cline_session.jsonl"
    script = f"""
import socket, sys
def refuse(*args, **kwargs):
    raise AssertionError("a socket was opened")
socket.socket.connect = refuse
socket.getaddrinfo = refuse
sys.argv = ["contextctl", "replay", "coding", {str(trace)!r}, "--out", {str(tmp_path / "run")!r}]
from contextctl.cli.app import main
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
assert "litellm" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        cwd=tmp_path,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(root)},
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "run.json").exists()
