"""MCP-01, MCP-03, MCP-05: lists in pages, schemas that are none, images that are no text."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.servers.hostile_mcp import picture
from tests.servers.strict_openai import serving

pytest.importorskip("mcp", reason="the package 'mcp' is not installed")

SERVER = Path(__file__).resolve().parents[1] / "servers/hostile_mcp.py"
PROFILE = """version: 1
model: {{name: openai/stub, window: 32768, api_base: "{url}", retries: 0}}
compaction: {{when: {{ratio: 0.8}}}}
plan: {{enabled: false}}
mcp:
"""


def server(name: str, mode: str, more: str = "", **keys: str) -> str:
    """A line of the profile that declares a server."""
    words = [sys.executable, str(SERVER), mode, "--name", name, *more.split()]
    rest = "".join(f", {key}: {value}" for key, value in keys.items())
    return f"  {name}: {{command: {json.dumps(words)}{rest}}}\n"


def put(folder: Path, text: str) -> None:
    (folder / "profile.yaml").write_text(text, encoding="utf-8")
    (folder / "tasks.jsonl").write_text('{"id": "t1", "input": "go"}\n', encoding="utf-8")


def calling(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": "c1", "type": "function", "function": function}
    return {"message": {"role": "assistant", "content": None, "tool_calls": [call]}}


def events_of(run: Path) -> list[dict[str, Any]]:
    lines = (run / "tasks/t1/record.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def names_in(body: dict[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in body["tools"]]


def numbered(replies):
    """The same replies, each call with an id of its own."""
    for place, reply in enumerate(replies):
        reply["message"]["tool_calls"][0]["id"] = f"c{place}"
    return replies


class TestPages:
    """MCP-01"""

    def test_every_page_is_read_and_a_cursor_that_leads_nowhere_ends(self, cli, tmp_path):
        with serving() as model:
            pages, stuck = tmp_path / "pages.log", tmp_path / "stuck.log"
            text = PROFILE.format(url=model.url)
            text += server("paged", "pages", f"--log {pages}", timeout_s="10")
            text += server("stuck", "stuck", f"--log {stuck}", timeout_s="10")
            put(tmp_path, text)
            done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run")
        assert done.code == 0, done.err
        listed = {
            e["source"]: e["tools"] for e in events_of(tmp_path / "run") if e["kind"] == "tools"
        }
        names = {key: [t["function"]["name"] for t in tools] for key, tools in listed.items()}
        assert names["paged"] == ["t1", "t2", "t3", "t4", "t5", "t6", "t7"]
        assert names["stuck"] == ["s1", "s2"]
        assert pages.read_text().count("tools/list") == 3
        assert stuck.read_text().count("tools/list") <= 2
        assert done.err.count("'stuck'") == 1
        assert "'paged'" not in done.err
        offered = names_in(model.requests[0]["body"])
        assert [name for name in offered if name != "write_workspace"] == [
            "t1", "t2", "t3", "t4", "t5", "t6", "t7", "s1", "s2",
        ]  # fmt: skip

    def test_an_allow_list_reaches_the_last_page(self, cli, tmp_path):
        with serving([calling("t7", {})]) as model:
            text = PROFILE.format(url=model.url) + server("paged", "pages", include="[t7]")
            put(tmp_path, text)
            done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run")
        assert done.code == 0, done.err
        assert names_in(model.requests[0]["body"]) == ["t7", "write_workspace"]
        (result,) = [e for e in events_of(tmp_path / "run") if e["kind"] == "result"]
        assert json.loads(result["content"])["tool"] == "t7"


class TestSchemas:
    """MCP-03"""

    def test_one_bad_schema_costs_only_its_own_tool(self, cli, tmp_path):
        with serving([calling("add", {"a": 1, "b": 2}), calling("either", {"b": "x"})]) as model:
            put(tmp_path, PROFILE.format(url=model.url) + server("lab", "schemas"))
            done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run")
        assert done.code == 0, done.err
        assert [entry["problems"] for entry in model.requests] == [[], [], []]
        offered = set(names_in(model.requests[0]["body"])) - {"write_workspace"}
        assert offered == {"add", "by_ids", "either", "no_schema", "no_properties"}
        results = [e for e in events_of(tmp_path / "run") if e["kind"] == "result"]
        assert [json.loads(r["content"])["arguments"] for r in results] == [
            {"a": 1, "b": 2},
            {"b": "x"},
        ]
        warnings = [line for line in done.err.splitlines() if "title_lookup" in line]
        assert len(warnings) == 1
        assert "'lab'" in warnings[0]
        assert "'string'" in warnings[0]
        (note,) = [e for e in events_of(tmp_path / "run") if e.get("topic") == "discovery_failure"]
        assert note["body"]["tool"] == "title_lookup"
        assert note["body"]["failure"] == "discovery.index"


class TestImages:
    """MCP-05"""

    def test_an_image_is_kept_and_told_of_and_never_text(self, cli, tmp_path):
        with serving([calling("screenshot", {})]) as model:
            put(tmp_path, PROFILE.format(url=model.url) + server("camera", "image"))
            done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run")
        assert done.code == 0, done.err
        sent = json.dumps(model.requests[1]["body"], ensure_ascii=False)
        assert max(map(len, re.findall(r"[A-Za-z0-9+/=]+", sent))) <= 200
        ledgers = (tmp_path / "run/tasks/t1/ledger.jsonl").read_text(encoding="utf-8").splitlines()
        last = json.loads(ledgers[-1])
        assert last["buckets"]["tool_results"] <= 2_000
        assert [action["kind"] for action in last["actions"]] == []
        (told,) = [
            m["content"] for m in model.requests[1]["body"]["messages"] if m["role"] == "tool"
        ]
        found = re.fullmatch(
            r"captured 256x256\n\[image/png, 1\d\d,\d{3} bytes, 256x256; kept as ([\w-]+)\]", told
        )
        assert found, told
        exported = cli("workspace", "export", "run", "--out", "files")
        assert exported.code == 0, exported.err
        (file,) = (tmp_path / "files").glob(f"{found[1]}*")
        assert hashlib.sha256(file.read_bytes()).digest() == hashlib.sha256(picture()).digest()

    def test_the_record_holds_no_bytes_either(self, cli, tmp_path):
        with serving([calling("screenshot", {})]) as model:
            put(tmp_path, PROFILE.format(url=model.url) + server("camera", "image"))
            cli("run", "profile.yaml", "tasks.jsonl", "--out", "run")
        assert (tmp_path / "run/tasks/t1/record.jsonl").stat().st_size < 20_000


class TestSecrets:
    def test_a_value_from_the_environment_stands_in_no_file(self, cli, tmp_path):
        text = server("desk", "tells", env="{DESK_TOKEN: '${DESK_TOKEN}'}")
        with serving([calling("work", {})]) as model:
            put(tmp_path, PROFILE.format(url=model.url) + text)
            env = {"DESK_TOKEN": "tok-55aa66bb77"}
            done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", "--windows", env=env)
        assert done.code == 0, done.err
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert any(path.match(".contextctl/mcp/*.json") for path in files)
        for path in files:
            assert b"tok-55aa66bb77" not in path.read_bytes(), path
        assert "tok-55aa66bb77" not in done.out + done.err
        assert "tok-55aa66bb77" not in json.dumps(model.requests[1]["body"])


class TestChanges:
    def test_a_tool_that_a_call_brought_is_offered_in_the_next_window(self, cli, tmp_path):
        again = calling("grown", {})
        again["message"]["tool_calls"][0]["id"] = "c2"
        with serving([calling("more", {}), again]) as model:
            put(tmp_path, PROFILE.format(url=model.url) + server("living", "grows"))
            done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run")
        assert done.code == 0, done.err
        offered = [set(names_in(entry["body"])) for entry in model.requests]
        assert "grown" not in offered[0]
        assert "grown" in offered[1] & offered[2]
        events = events_of(tmp_path / "run")
        lists = [e for e in events if e["kind"] == "tools" and e["source"] == "living"]
        assert [len(event["tools"]) for event in lists] == [1, 2]
        results = [event for event in events if event["kind"] == "result"]
        assert [result["status"] for result in results] == ["ok", "ok"]
        ledgers = (tmp_path / "run/tasks/t1/ledger.jsonl").read_text(encoding="utf-8").splitlines()
        assert json.loads(ledgers[1])["prefix"]["broke_at"] == "tools"
        verified = cli("replay", "--verify", "run")
        assert verified.code == 0, verified.out + verified.err

    def test_a_deferred_server_that_shrinks_stays_deferred(self, cli, tmp_path):
        asked = [
            calling("tool_search", {"query": "what tool_03 does", "limit": 2}),
            calling("tool_03", {}),
            calling("tool_04", {}),
        ]
        with serving(numbered(asked)) as model:
            put(tmp_path, PROFILE.format(url=model.url) + server("desk", "shrinks"))
            done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run")
        assert done.code == 0, done.err
        offered = [names_in(entry["body"]) for entry in model.requests]
        assert offered[0] == ["tool_search", "write_workspace"]
        assert "tool_03" in offered[1]
        # 9 of 12 tools are left, which alone would not be deferred
        assert offered[2][:2] == offered[3][:2] == ["tool_search", "write_workspace"]
        assert set(offered[3]) < set(offered[1])
        assert "tool_03" not in offered[2]
        gone = [event for event in events_of(tmp_path / "run") if event["kind"] == "result"][-1]
        assert gone["status"] == "error"
        assert "there is no tool 'tool_04'; did you mean" in gone["content"]
        assert cli("replay", "--verify", "run").code == 0

    def test_a_tool_that_stood_in_a_window_stands_on_when_its_server_swells(self, cli, tmp_path):
        asked = [calling("more", {}), calling("more", {}), calling("tool_01", {})]
        with serving(numbered(asked)) as model:
            put(tmp_path, PROFILE.format(url=model.url) + server("desk", "swells"))
            done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run")
        assert done.code == 0, done.err
        offered = [names_in(entry["body"]) for entry in model.requests]
        assert offered[0] == ["more", "write_workspace"]
        assert offered[1] == offered[2] == offered[3] == ["more", "tool_search", "write_workspace"]
        results = [event for event in events_of(tmp_path / "run") if event["kind"] == "result"]
        assert [result["status"] for result in results] == ["ok", "ok", "error"]
        assert "'tool_01' is not loaded" in results[2]["content"]
        assert cli("replay", "--verify", "run").code == 0


class TestStructured:
    def test_what_only_structured_content_says_can_be_read(self, cli, tmp_path):
        with serving([calling("work", {})]) as model:
            put(tmp_path, PROFILE.format(url=model.url) + server("desk", "beside"))
            done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run")
        assert done.code == 0, done.err
        first, second = model.requests
        (told,) = [m["content"] for m in second["body"]["messages"] if m["role"] == "tool"]
        found = re.fullmatch(
            r"1 row found\.\n\[application/json, 28 bytes, structured content, not repeated here; "
            r"kept as ([\w-]+)\]",
            told,
        )
        assert found, told
        assert "read_workspace" not in names_in(first["body"])
        assert "read_workspace" in names_in(second["body"])
        read = cli("workspace", "read", "run", found[1])
        assert json.loads(read.out) == {"rows": [{"id": "r-4711"}]}
