"""The names of the tools that contextctl itself may offer under a profile.

A server that has one of these names gets its own before it (``web__fetch``): the hints in a window
say ``fetch``, ``read_workspace`` or ``tool_search`` and mean these.
"""

from __future__ import annotations

from typing import Final

from contextctl.model.profile import Profile

SEARCH: Final = ("tool_search", "call_tool")
SKILLS: Final = ("view_skill",)
KNOWLEDGE: Final = ("ask_knowledge", "search_docs", "read_doc", "read_section")
PLAN: Final = ("todo_write", "finish_stage", "save_output", "pin")
MEMORY: Final = ("memory_recall", "memory_propose")


def own_tool_names(profile: Profile) -> tuple[str, ...]:
    """Names that no server's tool may have. One for which the profile has a rule is the server's:
    who writes ``tools: {fetch: {result: …}}`` means the server's ``fetch``."""
    names = [*profile.workspace.tools, *profile.subagents]
    names += SEARCH if profile.defer.via != "off" else ()
    names += SKILLS if profile.disclosure.skills else ()
    names += KNOWLEDGE if profile.disclosure.knowledge else KNOWLEDGE[:1]
    names += PLAN if profile.plan.enabled else ()
    names += MEMORY if profile.memory.enabled else ()
    return tuple(dict.fromkeys(name for name in names if name not in profile.tools))
