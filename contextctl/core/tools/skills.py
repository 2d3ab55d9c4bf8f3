"""``view_skill``: the body of a skill when its index line says that it is needed (SPEC D2).

First the instructions in SKILL.md, then, by path, the files they name. Answers are bounded pages
like those of the workspace readers; what is not there is answered with what is, so that one wrong
guess costs one step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Protocol

from contextctl.core.explain.tool_call import Arguments, bad_arguments, tool_spec
from contextctl.core.reading.lines import READ_BYTES, read_lines
from contextctl.model.message import Json, JsonObject
from contextctl.model.own_sources import SKILLS
from contextctl.model.skill import Shelf, Skill, SkillFile

BODY = "SKILL.md"
_NAMES_SHOWN = 60
_FILES_SHOWN = 40
_ANY = 1 << 40

VIEW_SKILL = tool_spec(
    "view_skill",
    "Load a skill's instructions; with path, a file they name.",
    {"name": {"type": "string"}},
    {"path": {"type": "string"}, "start": {"type": "integer"}, "offset": {"type": "integer"}},
    source=SKILLS,
)
"""The tool as the model sees it. ``start`` and ``offset`` are those of ``next``."""


class Files(Protocol):
    """The files of skills, wherever they are kept."""

    def read(self, skill: Skill, path: str) -> SkillFile:
        """One file by its path inside the skill's folder; nothing outside is ever read."""

    def listed(self, skill: Skill) -> Sequence[str]:
        """The paths of all files of a skill, SKILL.md first."""


def index_entries(shelf: Shelf) -> tuple[Mapping[str, Json], ...]:
    """What the index layer lists."""
    return tuple({"name": skill.name, "about": skill.about} for skill in shelf.skills)


def answer_view(
    arguments: Mapping[str, Json], shelf: Shelf, files: Files, max_bytes: int = READ_BYTES
) -> JsonObject:
    """Answer a call of ``view_skill``; an unknown skill or file is an answer with ``error``."""
    asked = Arguments(arguments)
    name, path = asked.text("name"), asked.text("path", "")
    start, offset = asked.number("start", 0), asked.number("offset", 0)
    if asked.problem:
        return bad_arguments(asked.problem)
    skill = shelf.find(name)
    if skill is None:
        return _unknown_skill(name, shelf)
    path = path.strip().removeprefix("./") or BODY
    file = files.read(skill, path)
    if file.problem:
        return _unknown_file(skill, path, file.problem, files.listed(skill))
    out: JsonObject = {"skill": skill.name, "path": path}
    if path == BODY and start == 0 and offset == 0:
        out |= _listing([one for one in files.listed(skill) if one != BODY])
    part = read_lines(file.text, "", start, _ANY, max_bytes, offset=offset)
    del part["ref"]
    return out | part


def _unknown_skill(name: str, shelf: Shelf) -> JsonObject:
    names = [skill.name for skill in shelf.skills]
    close = get_close_matches(name.casefold(), names, 1)
    out: JsonObject = {"error": "unknown_skill", "name": name, "skills": [*names[:_NAMES_SHOWN]]}
    if len(names) > _NAMES_SHOWN:
        out["omitted"] = len(names) - _NAMES_SHOWN
    out["hint"] = f"did you mean '{close[0]}'?" if close else "take a name of the list"
    return out


def _unknown_file(skill: Skill, path: str, problem: str, listed: Sequence[str]) -> JsonObject:
    out: JsonObject = {"error": _ERRORS[problem], "skill": skill.name, "path": path}
    below = [one for one in listed if one.startswith(path.rstrip("/") + "/")]
    if below:
        out["error"] = "is_folder"
    out |= _listing(below or listed)
    close = get_close_matches(path, listed, 1)
    out["hint"] = f"did you mean '{close[0]}'?" if close else "take a path of the list"
    return out


_ERRORS = {"not_found": "unknown_file", "not_text": "not_text", "too_large": "too_large"}


def _listing(paths: Sequence[str]) -> JsonObject:
    if not paths:
        return {}
    out: JsonObject = {"files": [*paths[:_FILES_SHOWN]]}
    if len(paths) > _FILES_SHOWN:
        out["files_omitted"] = len(paths) - _FILES_SHOWN
        out["files_hint"] = "view_skill with a folder as path lists what is in it"
    return out
