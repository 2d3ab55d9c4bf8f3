"""The profile as it holds for one of its models: each fallback has its own window (SPEC R2)."""

from __future__ import annotations

from dataclasses import replace

from contextctl.io.models.search import resolve_search
from contextctl.model.profile import Profile


def for_model(profile: Profile, name: str) -> Profile:
    """``profile`` with the model ``name``, one of its fallbacks, in place of its first one.

    Its deferred tools are searched natively where it can do that too. The windows must be resolved.
    A name that the profile does not know leaves it as it is: its step was taken under another one.
    """
    for fallback in profile.model.fallbacks:
        if fallback.name == name != profile.model.name:
            model = replace(profile.model, name=name, window=fallback.window)
            other = replace(profile, model=model)
            if other.defer.via == "native":  # said of the first model, not of this one
                other = replace(other, defer=replace(other.defer, via="auto"))
            return resolve_search(other)
    return profile
