"""What a model is told of tools on demand, and what its searches and calls are answered."""

from __future__ import annotations

import json
from typing import Any

import pytest

from contextctl.core.tools.index import ToolIndex
from contextctl.core.tools.native_search import discovered, marked, search_entry
from contextctl.core.tools.search import (
    OnDemand,
    answer_search,
    inner_call,
    not_loaded,
    search_specs,
)
from contextctl.model.arguments import ArgumentsError
from contextctl.model.message import ToolSpec

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"q": {"type": "string"}}}


def tools(count: int, about: str = "Send a letter.") -> dict[str, ToolSpec]:
    specs = (ToolSpec(f"send_{n}", about, SCHEMA, "post") for n in range(count))
    return {spec.name: spec for spec in specs}


def ask(deferred: dict[str, ToolSpec], arguments: Any, *, by_call: bool = False) -> Any:
    demand = OnDemand(deferred, by_call=by_call)
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return answer_search(demand, ToolIndex(deferred.values()).search, text, 5)


def test_names_stand_in_the_description_as_far_as_they_fit() -> None:
    (few,) = search_specs(tools(12), by_call=False)
    assert "post: send_0, send_1, " in few.description
    (many,) = search_specs(tools(500), by_call=False)
    assert "There are 500 tools: post (500)." in many.description
    assert len(many.description) < 300


def test_a_search_answers_names_and_says_that_they_can_be_called() -> None:
    found = ask(tools(12), {"query": "letter"})
    assert found.names == ("send_0", "send_1", "send_2", "send_3", "send_4")
    answer = json.loads(found.text)
    assert answer["returned"] == 5
    assert answer["searched"] == 12
    assert answer["tools"][0] == {
        "name": "send_0",
        "server": "post",
        "description": "Send a letter.",
    }
    assert found.failure == ""


@pytest.mark.parametrize(("limit", "returned"), [(1, 1), (8, 8), (0, 1), (999, 12), ("3", 5)])
def test_a_limit_is_kept_within_reason(limit: Any, returned: int) -> None:
    assert len(ask(tools(12), {"query": "letter", "limit": limit}).names) == returned


def test_nothing_found_is_a_failure_of_the_query_that_says_what_there_is() -> None:
    found = ask(tools(3), {"query": "zyzzyva"})
    assert found.failure == "discovery.query"
    assert found.names == ()
    assert "send_0, send_1, send_2" in json.loads(found.text)["hint"]


@pytest.mark.parametrize("arguments", ["{", "[]", "{}", '{"query": ""}', '{"query": 5}'])
def test_wrong_arguments_are_an_answer(arguments: str) -> None:
    found = ask(tools(3), arguments)
    assert found.text.startswith("error: ")
    assert found.failure == "execution.arguments"


def test_by_call_the_schemas_are_answered_as_far_as_they_fit() -> None:
    found = ask(tools(5), {"query": "letter"}, by_call=True)
    assert json.loads(found.text)["tools"][0]["parameters"] == SCHEMA
    long = ask(tools(5, "Send a letter. " * 300), {"query": "letter"}, by_call=True)
    assert 1 <= len(long.names) < 5
    assert len(long.text) < 13_000
    assert "search for them by name" in json.loads(long.text)["hint"]
    assert len(json.loads(long.text)["tools"]) == len(long.names)


def test_the_call_inside_call_tool() -> None:
    assert inner_call('{"name": "a", "arguments": {"q": "\\u9000"}}') == ("a", '{"q": "退"}')
    assert inner_call('{"name": "a", "arguments": "{\\"q\\": 1}"}') == ("a", '{"q": 1}')
    assert inner_call('{"name": "a"}') == ("a", "{}")
    for wrong in ("{", '{"arguments": {}}', '{"name": 5}'):
        with pytest.raises(ArgumentsError):
            inner_call(wrong)


def test_a_tool_that_was_not_loaded_says_how_to_load_it() -> None:
    found = not_loaded("send_1")
    assert "'send_1' is not loaded: use tool_search" in found.text
    assert found.failure == "discovery.load"


class TestNative:
    def test_each_provider_has_its_own_switch(self) -> None:
        assert search_entry("openai/responses/gpt-5.5") == {"type": "tool_search"}
        assert search_entry("anthropic/claude-sonnet-4-5")["name"] == "tool_search_tool_bm25"
        assert marked({"type": "function"}) == {"type": "function", "defer_loading": True}

    def test_discoveries_are_read_in_both_forms_and_nothing_else_is_one(self) -> None:
        reference = {"type": "tool_reference", "tool_name": "a"}
        anthropic = {"tool_results": [{"content": {"tool_references": [reference, {}, 5]}}]}
        openai = {"tool_search_items": [{"type": "tool_search_call"}, {"tools": [{"name": "b"}]}]}
        assert list(discovered({"provider_specific_fields": anthropic})) == ["a"]
        assert list(discovered({"provider_specific_fields": openai})) == ["b"]
        for other in (
            {},
            {"provider_specific_fields": None},
            {"provider_specific_fields": {"x": 1}},
        ):
            assert list(discovered(other)) == []
