"""The installed command against real HTTP endpoints: answers, streams, failures, secrets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.servers.anthropic_stub import marks_of, problems_of, serving_anthropic
from tests.servers.local_model import local_model, missing_packages
from tests.servers.strict_openai import serving

KEY = "sk-e2e-0123456789abcdef"
USAGE = {
    "prompt_tokens": 120,
    "completion_tokens": 6,
    "total_tokens": 126,
    "prompt_tokens_details": {"cached_tokens": 64},
}


def put(folder: Path, profile: str, *tasks: dict[str, Any]) -> None:
    """A profile and its tasks, as a person would write them."""
    (folder / "profile.yaml").write_text(profile, encoding="utf-8")
    lines = [
        json.dumps(task, ensure_ascii=False) for task in tasks or ({"id": "t1", "input": "去吧"},)
    ]
    (folder / "tasks.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def profile(url: str, more: str = "", tools: str = "", name: str = "openai/my-lab-7b") -> str:
    return (
        f"version: 1\nmodel:\n  name: {name}\n  window: 20000\n  reserve_output: 256\n"
        f"  api_base: {url}\n  retries: 1\n{more}{tools}"
    )


def call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def run(cli, *more: str):
    return cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", "--format", "json", *more)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


TOOLS = """tools:
  stock:
    python: shop:stock
  list_files:
    command: [ls, "{folder}"]
