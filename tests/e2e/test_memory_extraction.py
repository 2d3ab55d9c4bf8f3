"""``memory.extract: model``: a model proposes over real HTTP, the gates and the quotes decide."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli
from tests.servers.strict_openai import serving

KEY = {"OPENAI_API_KEY": "none"}
ASKED = "propose what to remember"
PAGE = "def read_page() -> str:\n    return 'The customer is a VIP, says the page'\n"
SAID = "我对花生过敏，请安排午餐。No plastic cutlery, ever. My card is 4111 1111 1111 1111."
READ: dict[str, Any] = {
    "tool_calls": [
        {"id": "k1", "type": "function", "function": {"name": "read_page", "arguments": "{}"}}
    ]
}
USAGE = {"prompt_tokens": 400, "completion_tokens": 50, "total_tokens": 450}


def proposal(text: str, quote: str, **more: Any) -> dict[str, Any]:
    whole = {"kind": "fact", "key": text[:12], "confidence": 0.95, "ttl_days": None}
    return {**whole, "text": text, "quote": quote, **more}


PROPOSED = [
    proposal("对花生过敏", "我对花生过敏"),
    proposal("wants no plastic cutlery", "No plastic cutlery", kind="preference", ttl_days=30),
    proposal("the customer is a VIP", "customer is a VIP"),
    proposal("lives in Leeds", "I live in Leeds"),
    proposal("pays with 4111 1111 1111 1111", "My card is 4111 1111 1111 1111"),
    proposal("likes lunch", "安排午餐", confidence=0.4),
]


def agent(*proposed: dict[str, Any]) -> list[dict[str, Any]]:
    """The script of a server: what it says of memories, then two turns of the agent."""
    turns: list[dict[str, Any]] = [{"message": READ}, {"message": {"content": "午餐已安排"}}]
    return [*({"when": ASKED, **one} for one in proposed), *turns]


def answer(candidates: Any) -> dict[str, Any]:
    text = json.dumps({"candidates": candidates}, ensure_ascii=False)
    return {"message": {"content": text}, "usage": USAGE}


def put(folder: Path, url: str) -> None:
    profile = {
        "version": 1,
        "model": {"name": "openai/stub", "window": 16000, "reserve_output": 500, "retries": 0,
                  "api_base": url},
        "tokenizer": "approx",
        "memory": {"enabled": True, "extract": "model", "embeddings": False,
                   "extractor": {"model": "openai/notes", "window": 8000}},
        "tools": {"read_page": {"python": "pages:read_page"}},
    }  # fmt: skip
    (folder / "profile.yaml").write_text(json.dumps(profile), encoding="utf-8")
    (folder / "pages.py").write_text(PAGE, encoding="utf-8")
    task = {"id": "t", "input": SAID, "subject": "user:7"}
    (folder / "tasks.jsonl").write_text(json.dumps(task) + "\n", encoding="utf-8")


def run(cli: Cli, *more: str) -> Any:
    return cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", *more, env=KEY)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def remembered(cli: Cli) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = cli("memory", "ls", "--format", "json").json["memories"]
    return rows


def asked(server: Any) -> list[dict[str, Any]]:
    return [one["body"] for one in server.requests if one["body"]["model"] == "notes"]


def test_what_a_model_proposes_passes_the_gates_and_is_paid_for(cli: Cli, tmp_path: Path) -> None:
    with serving(agent(answer(PROPOSED))) as server:
        put(tmp_path, server.url)
        done = run(cli)
    assert done.code == 0, done.err
    assert [one["problems"] for one in server.requests] == [[]] * 3
    (body,) = asked(server)
    form = body["response_format"]["json_schema"]
    assert form["name"] == "memories"
    assert form["schema"]["properties"]["candidates"]["items"]["required"]
    said = json.dumps(body["messages"], ensure_ascii=False)
    assert "我对花生过敏" in said
    assert "says the page" not in said  # a tool's words teach nothing about the user

    rows = {row["text"]: row for row in remembered(cli)}
    assert {text: row["state"] for text, row in rows.items()} == {
        "对花生过敏": "current",
        "wants no plastic cutlery": "current",
        "the customer is a VIP": "held",
    }
    assert rows["the customer is a VIP"]["source"] == "tool:read_page"
    assert rows["对花生过敏"]["turn"]
    assert rows["对花生过敏"]["expires_at"] == ""
    assert rows["wants no plastic cutlery"]["expires_at"] != ""
    log = cli("memory", "log", "--format", "json").json["changes"]
    refused = sorted(one["code"] for one in log if one["action"] == "refused")
    assert refused == ["low_confidence", "low_confidence", "sensitive"]
    assert {one["by"] for one in log} == {"model, task t"}

    (result,) = lines(tmp_path / "run/results.jsonl")
    assert (result["tokens"]["memory_input"], result["tokens"]["memory_output"]) == (400, 50)
    assert cli("replay", "--verify", "run").code == 0


@pytest.mark.parametrize("first", ["no JSON", '{"candidates": [{"kind": "fact"}]}', ""])
def test_an_answer_that_cannot_be_read_is_sent_back_once(
    cli: Cli, tmp_path: Path, first: str
) -> None:
    broken = {"message": {"content": first}}
    with serving(agent(broken, answer(PROPOSED[:1]))) as server:
        put(tmp_path, server.url)
        assert run(cli).code == 0
    assert len(asked(server)) == 2
    assert "That is not what was asked for" in asked(server)[1]["messages"][-1]["content"]
    assert [row["text"] for row in remembered(cli)] == ["对花生过敏"]


@pytest.mark.parametrize(
    "broken",
    [{"message": {"content": "no JSON"}, "repeat": True},
     {"status": 500, "error": {"message": "down"}, "repeat": True}],
)  # fmt: skip
def test_a_model_that_fails_leaves_it_to_the_rules(
    cli: Cli, tmp_path: Path, broken: dict[str, Any]
) -> None:
    with serving(agent(broken)) as server:
        put(tmp_path, server.url)
        done = run(cli)
    assert done.code == 0, done.err
    assert "memories are found by rules" in done.err
    assert [row["text"] for row in remembered(cli)] == ["我对花生过敏，请安排午餐。"]


def test_cut_off_before_they_were_written_they_are_not_asked_for_again(
    cli: Cli, tmp_path: Path
) -> None:
    with serving(agent(answer(PROPOSED))) as server:
        put(tmp_path, server.url)
        assert run(cli).code == 0
        (tmp_path / "run/results.jsonl").unlink()
        (tmp_path / ".contextctl/memory.db").unlink()
        done = run(cli, "--resume")
        assert done.code == 0, done.err
    assert len(server.requests) == 3
    assert len(remembered(cli)) == 3
    (result,) = lines(tmp_path / "run/results.jsonl")
    assert result["tokens"]["memory_input"] == 400


def test_a_dry_run_asks_nothing_and_remembers_nothing(cli: Cli, tmp_path: Path) -> None:
    with serving(agent(answer(PROPOSED))) as server:
        put(tmp_path, server.url)
        assert run(cli, "--dry-run").code == 0
    assert server.requests == []
    assert remembered(cli) == []
