"""Published MCP servers through the installed command: many tools deferred, few left as they are.

From PyPI: mcp-server-git and mcp-server-time. From npm, where they are installed (beside the
project in ``.venv/node``, or on the PATH): filesystem, everything and memory.
"""

from __future__ import annotations

import json
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


def test_over_thirty_tools_wait_and_one_is_found_and_called(cli, tmp_path, repository):
    servers = {
        "files": [program("mcp-server-filesystem"), str(repository)],
        "everything": [program("mcp-server-everything")],
        "memory": [program("mcp-server-memory")],
        "git": [program("mcp-server-git"), "--repository", str(repository)],
    }
    log = calling("git_log", repo_path=str(repository))
    read = calling("read_text_file", path=str(repository / "notes.txt"))
    put(
        tmp_path,
        servers,
        [
            calling("tool_search", query="commit history of a repository"),
            log,
            calling("tool_search", query="读取文本文件"),
            read,
            {"content": "Order 4711."},
        ],
    )
    done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", "--windows", timeout=300)
    assert done.code == 0, done.err
    task = tmp_path / "run/tasks/t1"
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
    results = {e["call_id"]: e for e in events if e["kind"] == "result"}
    told = [result["content"] for result in results.values()]
    assert "The first word" in told[1]
    assert "Order 4711 is late." in told[3]
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
