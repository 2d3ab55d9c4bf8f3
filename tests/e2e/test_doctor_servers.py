"""``contextctl doctor PROFILE`` starts the servers, says what they offer, and ends them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the package 'mcp' is not installed")

HOSTILE = str(Path(__file__).resolve().parents[1] / "servers/hostile_mcp.py")


def server(name: str, mode: str, more: str = "") -> str:
    return f"  {name}: {{command: {json.dumps([sys.executable, HOSTILE, mode])}{more}}}\n"


def put(folder: Path, servers: str) -> None:
    (folder / "replies.jsonl").write_text('{"content": "done"}\n', encoding="utf-8")
    (folder / "profile.yaml").write_text(
        "version: 1\nmodel: {name: scripted/replies.jsonl, window: 8192}\nmcp:\n" + servers,
        encoding="utf-8",
    )


def test_each_server_is_listed_and_its_deferral_told(cli, tmp_path):
    put(tmp_path, server("many", "crowd") + server("few", "pages") + server("lab", "schemas"))
    done = cli("doctor", "profile.yaml", "--format", "json", env={"OPENAI_API_KEY": "k"})
    assert done.code == 0, done.out
    told = [c for c in done.json["checks"] if c["name"].startswith("mcp ")]
    assert [(c["name"], c["status"], c["detail"].partition(", listed")[0]) for c in told[:3]] == [
        ("mcp many", "ok", "16 tools, deferred (more than 10)"),
        ("mcp few", "ok", "7 tools, resident"),
        ("mcp lab", "ok", "5 tools, resident"),
    ]
    assert told[3]["status"] == "unknown"
    assert "'title_lookup' is left out" in told[3]["detail"]


def test_what_does_not_start_fails_with_its_reason_and_nothing_waits_for_ever(cli, tmp_path):
    servers = server("shut", "leaves") + server("still", "mute", ", timeout_s: 1")
    servers += "  gone: {command: [no-such-program, '${DESK_KEY}'], required: false}\n"
    put(tmp_path, servers + server("few", "pages"))
    done = cli("doctor", "profile.yaml", env={"DESK_KEY": "tok-4711-8899"})
    assert done.code == 1
    assert "it ended (exit code 3: error: no token was given)" in done.out
    assert "it did not answer within 1 s" in done.out or "within 1 s" in done.out
    assert "there is no program 'no-such-program'" in done.out
    assert "7 tools, resident" in done.out
    assert "3 of" in done.err
    assert "tok-4711-8899" not in done.out + done.err


def test_what_was_listed_serves_a_dry_run_also_when_the_server_fails_later(cli, tmp_path):
    put(tmp_path, "  few: {command: [sh, start.sh], required: false}\n")
    (tmp_path / "tasks.jsonl").write_text('{"id": "t1", "input": "x"}\n', encoding="utf-8")
    start = tmp_path / "start.sh"
    start.write_text(f"exec {sys.executable} {HOSTILE} pages\n", encoding="utf-8")
    key = {"OPENAI_API_KEY": "k"}
    assert cli("doctor", "profile.yaml", env=key).code == 0
    start.write_text("exit 1\n", encoding="utf-8")
    assert cli("doctor", "profile.yaml", env=key).code == 1
    assert cli("run", "profile.yaml", "tasks.jsonl", "--out", "live").code == 0
    dry = cli("run", "profile.yaml", "tasks.jsonl", "--dry-run", "--windows", "--out", "dry")
    assert dry.code == 0, dry.err
    window = json.loads((tmp_path / "dry/tasks/t1/windows.jsonl").read_text(encoding="utf-8"))
    assert [tool["function"]["name"] for tool in window["tools"]][:2] == ["t1", "t2"]
