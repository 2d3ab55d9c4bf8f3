"""The names that are reserved are those that are offered."""

from __future__ import annotations

from contextctl.core.knowledge.tools import KNOWLEDGE_TOOLS
from contextctl.core.memory.tools import MEMORY_TOOLS
from contextctl.core.tools import defer
from contextctl.core.tools.delegates import ASK_KNOWLEDGE
from contextctl.core.tools.plan import PLAN_TOOLS
from contextctl.core.tools.skills import VIEW_SKILL
from contextctl.core.tools.workspace import WORKSPACE_TOOLS
from contextctl.model import own_tools
from contextctl.model.profile import profile_from_mapping

MODEL = {"name": "gpt-4o"}


def test_each_name_is_that_of_a_tool() -> None:
    assert own_tools.SEARCH == (defer.SEARCH_TOOL, defer.CALL_TOOL)
    assert (VIEW_SKILL.name,) == own_tools.SKILLS
    assert (ASK_KNOWLEDGE, *KNOWLEDGE_TOOLS) == own_tools.KNOWLEDGE
    assert tuple(PLAN_TOOLS) == own_tools.PLAN
    assert tuple(MEMORY_TOOLS) == own_tools.MEMORY


def test_what_a_profile_does_not_offer_is_free() -> None:
    least = profile_from_mapping(
        {
            "version": 1,
            "model": MODEL,
            "plan": {"enabled": False},
            "defer": {"via": "off"},
            "workspace": {"tools": []},
        }
    )
    assert own_tools.own_tool_names(least) == ("ask_knowledge",)
    usual = profile_from_mapping({"version": 1, "model": MODEL, "tools": {"fetch": {}}})
    names = own_tools.own_tool_names(usual)
    assert {*WORKSPACE_TOOLS, "tool_search", "todo_write"} - {"fetch"} <= set(names)
    assert "fetch" not in names
