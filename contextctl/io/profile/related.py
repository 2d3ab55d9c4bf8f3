"""Problems in the files a profile leads to: its skills and the profiles of its subagents.

They are ``validate``'s matter: one broken skill does not stop a run, which only tells of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from contextctl.errors import Problem, UsageError
from contextctl.io.profile.load import check_profile
from contextctl.io.skills.index import read_skills
from contextctl.model.profile import Profile, pointer_to


def related_problems(profile: Profile) -> tuple[Problem, ...]:
    """All of them, each at its own file and line; nothing twice."""
    return tuple(dict.fromkeys(_related(profile, set())))


def _related(profile: Profile, seen: set[Path]) -> Iterator[Problem]:
    for fault in read_skills(profile.disclosure.skills).faults:
        yield Problem(fault.path, fault.line, 0, "", fault.reason, "", fault.severity)
    for name, rule in profile.subagents.items():
        path = Path(rule.profile).resolve()
        if path in seen:
            continue
        seen.add(path)
        try:
            below, problems = check_profile(rule.profile)
        except UsageError as error:
            origin = profile.origin_of(pointer_to(("subagents", name, "profile")))
            place, line = (origin.path, origin.line) if origin else (profile.path, 0)
            yield Problem(place, line, 0, f"subagents.{name}.profile", str(error))
            continue
        yield from problems
        if below is not None:
            yield from _related(below, seen)
