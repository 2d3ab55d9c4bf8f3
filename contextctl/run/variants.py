"""The profile as it holds for one of its models: each fallback has its own window (SPEC R2)."""

from __future__ import annotations

from dataclasses import replace

from contextctl.model.profile import Profile


def for_model(profile: Profile, name: str) -> Profile:
    """``profile`` with the model ``name``, one of its fallbacks, in place of its first one.

    The windows must be resolved. A name the profile does not know leaves it as it is: such a step
    was taken under another profile.
    """
    for fallback in profile.model.fallbacks:
        if fallback.name == name != profile.model.name:
            model = replace(profile.model, name=name, window=fallback.window)
            return replace(profile, model=model)
    return profile
