"""TOK-01, TOK-03, TOK-05: special tokens as text, counts without a network, cached tokens once."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from contextctl.core.count import message_parts
from contextctl.core.shaping import ShapeRule, shape_result
from contextctl.io.models.vocab import counter_for
from contextctl.model.message import message_from_openai
from contextctl.model.usage import tokens_in_use, usage_from_provider

PROFILE = "version: 1\nmodel: {name: openai/gpt-4.1-mini, window: 4096, reserve_output: 512}\n"


def inputs(shared: Path, name: str) -> Path:
    return shared / "cases" / "inputs" / name


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    path = tmp_path / "profile.yaml"
    path.write_text(PROFILE, encoding="utf-8")
    return path


def test_tok_01_special_tokens_are_counted_and_shaped_as_text(shared: Path) -> None:
    counter = counter_for("o200k_base", "gpt-4.1")
    assert counter.text("<|endoftext|>") == 7
    for file in ("memory.txt", "tool_result.txt"):
        text = (inputs(shared, "TOK-01") / file).read_text(encoding="utf-8")
        assert counter.text(text) > 0
        assert shape_result(text, ShapeRule(), "full", counter, "", "en").text == text
        cut = shape_result(text * 9, ShapeRule(max_tokens=40), "full", counter, "s1-a", "en")
        assert cut.tokens <= 40
        assert cut.truncated
    lines = (inputs(shared, "TOK-01") / "messages.jsonl").read_text(encoding="utf-8").splitlines()
    for line in lines:
        assert sum(message_parts(message_from_openai(json.loads(line)), counter).values()) > 3


def test_tok_01_the_literal_reaches_the_window_unchanged(cli, shared, tmp_path, profile):
    folder = inputs(shared, "TOK-01")
    messages = [
        json.loads(line)
        for line in (folder / "messages.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    messages.append({"role": "assistant", "content": "Both rows hold <|endoftext|>."})
    trace = tmp_path / "trace.jsonl"
    tool = {"type": "function", "function": {"name": "dump", "description": "all <|im_end|>"}}
    line = {"id": "t1", "messages": messages, "tools": [tool]}
    trace.write_text(json.dumps(line) + "\n", encoding="utf-8")
    out = tmp_path / "run"
    ran = cli("replay", profile, trace, "--windows", "--out", out)
    assert ran.code == 0, ran.err
    windows = (out / "tasks" / "t1" / "windows.jsonl").read_text(encoding="utf-8").splitlines()
    last = json.loads(windows[-1])
    shown = [m["content"] for m in last["messages"] if m["role"] in {"user", "tool"}]
    assert shown[0] == messages[1]["content"]
    assert shown[1] == messages[3]["content"]
    assert last["tools"][0]["function"]["description"] == "all <|im_end|>"
    ran = cli("explain", out)
    assert ran.code == 0, ran.err


@pytest.mark.parametrize("command", [["--help"], ["validate"], ["shape"], ["replay"]])
def test_tok_03_offline_with_no_tokenizer_cache(cli, root, shared, tmp_path, profile, command):
    text = (inputs(shared, "TOK-03") / "text.txt").read_text(encoding="utf-8")
    trace = tmp_path / "trace.jsonl"
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": "ok"}]
    trace.write_text(json.dumps({"id": "t", "messages": messages}) + "\n", encoding="utf-8")
    arguments = {
        "--help": [],
        "validate": [profile],
        "shape": [profile, "any"],
        "replay": [profile, trace, "--out", tmp_path / "run", "--format", "json"],
    }
    dead = "http://127.0.0.1:9"
    names = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
    proxies = dict.fromkeys(names, dead)
    env = {
        **proxies,
        "TIKTOKEN_CACHE_DIR": str(tmp_path / "none"),
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path),
        # An attempt to connect anywhere would end in a traceback.
        "PYTHONPATH": os.pathsep.join([str(refusing(tmp_path)), str(root)]),
    }
    began = time.perf_counter()
    ran = cli(*command, *arguments[command[0]], stdin=text, env=env)
    assert ran.code == 0, ran.err
    assert time.perf_counter() - began < 20
    assert "Traceback" not in ran.err
    assert not (tmp_path / "none").exists()
    if command == ["shape"]:
        assert ran.out.strip() == text.strip()
        tokens = counter_for("o200k_base", "").text(text)
        assert f"{tokens} -> {tokens} tokens (+0) by o200k_base" in ran.err
    if command == ["replay"]:
        assert ran.json is not None


def refusing(folder: Path) -> Path:
    """A ``sitecustomize`` that lets no socket connect."""
    place = folder / "site"
    place.mkdir()
    (place / "sitecustomize.py").write_text(
        "import socket\n"
        "def refuse(*a, **k):\n"
        "    raise AssertionError('no network')\n"
        "socket.socket.connect = refuse\n"
        "socket.getaddrinfo = refuse\n",
        encoding="utf-8",
    )
    return place


def test_tok_05_cached_tokens_count_once(shared: Path) -> None:
    lines = (inputs(shared, "TOK-05") / "usage.jsonl").read_text(encoding="utf-8").splitlines()
    used = [tokens_in_use(usage_from_provider(json.loads(line)["usage"])) for line in lines]
    assert used == [184_753, 98_716, 98_716]
    assert used[0] < 0.8 * 400_000
    assert all(0.8 * 120_000 <= tokens < 0.8 * 200_000 for tokens in used[1:])
