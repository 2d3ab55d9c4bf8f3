"""A model that a run asks beside its own: for summaries, and for what is to be remembered."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from contextctl.io.models.call import open_model
from contextctl.io.profile.windows import window_of
from contextctl.model.profile import Profile
from contextctl.model.reply import Reply, Request

Ask = Callable[[Request], Reply]
_UNKNOWN_WINDOW = 8_192  # what the smallest models of today take


@dataclass(frozen=True)
class SideModel:
    """A model by its litellm name, its window in its own tokens, and the way to ask it."""

    name: str
    window: int
    ask: Ask


def open_side_model(
    profile: Profile,
    stop: threading.Event,
    *,
    name: str | None,
    window: int | None,
    max_tokens: int,
    api_base: str | None,
) -> SideModel:
    """The model ``name`` (None: the profile's own). Of the profile's settings it has what belongs
    to the same model, and the address where the provider is the same."""
    name = name or profile.model.name
    own = name == profile.model.name
    window = window or (profile.model.window if own else None) or window_of(name) or _UNKNOWN_WINDOW
    is_near = name.partition("/")[0] in ("local", profile.model.name.partition("/")[0])
    model = replace(
        profile.model,
        name=name,
        window=window,
        reserve_output=max_tokens,
        fallbacks=(),
        api_base=api_base or (profile.model.api_base if is_near else None),
        params=profile.model.params if own else {},
    )
    door = open_model(replace(profile, model=model), stop=stop)
    return SideModel(name, window, door.complete)