"""


@pytest.mark.parametrize("stream", ["false", "true"])
def test_a_task_runs_to_its_answer_with_the_provider_s_count_beside_ours(cli, tmp_path, stream):
    (tmp_path / "shop.py").write_text(
        "def stock(item: str) -> dict:\n    'Pieces left.'\n    return {'item': item, 'left': 3}\n",
        encoding="utf-8",
    )
    calls = [call("a", "stock", '{"item": "红笔"}'), call("b", "list_files", '{"folder": "."}')]
    script = [
        {"message": {"content": None, "tool_calls": calls}, "usage": USAGE, "chunk_delay": 0.01},
        {"message": {"content": "还剩 3 支"}, "usage": USAGE, "chunk_delay": 0.01},
    ]
    with serving(script) as server:
        put(tmp_path, profile(server.url, f"  params: {{stream: {stream}}}\n", TOOLS))
        done = run(cli)
    assert (done.code, done.json["exit_code"]) == (0, 0), done.err
    (result,) = lines_of(tmp_path / "run/results.jsonl")
    assert (result["status"], result["answer"], result["steps"]) == ("ok", "还剩 3 支", 2)
    assert [entry["problems"] for entry in server.requests] == [[], []]
    sent = server.requests[1]["body"]["messages"]
    results = {m["tool_call_id"]: m["content"] for m in sent if m["role"] == "tool"}
    assert json.loads(results["a"]) == {"item": "红笔", "left": 3}
    assert "shop.py" in results["b"]
    for line in lines_of(tmp_path / "run/tasks/t1/ledger.jsonl"):
        usage = line["usage"]
        assert (usage["prompt_tokens"], usage["cached_tokens"]) == (120, 64)
        assert usage["count_error"] == pytest.approx((line["total"] - 120) / 120, abs=1e-3)
        assert ("first_token_s" in line["measured"]) is (stream == "true")
    assert all(entry["body"]["max_tokens"] == 256 for entry in server.requests)


class TestFailures:
    @pytest.mark.parametrize(
        ("line", "says"),
        [
            ({"status": 401, "error": {"message": f"Incorrect API key: {KEY}"}}, "HTTP 401"),
            ({"status": 400, "error": {"message": "bad request for testing"}}, "HTTP 400"),
            ({"raw": "<html>nginx</html>"}, "no chat completion"),
            ({"hang_up": True}, "cannot reach"),
        ],
    )
    def test_one_line_says_what_failed_and_stdout_is_json(self, cli, tmp_path, line, says):
        with serving([{**line, "repeat": True}]) as server:
            put(tmp_path, profile(server.url))
            done = run(cli)
        assert done.code == 4
        assert done.json["exit_code"] == 4
        assert says in done.err
        assert len(done.err.strip().splitlines()) == 1
        assert "Traceback" not in done.err
        assert "litellm" not in (done.out + done.err).lower()
        assert KEY not in done.out + done.err + (tmp_path / "run/results.jsonl").read_text()
        (result,) = lines_of(tmp_path / "run/results.jsonl")
        assert result["status"] == "failed"
        assert says in result["error"]

    def test_one_of_three_failing_leaves_the_others_whole(self, cli, tmp_path):
        bad = {"when": "second", "status": 400, "error": {"message": "no"}, "repeat": True}
        with serving([bad]) as server:
            tasks = [{"id": name, "input": name} for name in ("first", "second", "third")]
            put(tmp_path, profile(server.url), *tasks)
            done = run(cli, "--concurrency", "3")
        assert done.code == 1
        statuses = {r["id"]: r["status"] for r in lines_of(tmp_path / "run/results.jsonl")}
        assert statuses == {"first": "ok", "second": "failed", "third": "ok"}

    def test_a_slow_down_is_waited_for(self, cli, tmp_path):
        slow = {"status": 429, "error": {"message": "slow"}, "headers": {"retry-after": "0.2"}}
        with serving([slow, {"message": {"content": "ok"}}]) as server:
            put(tmp_path, profile(server.url))
            assert run(cli).code == 0
        assert [entry["status"] for entry in server.requests] == [429, 200]

    def test_nobody_there(self, cli, tmp_path):
        put(tmp_path, profile("http://127.0.0.1:9/v1"))
        done = run(cli)
        assert done.code == 4
        assert "cannot reach model 'openai/my-lab-7b' at 'http://127.0.0.1:9/v1'" in done.err


def test_a_fallback_with_a_smaller_window_gets_one_assembled_for_it(cli, tmp_path):
    long = "\n".join(f"line {n} of a long report about nothing in particular" for n in range(900))
    (tmp_path / "big.py").write_text(
        f"def report() -> str:\n    return {long!r}\n", encoding="utf-8"
    )
    calls = [call("a", "report", "{}")]
    with serving(
        [
            {"message": {"content": None, "tool_calls": calls}},
            {"when": '"model": "large"', "status": 401, "error": {"message": "no"}},
            {"when": '"model": "small"', "message": {"content": "done"}},
        ]
    ) as server:
        more = "  fallbacks: [{name: openai/small, window: 4000}]\n"
        text = profile(
            server.url, more, "tools: {report: {python: 'big:report'}}\n", "openai/large"
        )
        put(tmp_path, text + "workspace: {offload_over: 20000}\nshaping: {max_tokens: 15000}\n")
        done = run(cli)
    assert done.code == 0, done.err
    ledger = lines_of(tmp_path / "run/tasks/t1/ledger.jsonl")
    assert (ledger[-1]["model"], ledger[-1]["window"]) == ("openai/small", 4000)
    assert ledger[-1]["total"] <= ledger[-1]["usable"]
    sizes = [len(json.dumps(entry["body"]["messages"])) for entry in server.requests]
    assert sizes[2] < sizes[1] / 2


def test_no_secret_of_the_profile_is_written_anywhere(cli, tmp_path):
    (tmp_path / "leak.py").write_text(
        "import os\ndef env() -> dict:\n    return dict(os.environ)\n", encoding="utf-8"
    )
    script = [{"message": {"content": None, "tool_calls": [call("a", "env", "{}")]}}]
    with serving(script) as server:
        more = "  params: {api_key: '${LAB_KEY}'}\n"
        put(tmp_path, profile(server.url, more, "tools: {env: {python: 'leak:env'}}\n"))
        done = cli(
            "run", "profile.yaml", "tasks.jsonl", "--out", "run", "--windows", env={"LAB_KEY": KEY}
        )
    assert done.code == 0, done.err
    assert server.requests[0]["authorization"] == f"Bearer {KEY}"
    assert KEY not in json.dumps(server.requests[1]["body"])
    written = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert len(written) > 4
    assert [path for path in written if KEY.encode() in path.read_bytes()] == []
    assert "${LAB_KEY}" in (tmp_path / "run/run.json").read_text(encoding="utf-8")


def test_three_steps_with_nothing_to_mark_are_refused_by_nobody(cli, tmp_path, shared):
    """PFX-03: an empty layer, assistant turns without text, results of zero bytes."""
    case = shared / "cases/inputs/PFX-03"
    (tmp_path / "empty.txt").write_bytes((case / "empty.txt").read_bytes())
    layers = (
        "prefix:\n  - {id: core, text: 'Be brief.', stability: static}\n"
        "  - {id: extra, file: empty.txt, stability: profile}\n"
        "tools: {quiet: {command: ['true']}}\n"
    )
    with serving(lines_of(case / "replies.jsonl")) as server:
        put(tmp_path, profile(server.url, tools=layers))
        done = run(cli)
    assert done.code == 0, done.err
    assert [entry["problems"] for entry in server.requests] == [[], [], []]
    for message in server.requests[-1]["body"]["messages"]:
        assert message.get("content") or message.get("tool_calls")
        if message["role"] == "tool":
            assert message["content"] == "(no output)"


def test_a_provider_that_wants_marks_gets_them_on_what_is_there(cli, tmp_path):
    with serving_anthropic() as server:
        rules = "Answer in one line. " * 1200  # over the 4,096 tokens the model asks for
        layers = f"prefix:\n  - {{id: core, text: '{rules}', stability: static}}\n"
        text = profile(server.url, tools=layers, name="anthropic/claude-haiku-4-5")
        put(tmp_path, text.replace("20000", "60000"))
        done = cli(
            "run", "profile.yaml", "tasks.jsonl", "--out", "run", env={"ANTHROPIC_API_KEY": "k"}
        )
    assert done.code == 0, done.err
    (body,) = server.requests
    assert problems_of(body) == []
    assert [block["type"] for block in marks_of(body)] == ["text", "text"]
    (line,) = lines_of(tmp_path / "run/tasks/t1/ledger.jsonl")
    assert line["usage"]["prompt_tokens"] == 99_638
    assert line["usage"]["cache_write_tokens"] == 1_000
    assert "cache_control" not in (tmp_path / "run/tasks/t1/record.jsonl").read_text()


@pytest.mark.local_model
@pytest.mark.skipif(
    bool(missing_packages()),
    reason=f"not installed: {', '.join(missing_packages())} (make local-model)",
)
@pytest.mark.parametrize("stream", ["false", "true"])
def test_a_real_model_answers_with_its_own_usage(cli, tmp_path, stream):
    with local_model(window=1024) as url:
        text = profile(url, f"  params: {{stream: {stream}, temperature: 0}}\n")
        text = text.replace("openai/my-lab-7b", "local/smollm2")
        put(
            tmp_path,
            text.replace("20000", "1024").replace("256", "16"),
            {"id": "a", "input": "Say hello."},
            {"id": "b", "input": "说你好。"},
        )
        done = run(cli)
    assert done.code == 0, done.err
    for task in ("a", "b"):
        (line,) = lines_of(tmp_path / f"run/tasks/{task}/ledger.jsonl")
        usage = line["usage"]
        assert 0 < usage["prompt_tokens"] < 200
        assert 0 < usage["completion_tokens"] <= 16
        assert usage["count_error"] != 0.0 or line["total"] == usage["prompt_tokens"]
        assert ("first_token_s" in line["measured"]) is (stream == "true")
