"""Keys that are part of the format and not acted on yet, in one place.

``validate`` notes them and ``run`` says so before it starts, so that no declared key is ignored in
silence. A key that starts to work is deleted here.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from contextctl.io.profile.rules import Found
from contextctl.model.message import Json
from contextctl.model.profile import Profile, value_at

# JSON pointer (``*`` stands for one or more steps) -> what happens instead.
NOT_YET: dict[str, str] = {}


def not_yet(profile: Profile) -> Iterator[Found]:
    """A note for each declared key that is not acted on yet, unless it switches something off."""
    values = profile.to_json()
    for pattern, instead in NOT_YET.items():
        for pointer in profile.origins:
            value = value_at(values, pointer)
            if fnmatchcase(pointer, pattern) and not _is_off(value):
                yield Found(pointer, f"not acted on yet: {instead}", severity="note")


def _is_off(value: Json) -> bool:
    return not value or (isinstance(value, dict) and value.get("enabled") is False)
