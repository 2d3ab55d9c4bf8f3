"""The subagents of a profile, opened when they are first asked and closed with the run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from contextctl.core.count import Counter
from contextctl.io.mcp.servers import open_servers
from contextctl.io.models.call import open_model
from contextctl.io.models.vocab import counter_for
from contextctl.io.profile.load import load_profile
from contextctl.io.profile.windows import resolve_window
from contextctl.io.skills.index import read_skills
from contextctl.io.tools.toolbox import open_tools, own_names
from contextctl.model.profile import Profile
from contextctl.model.profile_parts import Subagent
from contextctl.run.reader_profile import reader_profile

if TYPE_CHECKING:
    from contextctl.run.own_tools import OwnTools
    from contextctl.run.setting import Model, Tools


class Child:
    """One subagent ready to run. ``tools`` and ``own`` are None for one that reads documents: what
    it may read is its task's matter. ``model`` None: its parent's."""

    def __init__(
        self,
        profile: Profile,
        model: Model | None = None,
        tools: Tools | None = None,
        own: OwnTools | None = None,
    ) -> None:
        self.profile = profile
        self.counter_of: Callable[[str], Counter] = partial(counter_for, profile.tokenizer)
        self.model, self.tools, self.own = model, tools, own


class Children:
    """The subagents of one profile by name. Safe to use from many threads."""

    def __init__(self, profile: Profile, depth: int) -> None:
        self._profile = profile
        self._depth = depth
        self._open: dict[str, Child] = {}
        self._lock = threading.Lock()

    def get(self, name: str, rule: Subagent, stop: threading.Event, *, reads: bool) -> Child:
        """The subagent ``name``. Raises what loading a profile and opening its tools raises."""
        with self._lock:
            if name not in self._open:
                self._open[name] = self._opened(rule, stop, reads=reads)
            return self._open[name]

    def close(self) -> None:
        """End what their tools have running, however deep."""
        with self._lock:
            opened = list(self._open.values())
        for child in opened:
            if child.tools is not None:
                child.tools.close()
            if child.own is not None:
                child.own.close()

    def _opened(self, rule: Subagent, stop: threading.Event, *, reads: bool) -> Child:
        from contextctl.run.own_tools import OwnTools  # it holds these children

        if not rule.profile:
            profile = _limited(reader_profile(self._profile), rule)
            return Child(profile)
        given = resolve_window(load_profile(rule.profile))
        profile = _limited(reader_profile(given, keep_prefix=True) if reads else given, rule)
        model = open_model(profile, stop=stop)
        if reads:
            return Child(profile, model)
        depth = min(self._depth - 1, profile.limits.max_depth)
        own = OwnTools(profile, read_skills(profile.disclosure.skills), depth=depth)
        servers = open_servers(profile, own_names(profile)) if profile.mcp else None
        return Child(profile, model, open_tools(profile, servers), own)


def check_children(profile: Profile) -> None:
    """Raise what is wrong with the profile of a subagent before any model is asked."""
    for rule in profile.subagents.values():
        resolve_window(load_profile(rule.profile))


def _limited(profile: Profile, rule: Subagent) -> Profile:
    steps = min(rule.max_steps, profile.limits.max_steps)
    return replace(profile, limits=replace(profile.limits, max_steps=steps))
