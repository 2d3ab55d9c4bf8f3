from __future__ import annotations

import pytest

from contextctl.model.prices import CacheRule, Prices, cost_usd, facts_from_map
from contextctl.model.trace import UsageFact

CLAUDE = {
    "litellm_provider": "anthropic",
    "max_input_tokens": 200_000,
    "max_output_tokens": 64_000,
    "input_cost_per_token": 1e-6,
    "output_cost_per_token": 5e-6,
    "cache_read_input_token_cost": 1e-7,
    "cache_creation_input_token_cost": 1.25e-6,
    "supports_prompt_caching": True,
    "prompt_cache_min_tokens": 4096,
}


def test_cached_written_uncached_and_completion_tokens_are_priced_apart():
    facts = facts_from_map("claude-haiku-4-5", CLAUDE)
    usage = UsageFact(
        prompt_tokens=10_000, completion_tokens=100, cached_tokens=6_000, cache_write_tokens=3_000
    )
    # 1,000 x 1e-6 + 6,000 x 1e-7 + 3,000 x 1.25e-6 + 100 x 5e-6
    assert cost_usd(facts.prices, usage) == pytest.approx(0.00585)


def test_a_model_without_cache_prices_pays_the_input_price_for_cached_tokens():
    facts = facts_from_map("m", {"input_cost_per_token": 2e-6, "output_cost_per_token": 3e-6})
    usage = UsageFact(prompt_tokens=1000, cached_tokens=900, completion_tokens=10)
    assert cost_usd(facts.prices, usage) == pytest.approx(1000 * 2e-6 + 10 * 3e-6)


def test_above_its_tier_the_whole_request_is_dearer():
    entry = {
        "input_cost_per_token": 1e-6,
        "input_cost_per_token_above_200k_tokens": 2e-6,
        "output_cost_per_token": 4e-6,
        "cache_read_input_token_cost": 1e-7,
        "cache_read_input_token_cost_above_200k_tokens": 3e-7,
    }
    prices = facts_from_map("m", entry).prices
    assert prices == Prices(
        1e-6, 4e-6, 1e-7, 1e-6, above=200_000, then=Prices(2e-6, 4e-6, 3e-7, 2e-6)
    )
    at_limit, above = UsageFact(prompt_tokens=200_000), UsageFact(prompt_tokens=200_001)
    assert cost_usd(prices, at_limit) == pytest.approx(0.2)
    assert cost_usd(prices, above) == pytest.approx(0.400002)


def test_unknown_prices_cost_nothing_and_are_none():
    facts = facts_from_map("m", {"max_input_tokens": 8000})
    assert facts.prices is None
    assert cost_usd(None, UsageFact(prompt_tokens=5)) == 0.0


def test_only_providers_that_need_marks_get_a_cache_rule():
    assert facts_from_map("claude-haiku-4-5", CLAUDE).cache == CacheRule(4096, 4)
    for provider in ("openai", "gemini", "deepseek", "github_copilot"):
        assert facts_from_map("claude-x", {**CLAUDE, "litellm_provider": provider}).cache is None
    uncached = {**CLAUDE, "supports_prompt_caching": False}
    assert facts_from_map("claude-x", uncached).cache is None
    assert facts_from_map("titan", {**CLAUDE, "litellm_provider": "bedrock"}).cache is None
