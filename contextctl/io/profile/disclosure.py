"""Rules about what is loaded on demand: index layers, skills, documents and delegates."""

from __future__ import annotations

import re
from collections.abc import Iterator

from contextctl.io.profile.rules import Found
from contextctl.model.profile import READER_TOOLS, Profile, pointer_to

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TAKEN = frozenset({*READER_TOOLS, "view_skill", "tool_search", "call_tool"})


def disclosure(profile: Profile) -> Iterator[Found]:
    """What is indexed has a layer that shows the index, and a bank says what is in it."""
    shown = any(layer.index == "skills" for layer in profile.prefix)
    if profile.disclosure.skills and not shown:
        message = "no layer shows the index of these skills, so the model cannot know of them"
        hint = "add {id: skills, index: skills} to 'prefix'"
        yield Found("/disclosure/skills", message, hint, "warning")
    for name, bank in profile.disclosure.knowledge.items():
        if not bank.description:
            pointer = pointer_to(("disclosure", "knowledge", name))
            message = f"'{name}' has no description: the model sees only its name"
            yield Found(pointer, message, "say in one line what is in it", "note")


def delegates(profile: Profile) -> Iterator[Found]:
    """A subagent is called by its name, as a tool, for what its description says."""
    for name, rule in profile.subagents.items():
        pointer = pointer_to(("subagents", name))
        if not _NAME.fullmatch(name):
            message = f"'{name}' is not a tool name: letters, digits, '_' and '-', at most 64"
            yield Found(pointer, message)
        if name in profile.tools or name in _TAKEN:
            whose = "the profile's" if name in profile.tools else "contextctl's own"
            yield Found(pointer, f"'{name}' is {whose} tool already", "rename the subagent")
        if not rule.description:
            message = f"'{name}' has no description: the model cannot tell when to delegate to it"
            yield Found(pointer, message, "say what it does and returns", "warning")
    if profile.subagents and not profile.limits.max_depth:
        message = "at this depth no subagent is offered"
        yield Found("/limits/max_depth", message, "set it to 1 or more", "warning")
