"""Published MCP servers through the installed command: many tools deferred, few left as they are.

From PyPI: mcp-server-git and mcp-server-time. From npm, where they are installed (beside the
project in ``.venv/node``, or on the PATH): filesystem, everything and memory.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BESIDE = (Path(sys.executable).parent, ROOT / ".venv/node/node_modules/.bin")

pytest.importorskip("mcp", reason="the package 'mcp' is not installed")


def program(name: str) -> str:
    for folder in BESIDE:
        if (folder / name).exists():
            return str(folder / name)
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"the server '{name}' is not installed")
    return found


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "The first word"]):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=folder, check=True
        )
    (folder / "notes.txt").write_text("Order 4711 is late.\n", encoding="utf-8")
    return folder


def put(folder: Path, servers: dict[str, list[str]], replies: list[dict[str, Any]]) -> None:
    text = "version: 1\nmodel: {name: scripted/replies.jsonl}\ntokenizer: o200k_base\n"
    text += "plan: {enabled: false}\nmcp:\n"
    for name, words in servers.items():
        text += f"  {name}: {{command: {json.dumps(words)}, timeout_s: 120}}\n"
    (folder / "profile.yaml").write_text(text, encoding="utf-8")
    lines = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in replies)
    (folder / "replies.jsonl").write_text(lines, encoding="utf-8")
    (folder / "tasks.jsonl").write_text('{"id": "t1", "input": "What is late?"}\n')


def lines_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def names(window: dict[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in window["tools"]]


def calling(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments}]}


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The example, in a folder of its own that is a repository, as its README has it."""
    folder = shutil.copytree(ROOT / "examples/servers", tmp_path / "try")
    author = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (
        ["init", "-q"],
        ["add", "notes.txt"],
        [*author, "commit", "-qm", "Open the shop"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


@pytest.fixture
def found() -> dict[str, str]:
    """The PATH on which the example's servers are; skips where they are not installed."""
    names = [f"mcp-server-{name}" for name in ("filesystem", "everything", "memory", "git")]
    folders = dict.fromkeys(str(Path(program(name)).parent) for name in names)
    return {"PATH": ":".join([*folders, os.environ["PATH"]])}


def test_over_thirty_tools_wait_and_one_is_found_and_called(cli, example, found):
    done = cli(
        "run", "profile.yaml", "tasks.jsonl", "--out", "many", "--windows",
        cwd=example, env=found, timeout=300,
    )  # fmt: skip
    assert done.code == 0, done.err
    task = example / "many/tasks/late"
    events = lines_of(task / "record.jsonl")
    listed = {e["source"]: len(e["tools"]) for e in events if e["kind"] == "tools"}
    assert set(listed) == {"files", "everything", "mcp:memory", "git"}
    assert sum(listed.values()) > 30
    windows, ledgers = lines_of(task / "windows.jsonl"), lines_of(task / "ledger.jsonl")
    assert names(windows[0]) == ["tool_search", "write_workspace"]
    for before, after in pairwise(windows):
        assert after["tools"][: len(before["tools"])] == before["tools"]
    assert "git_log" in names(windows[1])
    assert "read_text_file" not in names(windows[2])
    assert "read_text_file" in names(windows[3])
    told = [e["content"] for e in events if e["kind"] == "result"]
    assert "Open the shop" in told[1]
    assert "Order 4711 is late" in told[3]
    waiting = [action for action in ledgers[0]["actions"] if action["kind"] == "defer"]
    assert {action["target"] for action in waiting} == set(listed)
    saved = sum(action["tokens_before"] for action in waiting)
    assert ledgers[0]["buckets"]["tools_schema"] < saved / 4
    assert [report["prefix"]["broke_at"] for report in ledgers] == [
        None,
        "tools",
        None,
        "tools",
        None,
    ]
    doctor = cli("doctor", "profile.yaml", cwd=example, env=found, timeout=300)
    assert doctor.out.count("tools, deferred") == 4


def test_six_tools_of_the_same_profile_stay_in_the_window(cli, example, found):
    done = cli(
        "run", "few.yaml", "tasks.jsonl", "--out", "six", "--windows",
        cwd=example, env=found, timeout=300,
    )  # fmt: skip
    assert done.code == 0, done.err
    windows = lines_of(example / "six/tasks/late/windows.jsonl")
    assert len(names(windows[0])) == 7
    assert names(windows[0])[-1] == "write_workspace"
    assert windows[0]["tools"] == windows[1]["tools"]
    ledgers = lines_of(example / "six/tasks/late/ledger.jsonl")
    assert [report["actions"] for report in ledgers] == [[], []]


def test_few_tools_stay_where_they_are(cli, tmp_path, repository):
    servers = {"time": [program("mcp-server-time")]}
    put(
        tmp_path,
        servers,
        [calling("get_current_time", timezone="Asia/Shanghai"), {"content": "noon"}],
    )
    done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", "--windows", timeout=300)
    assert done.code == 0, done.err
    window = lines_of(tmp_path / "run/tasks/t1/windows.jsonl")[0]
    assert names(window) == ["convert_time", "get_current_time", "write_workspace"]
    ledger = lines_of(tmp_path / "run/tasks/t1/ledger.jsonl")[0]
    assert ledger["actions"] == []


def test_a_dry_run_uses_the_lists_that_were_recorded_last(cli, tmp_path, repository):
    put(tmp_path, {"git": [program("mcp-server-git")]}, [{"content": "done"}])
    never = cli("run", "profile.yaml", "tasks.jsonl", "--out", "dry0", "--dry-run")
    assert never.code == 2
    assert "'git'" in never.err
    assert "never recorded" in never.err
    live = cli("run", "profile.yaml", "tasks.jsonl", "--out", "live", "--windows", timeout=300)
    assert live.code == 0, live.err
    moved = shutil.which("true") or "true"
    dry = cli("run", "profile.yaml", "tasks.jsonl", "--out", "dry", "--dry-run", "--windows")
    assert dry.code == 0, dry.err
    first, again = (
        lines_of(tmp_path / run / "tasks/t1/windows.jsonl")[0] for run in ("live", "dry")
    )
    assert first["tools"] == again["tools"]
    other = cli(
        "run", "profile.yaml", "tasks.jsonl", "--out", "dry2", "--dry-run",
        "--set", f"mcp.git.command=[{moved}]",
    )  # fmt: skip
    assert other.code == 2  # another command is another server
