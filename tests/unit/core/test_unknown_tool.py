"""What is said of a tool that is not there."""

from __future__ import annotations

from contextctl.core.tools.search import OnDemand
from contextctl.core.tools.unknown import names_of, unknown_tool
from contextctl.model.message import ToolSpec

EMPTY = {"type": "object", "properties": {}}
WAITING = {"git_log": ToolSpec("git_log", "", EMPTY, "git")}


def test_what_was_probably_meant_is_among_all_that_can_be_had() -> None:
    answer = unknown_tool("git_logs", ("tool_search",), OnDemand(WAITING))
    assert answer.text == "error: there is no tool 'git_logs'; did you mean 'git_log'?"
    assert answer.failure == "discovery.index"
    misspelt = unknown_tool("tool_serch", ("tool_search",), OnDemand(WAITING))
    assert "'tool_search'" in misspelt.text


def test_else_what_the_window_offers_is_listed_and_the_search_named() -> None:
    answer = unknown_tool("paint", ("tool_search", "read"), OnDemand(WAITING))
    assert answer.text.endswith("the tools are: tool_search, read; tool_search finds others")
    many = unknown_tool("paint", tuple(f"read_{n}" for n in range(25)), OnDemand({}))
    assert many.text.endswith("read_18, read_19 and 5 more")
    assert unknown_tool("paint", (), OnDemand({})).text.endswith("the tools are: (none)")


def test_entries_of_a_provider_have_no_name() -> None:
    read = ToolSpec("read", "", EMPTY, "a").to_openai()
    assert list(names_of([{"type": "tool_search"}, read])) == ["read"]
