"""What litellm sends where the provider searches deferred tools itself: marks, order, discovery."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.servers.anthropic_stub import marks_of
from tests.servers.searching_provider import (
    anthropic_found,
    openai_found,
    searching,
)

TOOL = "  {name}: {{command: [echo, '{{q}}'], description: number {n}, parameters: {schema}}}\n"
SCHEMA = json.dumps({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]})
NAMES = [f"tool_{n:02}" for n in range(40)]
RULES = "Answer briefly. " + "Check every order before you act on it, and say what you did. " * 300


def put(folder: Path, model: str, more: str = "") -> None:
    tools = "".join(TOOL.format(name=name, n=n, schema=SCHEMA) for n, name in enumerate(NAMES))
    (folder / "rules.md").write_text(RULES, encoding="utf-8")
    (folder / "profile.yaml").write_text(
        f"version: 1\nmodel: {model}\ntokenizer: o200k_base\n"
        f"plan: {{enabled: false}}\nprefix: [{{id: core, file: rules.md}}]\n"
        f"defer: {{always: [tool_00], via: auto}}\n{more}tools:\n{tools}",
        encoding="utf-8",
    )
    (folder / "tasks.jsonl").write_text('{"id": "t1", "input": "use tool seven"}\n')


def ledgers(folder: Path) -> list[Any]:
    path = folder / "run/tasks/t1/ledger.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


KEYS = {"ANTHROPIC_API_KEY": "k-test", "OPENAI_API_KEY": "k-test"}


class TestAnthropic:
    def test_the_whole_array_is_sent_and_the_discovery_comes_back(self, cli, tmp_path):
        answers = [anthropic_found("tool_07", {"q": "x"}), []]
        with searching(answers) as provider:
            model = f"{{name: anthropic/claude-sonnet-4-5, api_base: '{provider.url}', retries: 0}}"
            put(tmp_path, model)
            done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", env=KEYS)
        assert done.code == 0, done.err
        first, second = provider.requests
        assert all("advanced-tool-use" in beta for beta in provider.betas)
        assert json.dumps(first["tools"]) == json.dumps(second["tools"])
        kinds = [tool.get("type") for tool in first["tools"]]
        assert kinds.count("tool_search_tool_bm25_20251119") == 1
        deferred = [tool["name"] for tool in first["tools"] if tool.get("defer_loading")]
        assert deferred == NAMES[1:]
        resident = [tool["name"] for tool in first["tools"] if not tool.get("defer_loading")]
        assert resident == ["tool_search_tool_bm25", "tool_00", "write_workspace"]
        assert "defer_loading" not in first["tools"][-1]
        turn = next(m for m in second["messages"] if m["role"] == "assistant")
        assert [block["type"] for block in turn["content"]] == [
            "server_tool_use",
            "tool_search_tool_result",
            "tool_use",
        ]
        found = turn["content"][1]["content"]["tool_references"]
        assert found == [{"type": "tool_reference", "tool_name": "tool_07"}]

    def test_cache_marks_stand_on_texts_and_never_on_a_deferred_tool(self, cli, tmp_path):
        with searching([anthropic_found("tool_07", {"q": "x"}), []]) as provider:
            model = f"{{name: anthropic/claude-sonnet-4-5, api_base: '{provider.url}', retries: 0}}"
            put(tmp_path, model)
            cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", env=KEYS)
        for body in provider.requests:
            marks = marks_of(body)
            assert 1 <= len(marks) <= 4
            assert not [tool for tool in body["tools"] if "cache_control" in tool]

    def test_what_is_found_is_counted_and_the_prefix_holds(self, cli, tmp_path):
        with searching([anthropic_found("tool_07", {"q": "x"}), []]) as provider:
            model = f"{{name: anthropic/claude-sonnet-4-5, api_base: '{provider.url}', retries: 0}}"
            put(tmp_path, model)
            cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", env=KEYS)
        before, after = ledgers(tmp_path)
        (first,) = [a for a in before["actions"] if a["kind"] == "defer"]
        (second,) = [a for a in after["actions"] if a["kind"] == "defer"]
        assert first["tokens_after"] == 0
        assert 0 < second["tokens_after"] < 100 < second["tokens_before"]
        assert after["prefix"]["broke_at"] is None
        grown = after["buckets"]["tools_schema"] - before["buckets"]["tools_schema"]
        assert grown > 0

    def test_a_tool_that_was_never_found_is_not_run(self, cli, tmp_path):
        guess = [{"type": "tool_use", "id": "toolu_9", "name": "tool_09", "input": {"q": "x"}}]
        with searching([guess, []]) as provider:
            model = f"{{name: anthropic/claude-sonnet-4-5, api_base: '{provider.url}', retries: 0}}"
            put(tmp_path, model)
            cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", env=KEYS)
        result = provider.requests[1]["messages"][-1]["content"][0]
        assert "not loaded" in json.dumps(result["content"])

    def test_a_discovery_that_leaves_the_window_leaves_the_tool_in_the_array(self, cli, tmp_path):
        long = "x ".join(str(n) for n in range(1_500))
        answers = [
            anthropic_found("tool_07", {"q": "x"}),
            *([{"type": "tool_use", "id": f"t{n}", "name": "tool_00", "input": {"q": long}}]
              for n in range(4)),
            [{"type": "tool_use", "id": "t9", "name": "tool_07", "input": {"q": "again"}}],
            [],
        ]  # fmt: skip
        with searching(answers) as provider:
            model = (
                "{name: anthropic/claude-sonnet-4-5, window: 26000, reserve_output: 1000, "
                f"api_base: '{provider.url}', retries: 0}}"
            )
            put(tmp_path, model, "compaction: {protect_steps: 1}\n")
            done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", env=KEYS)
        assert done.code == 0, done.err
        last = provider.requests[-1]
        shown = json.dumps(last["messages"])
        if "tool_reference" not in shown:
            unmarked = [t["name"] for t in last["tools"] if not t.get("defer_loading")]
            assert "tool_07" in unmarked
        results = json.dumps(last["messages"][-1])
        assert "again" in results
        assert [t["name"] for t in last["tools"]] == [
            t["name"] for t in provider.requests[0]["tools"]
        ] or "read_workspace" in [t["name"] for t in last["tools"]]

    def test_a_fallback_that_does_not_search_gets_what_was_found_and_no_field_of_the_first(
        self, cli, tmp_path
    ):
        from tests.servers.strict_openai import serving

        answers = [anthropic_found("tool_07", {"q": "x"}), None]
        with searching(answers) as first, serving() as second:
            put(
                tmp_path,
                f"{{name: anthropic/claude-sonnet-4-5, api_base: '{first.url}', retries: 0,"
                " fallbacks: [{name: openai/stub, window: 30000}]}",
            )
            env = {**KEYS, "OPENAI_API_BASE": second.url, "OPENAI_BASE_URL": second.url}
            done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", env=env)
        assert done.code == 0, done.err
        (asked,) = second.requests
        assert asked["problems"] == []
        offered = [tool["function"]["name"] for tool in asked["body"]["tools"]]
        assert offered == ["tool_00", "tool_search", "write_workspace", "tool_07"]
        sent = json.dumps(asked["body"])
        assert "defer_loading" not in sent
        assert "tool_reference" not in sent
        assert "provider_specific_fields" not in sent


class TestOpenAi:
    @pytest.mark.parametrize("via", ["auto", "native"])
    def test_the_responses_form_defers_and_keeps_the_discovery(self, cli, tmp_path, via):
        with searching([openai_found("tool_07", {"q": "x"}), []]) as provider:
            name = "openai/responses/gpt-5.5"
            put(tmp_path, f"{{name: {name}, api_base: '{provider.url}/v1', retries: 0}}")
            done = cli(
                "run", "profile.yaml", "tasks.jsonl", "--out", "run", "--set", f"defer.via={via}",
                env=KEYS,
            )  # fmt: skip
        assert done.code == 0, done.err
        first, second = provider.requests
        assert json.dumps(first["tools"]) == json.dumps(second["tools"])
        assert [t for t in first["tools"] if t["type"] == "tool_search"] == [
            {"type": "tool_search"}
        ]
        deferred = [tool["name"] for tool in first["tools"] if tool.get("defer_loading")]
        assert deferred == NAMES[1:]
        kinds = [item["type"] for item in second["input"]]
        at = kinds.index("tool_search_call")
        assert kinds[at : at + 4] == [
            "tool_search_call",
            "tool_search_output",
            "function_call",
            "function_call_output",
        ]
        assert second["input"][at + 1]["tools"][0]["name"] == "tool_07"

    def test_the_chat_form_gets_our_own_search(self, cli, tmp_path):
        from tests.servers.strict_openai import serving

        with serving() as provider:
            put(tmp_path, f"{{name: openai/gpt-5.5, api_base: '{provider.url}', retries: 0}}")
            done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", env=KEYS)
        assert done.code == 0, done.err
        offered = [tool["function"]["name"] for tool in provider.requests[0]["body"]["tools"]]
        assert offered == ["tool_00", "tool_search", "write_workspace"]


def test_native_where_the_wire_has_none_is_a_warning(cli, tmp_path):
    put(tmp_path, "{name: openai/gpt-4o}")
    text = (tmp_path / "profile.yaml").read_text().replace("via: auto", "via: native")
    (tmp_path / "profile.yaml").write_text(text, encoding="utf-8")
    done = cli("validate", "profile.yaml", "--format", "json")
    told = [p for p in done.json["problems"] if p["key"] == "defer.via"]
    assert [problem["severity"] for problem in told] == ["warning"]
