"""Whose provider searches deferred tools, by the names that litellm gives models."""

from __future__ import annotations

import pytest

from contextctl.io.models.search import resolve_search
from contextctl.model.profile import profile_from_mapping


@pytest.mark.parametrize(
    ("model", "auto", "native"),
    [
        ("anthropic/claude-sonnet-4-5", "native", "native"),
        ("anthropic/claude-opus-4-5-20251101", "native", "native"),
        ("claude-sonnet-4-5", "native", "native"),
        ("anthropic/claude-3-5-haiku-20241022", "search", "native"),
        ("openai/responses/gpt-5.5", "native", "native"),
        ("openai/responses/gpt-4o", "search", "native"),
        # these wires carry no search, whatever the model is able to do elsewhere
        ("openai/gpt-5.5", "search", "search"),
        ("azure/gpt-5.5", "search", "search"),
        ("azure/responses/gpt-5.5", "search", "search"),
        ("azure_ai/claude-opus-4-5", "search", "search"),
        ("bedrock/us.anthropic.claude-opus-4-5-20251101-v1:0", "search", "search"),
        ("bedrock/converse/anthropic.claude-sonnet-4-5", "search", "search"),
        ("vertex_ai/claude-opus-4-5@20251101", "search", "search"),
        ("openrouter/anthropic/claude-sonnet-4.5", "search", "search"),
        ("gemini/gemini-2.5-pro", "search", "search"),
    ],
)
def test_native_is_only_what_the_wire_carries(model: str, auto: str, native: str) -> None:
    for via, found in (("auto", auto), ("native", native), ("search", "search"), ("off", "off")):
        mapping = {"version": 1, "model": {"name": model}, "defer": {"via": via}}
        assert resolve_search(profile_from_mapping(mapping)).defer.via == found
