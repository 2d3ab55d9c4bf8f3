"""Streams put together, and usage reports of every spelling. Expectations by hand."""

from __future__ import annotations

import json

import pytest

from contextctl.io.traces.sse import join_events
from contextctl.io.traces.usage import usage_fact
from contextctl.model.message import Json


def call(index: int, arguments: str, **named: str) -> Json:
    """One piece of a call, in a chunk of its own."""
    inner: dict[str, Json] = {"arguments": arguments}
    piece: dict[str, Json] = {"index": index, "function": inner}
    if named:
        inner["name"], piece["id"] = named["name"], named["id"]
    return {"choices": [{"delta": {"tool_calls": [piece]}}]}


def test_openai_calls_in_pieces() -> None:
    chunks: list[Json] = [
        {"model": "m", "choices": [{"delta": {"role": "assistant", "content": None}}]},
        call(1, "", id="b", name="g"),
        call(0, '{"x"', id="a", name="f"),
        call(0, ": 1}"),
        {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]},
        {"choices": [], "usage": {"prompt_tokens": 7}},
    ]
    text = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    reply = join_events(text)
    first = {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
    second = {"id": "b", "type": "function", "function": {"name": "g", "arguments": ""}}
    message = {"role": "assistant", "content": None, "tool_calls": [first, second]}
    assert reply["choices"] == [{"index": 0, "finish_reason": "tool_calls", "message": message}]
    assert reply["usage"] == {"prompt_tokens": 7}


def test_anthropic_input_that_was_cut_off_stays_text() -> None:
    start = '{"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use"}}'
    delta = (
        '{"type": "content_block_delta", "index": 0, "delta": '
        '{"type": "input_json_delta", "partial_json": "{\\"a"}}'
    )
    reply = join_events(f"event: x\ndata: {start}\n\ndata: {delta}\n\ndata: {{torn")
    assert reply == {"content": [{"type": "tool_use", "input": '{"a'}]}


def test_a_responses_stream_ends_with_the_whole() -> None:
    text = 'data: {"type": "response.created"}\ndata: {"type": "response.completed", "response": '
    assert join_events(text + '{"id": "r", "output": []}}') == {"id": "r", "output": []}


def test_nothing() -> None:
    assert join_events("") == {}
    assert join_events(": ping\n\n") == {}


@pytest.mark.parametrize(
    ("raw", "prompt", "cached", "written", "completion"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 2}, 9, 0, 0, 2),
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}, 9, 4, 0, 0),
        # litellm for Anthropic: already inclusive
        ({"prompt_tokens": 9, "cache_read_input_tokens": 4}, 9, 4, 0, 0),
        ({"input_tokens": 9, "output_tokens": 1, "cache_read_input_tokens": 4}, 13, 4, 0, 1),
        ({"input_tokens": 9, "cache_creation_input_tokens": 5}, 14, 0, 5, 0),
        ({"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4}}, 9, 4, 0, 0),
        ({"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4}, 8, 3, 4, 2),
        ({"prompt_tokens": None, "completion_tokens": True}, 0, 0, 0, 0),
    ],
)
def test_usage(raw: Json, prompt: int, cached: int, written: int, completion: int) -> None:
    fact = usage_fact(raw, "m")
    assert fact is not None
    counts = (fact.prompt_tokens, fact.cached_tokens, fact.cache_write_tokens)
    assert counts == (prompt, cached, written)
    assert (fact.completion_tokens, fact.model) == (completion, "m")


def test_no_usage() -> None:
    assert usage_fact(None) is None
    assert usage_fact("many") is None
