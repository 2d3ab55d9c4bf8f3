"""PFX-01 and PFX-03: the prefix keeps its bytes, and nothing empty is sent or marked."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from contextctl.core.assemble import Fold
from contextctl.core.count import Approx
from contextctl.model.assembly import Assembly
from contextctl.model.message import Message, ToolSpec
from contextctl.model.profile import profile_from_mapping
from contextctl.model.record import (
    EnvironmentRead,
    Event,
    MessageAdded,
    Opened,
    StepTaken,
    ToolsListed,
)


def specs(path: Path) -> tuple[ToolSpec, ...]:
    listed = json.loads(path.read_text("utf-8"))
    return tuple(ToolSpec(t["name"], t["description"], t["inputSchema"], "srv") for t in listed)


def prefix_bytes(assembly: Assembly, rules: str) -> str:
    """The hash of the tools and of the system text up to the end of the stable rules."""
    system = str(assembly.messages[0]["content"])
    stable = system[: system.index(rules) + len(rules)]
    data = json.dumps(list(assembly.tools), ensure_ascii=False) + stable
    return hashlib.sha256(data.encode()).hexdigest()


def test_a_clock_declared_first_and_a_reordered_server_change_no_byte_of_the_prefix(shared):
    case = shared / "cases/inputs/PFX-01"
    rules = (case / "rules.txt").read_text("utf-8").strip()
    profile = profile_from_mapping(
        {
            "version": 1,
            "model": {"name": "gpt-4o", "window": 16384},
            "workspace": {"tools": []},
            "prefix": [
                {"id": "clock", "environment": ["date"], "stability": "step"},
                {"id": "rules", "text": rules, "stability": "static"},
            ],
        }
    )
    fold = Fold(profile, Approx())

    def step(*events: Event) -> Assembly:
        for event in events:
            fold.advance(event)
        assembly = fold.assemble()
        fold.advance(StepTaken(assembly.ledger.step, digest=assembly.ledger.digest))
        return assembly

    first = step(
        Opened("t", "s000", "00"),
        EnvironmentRead({"date": "12:00:01"}),
        ToolsListed("srv", specs(case / "tools_1.json")),
        MessageAdded(Message("user", "go")),
    )
    second = step(
        MessageAdded(Message("assistant", "gone")),
        EnvironmentRead({"date": "12:00:03"}),
        ToolsListed("srv", specs(case / "tools_2.json")),
        MessageAdded(Message("user", "on")),
    )
    assert prefix_bytes(first, rules) == prefix_bytes(second, rules)
    assert "12:00:03" in str(second.messages[-1]["content"])
    assert second.ledger.prefix.broke_at is None
    without = step(ToolsListed("srv", ()), MessageAdded(Message("user", "without")))
    assert without.tools == ()
    again = step(
        ToolsListed("srv", specs(case / "tools_1.json")), MessageAdded(Message("user", "with"))
    )
    assert prefix_bytes(again, rules) == prefix_bytes(first, rules)


def test_nothing_empty_is_sent(cli, tmp_path, shared):
    """Three steps with an empty and a blank layer and a command that prints nothing."""
    case = shared / "cases/inputs/PFX-03"
    for name in ("empty.txt", "blank.txt"):
        (tmp_path / name).write_bytes((case / name).read_bytes())
    (tmp_path / "profile.yaml").write_text(
        "version: 1\n"
        "model: {name: scripted/replies.jsonl, window: 8192, reserve_output: 512}\n"
        "prefix:\n"
        "  - {id: core, text: Be brief., stability: static}\n"
        "  - {id: extra, file: empty.txt, stability: profile}\n"
        "  - {id: blank, file: blank.txt, stability: profile}\n"
        "tools: {quiet: {command: ['true']}}\n"
    )
    replies: list[dict[str, Any]] = [
        {"content": "", "tool_calls": [{"id": name, "name": "quiet", "arguments": {}}]}
        for name in ("c1", "c2")
    ]
    lines = [*replies, {"content": "finished"}]
    (tmp_path / "replies.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "tasks.jsonl").write_text('{"id": "t1", "input": "go"}\n')
    done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", "--windows")
    assert done.code == 0, done.err
    windows = [json.loads(line) for line in (tmp_path / "run/tasks/t1/windows.jsonl").open()]
    assert len(windows) == 3
    for message in windows[-1]["messages"]:
        content = message.get("content")
        assert content is None or content.strip()
        assert content or message.get("tool_calls")
    results = [m["content"] for m in windows[-1]["messages"] if m["role"] == "tool"]
    assert results == ["(no output)", "(no output)"]
    assert windows[-1]["messages"][0]["content"] == "Be brief."
