"""Sources of the tools that contextctl offers beside a profile's own."""

from __future__ import annotations

from typing import Final

SKILLS: Final = "skills"
KNOWLEDGE: Final = "knowledge"
SUBAGENTS: Final = "subagents"
PLAN: Final = "plan"
MEMORY: Final = "memory"

OWN_SOURCES: Final = (SKILLS, KNOWLEDGE, SUBAGENTS, PLAN, MEMORY)
"""Their tools are few and always resident, and their answers bounded: never shaped again."""

NOT_SERVERS: Final = frozenset({"profile", "task", "trace", "contextctl", *OWN_SOURCES})
"""Sources of tools that no MCP server offers."""


def server_source(server: str) -> str:
    """The source of an MCP server's tools: its name in the profile, marked where that is taken."""
    return f"mcp:{server}" if server in NOT_SERVERS else server
