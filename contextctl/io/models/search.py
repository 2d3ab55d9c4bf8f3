"""Whether a model's provider searches deferred tools itself, and what that makes of ``defer.via``.

Two wires carry it: Anthropic's Messages API and OpenAI's Responses API (litellm's
``openai/responses/<model>``). On every other one the tools are found by ``tool_search``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from contextctl.io.models.map import entries
from contextctl.io.profile.rules import Found
from contextctl.model.profile import Profile

_RESPONSES = "openai/responses/"
_ANTHROPIC = "anthropic/"
# The map says it of Claude models where Bedrock offers them: there a name has a date and a version.
_TAIL = re.compile(r"(?:[-@]\d{8})?(?:-v\d+(?::\d+)?)?(?:@\w+)?$")


def searches_itself(model: str) -> bool:
    """Whether ``model`` can be sent deferred tools, as litellm names it."""
    if model.startswith(_RESPONSES):
        entry = entries().get(model.removeprefix(_RESPONSES))
        return isinstance(entry, dict) and entry.get("supports_tool_search") is True
    return _is_anthropic(model) and _plain(model) in _claude_models()


def carries_search(model: str) -> bool:
    """Whether the wire of ``model`` has a tool search, whatever the map knows of the model."""
    return model.startswith(_RESPONSES) or _is_anthropic(model)


def resolve_search(profile: Profile) -> Profile:
    """``profile`` with ``defer.via`` as its model has it: ``native`` or ``search``.

    A declared ``native`` stays where the wire has a search, also for a model the map does not know.
    """
    via, model = profile.defer.via, profile.model.name
    if via == "off":
        return profile
    able = searches_itself(model) if via == "auto" else via == "native" and carries_search(model)
    found = "native" if able else "search"
    return profile if found == via else replace(profile, defer=replace(profile.defer, via=found))


def unsearchable(profile: Profile) -> Iterator[Found]:
    """A warning where ``native`` is declared for a model that cannot be sent deferred tools."""
    model = profile.model.name
    if profile.defer.via == "native" and not carries_search(model):
        text = f"'{model}' has no tool search of its own, so tool_search is offered instead"
        hint = "name the model as 'anthropic/…' or 'openai/responses/…', or set via: search"
        yield Found("/defer/via", text, hint, "warning")


def _is_anthropic(model: str) -> bool:
    """Whether litellm asks Anthropic itself: a bare ``claude-…`` is Anthropic's too."""
    return model.startswith(_ANTHROPIC) or ("/" not in model and model.startswith("claude-"))


@lru_cache(maxsize=1)
def _claude_models() -> frozenset[str]:
    return frozenset(
        _plain(name)
        for name, entry in entries().items()
        if isinstance(entry, dict) and entry.get("supports_tool_search") and "claude" in name
    )


def _plain(name: str) -> str:
    """``claude-opus-4-5`` of ``us.anthropic.claude-opus-4-5-20251101-v1:0``."""
    return _TAIL.sub("", name.rpartition("/")[2].rpartition("anthropic.")[2])
