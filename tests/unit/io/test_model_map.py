from __future__ import annotations

import subprocess
import sys

import pytest

from contextctl.io.models.map import model_facts
from contextctl.model.prices import cost_usd
from contextctl.model.trace import UsageFact


def test_the_window_is_the_input_limit_not_the_output_limit():
    for name in ("gpt-4o", "openai/gpt-4o"):
        facts = model_facts(name)
        assert (facts.window, facts.output_limit, facts.known) == (128_000, 16_384, True)


def test_a_model_nobody_knows_is_unknown_and_not_an_error():
    facts = model_facts("openai/my-lab-7b")
    assert (facts.known, facts.window, facts.prices, facts.cache) == (False, None, None, None)


def test_an_entry_of_another_provider_is_not_taken():
    assert not model_facts("my-gateway/gpt-4o").known


def test_the_responses_route_is_the_same_model():
    assert model_facts("openai/responses/gpt-4o").window == 128_000


def test_anthropic_models_have_marks_with_their_own_minimum():
    cache = model_facts("anthropic/claude-haiku-4-5").cache
    assert cache is not None
    assert (cache.min_tokens, cache.limit) == (4096, 4)


def test_litellm_is_not_imported():
    code = (
        "import sys; from contextctl.io.models.map import model_facts; "
        "assert model_facts('gpt-4o').window; sys.exit('litellm' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", ["gpt-4o", "claude-haiku-4-5", "gemini/gemini-2.5-flash"])
def test_costs_agree_with_litellm_s_own(name):
    from contextctl.io.models.litellm_gate import load_litellm

    litellm = load_litellm()
    details = litellm.types.utils.PromptTokensDetailsWrapper(cached_tokens=4_000)
    usage = litellm.Usage(
        prompt_tokens=9_000,
        completion_tokens=500,
        total_tokens=9_500,
        prompt_tokens_details=details,
        cache_read_input_tokens=4_000,
    )
    theirs = sum(litellm.cost_per_token(model=name, usage_object=usage))
    ours = UsageFact(prompt_tokens=9_000, completion_tokens=500, cached_tokens=4_000)
    assert cost_usd(model_facts(name).prices, ours) == pytest.approx(theirs)
