"""TL-01 and TL-03: models nobody knows, and tool arguments that are none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from contextctl.core.arguments import replayable
from contextctl.io.model_map import model_facts
from contextctl.io.models import open_model
from contextctl.io.tools import open_tools
from contextctl.model.message import Message
from contextctl.model.profile import profile_from_mapping
from contextctl.model.reply import Request
from tests.servers.strict_openai import serving

ROOT = Path(__file__).resolve().parents[2]


def script_of(shared: Path, case: str) -> list[dict[str, Any]]:
    text = (shared / f"cases/inputs/{case}/replies.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


class TestUnknownModels:
    def test_the_window_is_the_input_limit_and_unknown_is_unknown(self):
        assert model_facts("gpt-4o").window == 128_000
        assert model_facts("openai/my-lab-7b").window is None

    @pytest.mark.parametrize("name", ["openai/my-lab-7b", "openai/gpt-4o"])
    def test_a_refused_call_leaves_stdout_to_json(self, shared, name):
        """In a process of its own: what litellm prints at import, in threads and at exit counts."""
        code = """if True:
            import json, sys
            from contextctl.errors import ModelError
            from contextctl.io.models import open_model
            from contextctl.model.profile import profile_from_mapping
            from contextctl.model.reply import Request
            rule = {"name": sys.argv[1], "api_base": sys.argv[2], "window": 20000, "retries": 0}
            model = open_model(profile_from_mapping({"version": 1, "model": rule}))
            try:
                model.complete(Request(({"role": "user", "content": "hi"},)))
            except ModelError as error:
                print(json.dumps({"error": str(error)}))
        """
        with serving(script_of(shared, "TL-01")) as server:
            done = subprocess.run(
                [sys.executable, "-c", code, name, server.url],
                capture_output=True,
                text=True,
                env={"PYTHONPATH": str(ROOT)},
                check=True,
            )
        said = json.loads(done.stdout)["error"]
        assert said == f"model '{name}' answered HTTP 400: bad request for testing"
        assert done.stderr == ""


class TestMalformedArguments:
    def test_the_loop_goes_on_and_the_function_never_runs(self, shared, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        source = (shared / "cases/inputs/TL-03/tools_mod.py").read_text(encoding="utf-8")
        (tmp_path / "tools_mod.py").write_text(source, encoding="utf-8")
        with serving(script_of(shared, "TL-03")) as server:
            messages, results = walk(server.url, tmp_path)
        assert [entry["problems"] for entry in server.requests] == [[]] * 11
        assert (tmp_path / "side.log").read_text(encoding="utf-8") == "ping\n"
        assert messages[-1]["content"] == "finished"
        for (name, raw, text), says in zip(results, FAULTS, strict=True):
            assert says in text, (name, raw)
            assert len(text) < 260

    def test_a_long_raw_value_is_cut_in_the_result(self, tmp_path):
        (tmp_path / "long_mod.py").write_text("def weather(city: str): ...\n", encoding="utf-8")
        mapping = {
            "version": 1,
            "model": {"name": "gpt-4o"},
            "tools": {"weather": {"python": "long_mod:weather"}},
        }
        tools = open_tools(profile_from_mapping(mapping, path=str(tmp_path / "p.yaml")))
        for raw in ("x" * 1_000_000, json.dumps({"city": ["x" * 1_000_000]})):
            assert len(tools.call("weather", raw).content) < 400


FAULTS = (
    "character 9",
    "missing 'city'",
    "must be a JSON object, not null",
    "must be a JSON object, not an array",
    "must be a JSON object, not a string",
    "character 16",
    "character 17",
    "'city' must be a string, not 5",
    "missing 'city'; unknown 'town'",
    "pong",
)


def walk(url: str, folder: Path) -> tuple[list[dict[str, Any]], list[tuple[str, str, str]]]:
    """The whole conversation, with each call's name, raw arguments and result."""
    mapping = {
        "version": 1,
        "model": {"name": "openai/stub", "api_base": url, "retries": 0},
        "tools": {
            "weather": {"python": "tools_mod:weather"},
            "ping": {"python": "tools_mod:ping"},
        },
    }
    profile = profile_from_mapping(mapping, path=str(folder / "profile.yaml"))
    model, tools = open_model(profile), open_tools(profile)
    specs = tuple(spec.to_openai() for spec in tools.specs())
    messages: list[dict[str, Any]] = [{"role": "user", "content": "weather?"}]
    results: list[tuple[str, str, str]] = []
    while True:
        said = model.complete(Request(tuple(messages), specs)).message
        messages.append(shown(said))
        if not said.tool_calls:
            return messages, results
        for call in said.tool_calls:
            outcome = tools.call(call.name, call.arguments, call.id)
            results.append((call.name, call.arguments, outcome.content))
            answer = {"role": "tool", "tool_call_id": call.id, "content": outcome.content}
            messages.append(answer)


def shown(message: Message) -> dict[str, Any]:
    """The message as a window shows it: arguments that a provider accepts."""
    out: dict[str, Any] = message.to_openai()
    for call in out.get("tool_calls", []):
        call["function"]["arguments"] = replayable(call["function"]["arguments"])
    return out
