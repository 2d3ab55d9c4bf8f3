"""The window of a model whose profile says ``auto``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from contextctl.errors import ProfileError
from contextctl.io.models.map import model_facts
from contextctl.io.models.search import resolve_search
from contextctl.io.profile.rules import Found, placed
from contextctl.model.profile import Profile

# A scripted model has no window of its own; this one lets a script run without a word about it.
SCRIPTED_WINDOW = 32768


def window_of(name: str) -> int | None:
    """The input limit of a model in tokens; None when nothing says it."""
    if name.startswith("scripted/"):
        return SCRIPTED_WINDOW
    return None if name.startswith("local/") else model_facts(name).window


def resolve_window(profile: Profile) -> Profile:
    """``profile`` with what ``auto`` stands for: the window of its model and of every fallback,
    and who searches its deferred tools.

    Raises ``ProfileError`` that names ``model.window`` when the model map does not know one.
    """
    unknown = tuple(placed(profile, found) for found in unknown_windows(profile))
    if unknown:
        raise ProfileError(unknown)
    model = profile.model
    fallbacks = tuple(
        replace(fallback, window=fallback.window or window_of(fallback.name))
        for fallback in model.fallbacks
    )
    window = model.window or window_of(model.name)
    if window != model.window or fallbacks != model.fallbacks:
        profile = replace(profile, model=replace(model, window=window, fallbacks=fallbacks))
    return resolve_search(profile)


def unknown_windows(profile: Profile) -> Iterator[Found]:
    """An error for each model of the profile whose window is neither set nor known (L4)."""
    model = profile.model
    if not model.window and not window_of(model.name):
        yield Found("/model/window", *_unknown(model.name, "window: 32768"))
    for index, fallback in enumerate(model.fallbacks):
        if not fallback.window and not window_of(fallback.name):
            edit = f"{{name: {fallback.name}, window: 32768}}"
            yield Found(f"/model/fallbacks/{index}", *_unknown(fallback.name, edit))


def _unknown(name: str, edit: str) -> tuple[str, str]:
    message = f"the window of model '{name}' is not known, so 'auto' cannot be resolved"
    return message, f"set it in tokens, as {edit}"
