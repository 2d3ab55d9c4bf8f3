"""TOK-05: whatever the style, the prompt includes the cache exactly once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from contextctl.model.trace import UsageFact
from contextctl.model.usage import tokens_in_use, usage_from_provider

if TYPE_CHECKING:
    from pathlib import Path

OPENAI = {
    "prompt_tokens": 184704,
    "completion_tokens": 49,
    "total_tokens": 184753,
    "prompt_tokens_details": {"cached_tokens": 183936},
}
LITELLM_ANTHROPIC = {
    "prompt_tokens": 98638,
    "completion_tokens": 78,
    "total_tokens": 98716,
    "prompt_tokens_details": {"cached_tokens": 98432},
    "cache_read_input_tokens": 98432,
    "cache_creation_input_tokens": 0,
}
RAW_ANTHROPIC = {
    "input_tokens": 206,
    "output_tokens": 78,
    "cache_read_input_tokens": 98432,
    "cache_creation_input_tokens": 0,
}


@pytest.mark.parametrize(
    ("raw", "prompt", "cached", "in_use"),
    [
        (OPENAI, 184704, 183936, 184753),
        (LITELLM_ANTHROPIC, 98638, 98432, 98716),
        (RAW_ANTHROPIC, 98638, 98432, 98716),
    ],
)
def test_the_cache_is_in_the_prompt_once(raw, prompt, cached, in_use):
    usage = usage_from_provider(raw)
    assert (usage.prompt_tokens, usage.cached_tokens) == (prompt, cached)
    assert tokens_in_use(usage) == in_use


@pytest.mark.parametrize(
    ("case", "window", "reached"), [(1, 400_000, False), (2, 200_000, False), (3, 200_000, False)]
)
def test_a_threshold_of_four_fifths_fires_only_where_it_should(case, window, reached, shared: Path):
    lines = (shared / "cases/inputs/TOK-05/usage.jsonl").read_text(encoding="utf-8").splitlines()
    recorded = {line["case"]: line for line in map(json.loads, lines)}[case]
    in_use = tokens_in_use(usage_from_provider(recorded["usage"]))
    assert in_use == recorded["right_in_use"]
    assert (in_use >= 0.8 * window) is reached
    if case > 1:
        assert in_use >= 0.8 * 120_000


def test_anthropic_cache_writes_are_read_too():
    raw = {
        "input_tokens": 10,
        "output_tokens": 1,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 1000,
    }
    usage = usage_from_provider(raw, "anthropic/claude", 0.5)
    assert usage == UsageFact("anthropic/claude", 1110, 1, 100, 1000, 0.5)


def test_openai_responses_count_the_cache_in():
    raw = {"input_tokens": 500, "input_tokens_details": {"cached_tokens": 400}, "output_tokens": 7}
    assert usage_from_provider(raw) == UsageFact("", 500, 7, 400)


def test_deepseek_names_its_cache_hits():
    raw = {"prompt_tokens": 300, "completion_tokens": 2, "prompt_cache_hit_tokens": 256}
    assert usage_from_provider(raw) == UsageFact("", 300, 2, 256)


def test_a_gateway_that_leaves_the_cache_out_of_prompt_tokens_is_seen_through():
    raw = {
        "prompt_tokens": 206,
        "completion_tokens": 78,
        "prompt_tokens_details": {"cached_tokens": 98432},
    }
    assert usage_from_provider(raw).prompt_tokens == 98638


def test_nulls_negatives_and_absent_numbers_are_zero():
    raw = {"prompt_tokens": None, "completion_tokens": -3, "prompt_tokens_details": None}
    assert usage_from_provider(raw) == UsageFact()
    assert usage_from_provider({}) == UsageFact()
