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
