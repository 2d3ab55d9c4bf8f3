"""Caps: a declared limit for one bucket (or one layer or tool), beside the whole budget (SPEC L7).

A bucket over its cap starts a batch that works on that bucket alone and goes a little below the
cap, so that the next result does not start another. What is still over then is a finding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from contextctl.core.fold.state import State
from contextctl.core.remedies.offload import offload_large
from contextctl.core.remedies.shape import shape_older
from contextctl.core.remedies.trim import trim_older
from contextctl.model.profile import Profile

SLACK = 0.15
_REMEDIES = {
    "tool_results": (shape_older, offload_large, trim_older),
    "history": (trim_older,),
}


@dataclass(frozen=True, slots=True)
class OverCap:
    """A bucket or part above its cap, both in tokens."""

    name: str
    limit: int
    tokens: int


def cap_tokens(profile: Profile, name: str, usable: int) -> int | None:
    """The declared cap in tokens: a fraction of usable up to 1, else tokens; None without one."""
    cap = profile.budget.caps.get(name)
    if cap is None:
        return None
    return int(cap * usable) if cap <= 1 else int(cap)


def over_caps(state: State) -> Iterator[OverCap]:
    """What stands above its cap now, in the order of declaration."""
    for name in state.profile.budget.caps:
        limit = cap_tokens(state.profile, name, state.allowance.usable)
        tokens = _tokens(state, name)
        if limit is not None and tokens > limit:
            yield OverCap(name, limit, tokens)


def reduce_to_caps(state: State) -> None:
    """Work on each bucket above its cap with the remedies that can reduce it."""
    for over in list(over_caps(state)):
        low = int(over.limit * (1 - SLACK))
        for remedy in _REMEDIES.get(over.name.partition(".")[0], ()):
            excess = _tokens(state, over.name) - low
            if excess <= 0:
                break
            remedy(state, state.total - excess)


def tell_caps(state: State) -> None:
    """A finding for each cap that nothing could keep."""
    for over in over_caps(state):
        pointer = f"/budget/caps/{over.name}"
        where = state.profile.origin(pointer) or pointer
        state.warnings.append(
            f"{over.name} holds {over.tokens:,} tokens, over its cap of {over.limit:,} ({where})"
        )


def _tokens(state: State, name: str) -> int:
    parts = {**state.view.parts, **state.tool_parts}
    if name in parts:
        return parts[name]
    return sum(tokens for part, tokens in parts.items() if part.partition(".")[0] == name)
