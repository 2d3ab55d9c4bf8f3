"""TL-01 and TL-03: models nobody knows, and tool arguments that are none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from contextctl.io.models.map import model_facts
from contextctl.io.tools.toolbox import open_tools
from contextctl.model.profile import profile_from_mapping
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
            from contextctl.io.models.call import open_model
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
    def test_the_run_goes_on_and_the_function_never_runs(self, cli, shared, tmp_path):
        source = (shared / "cases/inputs/TL-03/tools_mod.py").read_text(encoding="utf-8")
        (tmp_path / "tools_mod.py").write_text(source, encoding="utf-8")
        (tmp_path / "tasks.jsonl").write_text('{"id": "t1", "input": "weather?"}', encoding="utf-8")
        script = script_of(shared, "TL-03")
        with serving(script) as server:
            text = PROFILE.format(url=server.url)
            (tmp_path / "profile.yaml").write_text(text, encoding="utf-8")
            done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", "--format", "json")
        assert done.code == 0, done.err
        assert [entry["problems"] for entry in server.requests] == [[]] * 11
        assert (tmp_path / "side.log").read_text(encoding="utf-8") == "ping\n"
        events = events_of(tmp_path / "run/tasks/t1/record.jsonl")
        results = [event for event in events if event["kind"] == "result"]
        assert ["ok" if "pong" in says else "error" for says in FAULTS] == [
            event["status"] for event in results
        ]
        for event, says in zip(results, FAULTS, strict=True):
            assert says in event["content"]
            assert len(event["content"]) < 260
        written = [
            line["message"]["tool_calls"][0]["function"]["arguments"] for line in script[:-1]
        ]
        assert raw_arguments(events) == written
        last = server.requests[-1]["body"]["messages"]
        shown = [m["tool_calls"][0]["function"]["arguments"] for m in last if "tool_calls" in m]
        for sent, raw in zip(shown, written, strict=True):
            assert sent == (raw if raw in {'{"city": 5}', '{"town": "Paris"}'} else "{}")

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


PROFILE = """version: 1
model: {{name: openai/stub, window: 20000, api_base: {url}, retries: 0}}
tools:
  weather: {{python: "tools_mod:weather"}}
  ping: {{python: "tools_mod:ping"}}
"""


def events_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def raw_arguments(events: list[dict[str, Any]]) -> list[str]:
    """What the model wrote, as the record keeps it."""
    messages = [event["message"] for event in events if event["kind"] == "message"]
    calls = [call for message in messages for call in message.get("tool_calls", [])]
    return [call["function"]["arguments"] for call in calls]


class TestWhatToolsDo:
    """What a Python tool does to the process it runs in."""

    FUNCTIONS = """if True:
        import os, subprocess, time

        def hang() -> str:
            while True:
                time.sleep(0.01)

        def noise() -> str:
            os.write(1, b"from the descriptor")
            subprocess.run(["echo", "from a program"], check=True)
            print("from Python")
            return "done"

        def raise_it(kind: str) -> str:
            class Mute(Exception):
                def __str__(self) -> str:
                    raise RuntimeError("no words")

            kinds = {
                "interrupt": KeyboardInterrupt("inner"),
                "base": BaseException("deep"),
                "mute": Mute(),
                "group": ExceptionGroup("two", [ValueError("one"), TypeError("other")]),
            }
            raise kinds[kind]
    """

    def put(self, folder: Path, *calls: tuple[str, dict[str, Any]]) -> None:
        tools = "\n".join(
            f"  {name}: {{python: acts:{name}, timeout_s: 1}}"
            for name in ("hang", "noise", "raise_it")
        )
        model = "model: {name: scripted/replies.jsonl, window: 8192}"
        (folder / "profile.yaml").write_text(f"version: 1\n{model}\ntools:\n{tools}\n")
        (folder / "acts.py").write_text(self.FUNCTIONS, encoding="utf-8")
        replies = [{"tool_calls": [{"name": n, "arguments": a}]} for n, a in calls]
        lines = [json.dumps(line) for line in [*replies, {"content": "end"}]]
        (folder / "replies.jsonl").write_text("\n".join(lines), encoding="utf-8")
        (folder / "tasks.jsonl").write_text('{"id": "t1", "input": "go"}\n', encoding="utf-8")

    def results(self, folder: Path) -> list[str]:
        text = (folder / "run/tasks/t1/record.jsonl").read_text(encoding="utf-8")
        events = [json.loads(line) for line in text.splitlines()]
        return [event["content"] for event in events if event["kind"] == "result"]

    def test_one_that_never_comes_back_does_not_take_the_exit_code_with_it(self, cli, tmp_path):
        self.put(tmp_path, ("hang", {}))
        done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run")
        assert done.code == 0, done.err
        assert "tasks: 1 ok" in done.out
        assert self.results(tmp_path) == [
            "error: no result within 1 s; the function was left running"
        ]

    def test_stdout_is_the_command_s_whatever_writes_to_it(self, cli, tmp_path):
        self.put(tmp_path, ("noise", {}))
        done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", "--format", "json")
        assert done.json["totals"]["counts"] == {"ok": 1}
        assert "from the descriptor" in done.err
        assert "from a program" in done.err
        assert self.results(tmp_path) == ["done"]

    def test_whatever_it_raises_is_its_result_at_once(self, cli, tmp_path):
        kinds = ("interrupt", "base", "mute", "group")
        self.put(tmp_path, *(("raise_it", {"kind": kind}) for kind in kinds))
        done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run")
        assert done.code == 0, done.err
        assert done.err == ""
        assert self.results(tmp_path) == [
            "error: KeyboardInterrupt: inner",
            "error: BaseException: deep",
            "error: Mute: (it cannot say what)",
            "error: ExceptionGroup: two (ValueError: one; TypeError: other)",
        ]


def test_names_that_a_model_makes_up_do_not_make_the_next_request_invalid(cli, tmp_path):
    names = ("functions.ping", " ping", "查询", "", "x" * 90)
    calls = [
        {"message": {"role": "assistant", "tool_calls": [
            {"id": f"c{place}", "type": "function",
             "function": {"name": name, "arguments": "{}"}}]}}
        for place, name in enumerate(names)
    ]  # fmt: skip
    (tmp_path / "acts.py").write_text("def ping() -> str:\n    return 'pong'\n", "utf-8")
    (tmp_path / "tasks.jsonl").write_text('{"id": "t1", "input": "go"}\n', encoding="utf-8")
    with serving(calls) as server:
        model = f"{{name: openai/stub, window: 8192, api_base: {server.url}, retries: 0}}"
        text = f"version: 1\nmodel: {model}\ntools: {{ping: {{python: acts:ping}}}}\n"
        (tmp_path / "profile.yaml").write_text(text, encoding="utf-8")
        done = cli(
            "run", "profile.yaml", "tasks.jsonl", "--out", "run", env={"OPENAI_API_KEY": "k"}
        )
    assert done.code == 0, done.err
    assert [entry["problems"] for entry in server.requests] == [[]] * 6
    record = (tmp_path / "run/tasks/t1/record.jsonl").read_text(encoding="utf-8")
    assert "functions.ping" in record  # the record keeps what the model wrote
    assert cli("replay", "--verify", "run").code == 0
