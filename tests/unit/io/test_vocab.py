"""Exact tokenizers from vocabularies on this disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from contextctl.errors import UsageError
from contextctl.io.models import vocab
from contextctl.io.models.vocab import counter_for

# Counted once with tiktoken's encode(..., disallowed_special=()).
KNOWN = [
    ("o200k_base", "hello world", 2),
    ("o200k_base", "<|endoftext|>", 7),
    ("cl100k_base", "hello world", 2),
    ("o200k_base", "", 0),
]


@pytest.mark.parametrize(("name", "text", "tokens"), KNOWN)
def test_known_counts(name: str, text: str, tokens: int) -> None:
    assert counter_for(name, "").text(text) == tokens


@pytest.mark.parametrize(
    ("model", "name", "exact", "factor"),
    [
        ("openai/gpt-4.1-mini", "o200k_base", True, 1.0),
        ("gpt-4o-2024-08-06", "o200k_base", True, 1.0),
        ("azure/gpt-5", "o200k_base", True, 1.0),
        ("o3-mini", "o200k_base", True, 1.0),
        ("ft:gpt-4o:acme::abc", "o200k_base", True, 1.0),
        ("gpt-4-turbo", "cl100k_base", True, 1.0),
        ("gpt-3.5-turbo", "cl100k_base", True, 1.0),
        ("anthropic/claude-sonnet-4-5", "o200k_base", False, 1.3),
        ("bedrock/us.anthropic.claude-3-haiku", "o200k_base", False, 1.3),
        ("gemini/gemini-2.5-pro", "o200k_base", False, 1.0),
        ("scripted/replies.jsonl", "o200k_base", False, 1.0),
    ],
)
def test_auto_goes_by_the_model(model: str, name: str, exact: bool, factor: float) -> None:
    counter = counter_for("auto", model)
    assert (counter.name, counter.exact, counter.factor) == (name, exact, factor)


def test_a_named_tokenizer_is_exact_only_for_its_models() -> None:
    assert counter_for("o200k_base", "gpt-4o").exact
    assert not counter_for("cl100k_base", "gpt-4o").exact
    assert counter_for("approx", "gpt-4o").name == "approx"


def test_an_unknown_tokenizer_is_named_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"'o300k'.*o200k_base.*approx"):
        counter_for("o300k", "gpt-4o")


@pytest.mark.parametrize("character", [" ", "\t", "\n", "a", "A", "好", "!", "-", "1", "\u0301"])
def test_a_megabyte_of_one_character_takes_linear_time(character: str) -> None:
    count = counter_for("o200k_base", "").text
    count("warm")
    began = time.perf_counter()
    tokens = count(character * 1_000_000)
    assert 1_000_000 / 128 <= tokens <= 1_000_000
    assert time.perf_counter() - began < 3


def test_half_a_surrogate_pair_is_counted() -> None:
    assert counter_for("o200k_base", "").text("a\ud800b") >= 3


def test_long_text_is_counted_in_pieces_with_the_same_result() -> None:
    text = "The quick brown fox (jumps) over 12,345 lazy dogs.\n" * 400
    counter = counter_for("o200k_base", "")
    assert counter.text(text) == 400 * counter.text(text[: text.index("\n") + 1])


def test_equal_text_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return len(text)

    memo = vocab.Memo(count)
    for text in ("short", "sho" + "rt", "x" * 5_000, "x" * 5_000):
        memo(text)
    assert asked == ["short", "x" * 5_000]


def test_a_hugging_face_tokenizer_counts_special_text_as_plain(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    from tokenizers import models, pre_tokenizers

    tokenizer = tokenizers.Tokenizer(models.WordLevel({"a": 0, "b": 1, "[U]": 2}, unk_token="[U]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["<|end|>"])
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    counter = counter_for(f"hf:{path}", "local/anything")
    assert counter.exact
    assert counter.text("a b a") == 3
    assert counter.text("<|end|>") == 3  # '<|', 'end' and '|>', as the words of plain text


@pytest.mark.parametrize("content", [None, "not json"])
def test_an_unusable_hugging_face_file_is_named(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=r"hf:.*tokenizer\.json"):
        counter_for(f"hf:{path}", "x").text("a")


def test_counting_needs_no_network_no_cache_and_not_litellm(tmp_path: Path, root: Path) -> None:
    code = (
        "import json, os, socket, sys\n"
        "def refuse(*a, **k): raise AssertionError('network')\n"
        "socket.socket.connect = refuse\n"
        "socket.getaddrinfo = refuse\n"
        "from contextctl.io.models.vocab import counter_for\n"
        "names = ('o200k_base', 'cl100k_base')\n"
        "n = [counter_for(t, '').text('你好，世界。 hello world') for t in names]\n"
        "print(json.dumps([n, 'litellm' in sys.modules, os.environ['TIKTOKEN_CACHE_DIR']]))\n"
    )
    nowhere = str(tmp_path / "none")
    env = {**os.environ, "TIKTOKEN_CACHE_DIR": nowhere, "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    counts, imported, left = json.loads(done.stdout)
    assert counts == [
        counter_for(t, "").text("你好，世界。 hello world") for t in ("o200k_base", "cl100k_base")
    ]
    assert not imported
    assert left == nowhere
    assert not Path(nowhere).exists()
