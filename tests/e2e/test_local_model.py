"""A real model on 127.0.0.1: whole and streamed answers, its own counts, its own overflow.

Its words are nonsense, so only structure and counts are looked at.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from contextctl.errors import ModelError
from contextctl.io.models.call import Model, open_model
from contextctl.model.profile import profile_from_mapping
from contextctl.model.reply import Reply, Request
from tests.servers.local_model import local_model, missing_packages

pytestmark = [
    pytest.mark.local_model,
    pytest.mark.skipif(
        bool(missing_packages()),
        reason=f"not installed: {', '.join(missing_packages())} (make local-model)",
    ),
    pytest.mark.filterwarnings("ignore::UserWarning:pydantic"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:litellm"),
]
WINDOW = 1024
ASK = Request(({"role": "user", "content": "Tell me about the sea. " * 20},))


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with local_model(window=WINDOW) as address:
        yield address


def model_at(url: str, **params: object) -> Model:
    rule = {
        "name": "local/smollm2",
        "api_base": url,
        "window": WINDOW,
        "reserve_output": 12,
        "params": {"temperature": 0, **params},
        "retries": 0,
    }
    return open_model(profile_from_mapping({"version": 1, "model": rule}))


def is_plausible(reply: Reply) -> bool:
    usage = reply.usage
    return (
        usage is not None and 100 < usage.prompt_tokens < 200 and 0 < usage.completion_tokens <= 12
    )


def test_whole_and_streamed_answers_agree_and_carry_the_provider_s_usage(url):
    whole = model_at(url).complete(ASK)
    streamed = model_at(url, stream=True).complete(ASK)
    assert is_plausible(whole)
    assert is_plausible(streamed)
    assert whole.message.text
    assert streamed.message.text == whole.message.text
    assert whole.usage is not None
    assert streamed.usage is not None
    assert streamed.usage.prompt_tokens == whole.usage.prompt_tokens
    assert whole.finish_reason in {"length", "stop"}
    assert whole.first_token_s is None
    assert streamed.first_token_s is not None
    assert 0 < streamed.first_token_s <= streamed.duration_s


def test_a_repeated_prefix_is_reported_as_cached_within_the_prompt(url):
    model = model_at(url)
    first = model.complete(ASK).usage
    again = model.complete(ASK).usage
    assert first is not None
    assert again is not None
    assert again.prompt_tokens == first.prompt_tokens
    assert 0.8 * again.prompt_tokens < again.cached_tokens <= again.prompt_tokens


@pytest.mark.parametrize("stream", [False, True])
def test_a_window_larger_than_the_server_s_is_an_overflow(url, stream):
    request = Request(({"role": "user", "content": "word " * 2000},), stream=stream)
    with pytest.raises(ModelError, match="too large") as caught:
        model_at(url).complete(request)
    assert caught.value.overflow


def test_json_schema_constrains_the_answer(url):
    schema = {
        "type": "object",
        "properties": {"n": {"enum": ["one", "two"]}},
        "required": ["n"],
        "additionalProperties": False,
    }
    wanted = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    reply = model_at(url).complete(Request(ASK.messages, params={"response_format": wanted}))
    assert json.loads(reply.message.text)["n"] in {"one", "two"}
