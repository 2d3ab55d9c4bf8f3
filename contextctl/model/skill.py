"""Skills as they were found on disk: what can be loaded, and what is wrong with the rest."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill that can be loaded. ``about`` is its whole description, on one line.

    ``file`` is its SKILL.md as it is shown to people, ``folder`` the absolute path of its folder.
    """

    name: str
    about: str
    file: str
    folder: str


@dataclass(frozen=True, slots=True)
class SkillFault:
    """Something wrong with a skill. ``line`` counts from 1; 0 is the file as a whole.

    ``error``: it is not in the index. ``warning``: it is, and not as its author meant. ``note``: it
    is left out on purpose.
    """

    path: str
    line: int
    reason: str
    severity: str = "error"

    def __str__(self) -> str:
        at = f":{self.line}" if self.line else ""
        return f"{self.path}{at}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Shelf:
    """All skills of a profile, by the order of its folders and then by path."""

    skills: tuple[Skill, ...] = ()
    faults: tuple[SkillFault, ...] = ()

    def find(self, name: str) -> Skill | None:
        """The skill of that name, whatever its case; None when there is none."""
        exact = next((skill for skill in self.skills if skill.name == name), None)
        folded = name.strip().casefold()
        return exact or next((s for s in self.skills if s.name.casefold() == folded), None)


@dataclass(frozen=True, slots=True)
class SkillFile:
    """A file of a skill, or why it cannot be shown: then ``problem`` is set.

    ``problem`` is ``not_found`` (also for whatever lies outside the folder), ``not_text`` or
    ``too_large``.
    """

    text: str = ""
    problem: str = ""
