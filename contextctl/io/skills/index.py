"""Skills on disk: folders with a ``SKILL.md``, which of them can be indexed, and their files.

A folder that holds a SKILL.md is one skill; any other is searched for skills below it, in the order
of names. Two skills of one name: the first wins, by the profile's order of folders and then by
path. Nothing is dropped in silence: what is not indexed is a fault with its file and reason.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from contextctl.io.skills.header import SkillHeader, read_header
from contextctl.model.skill import Shelf, Skill, SkillFault, SkillFile

FILE = "SKILL.md"
_MAX_DEPTH = 8
_MAX_BYTES = 2_000_000  # of one file: a reference text is far below, a dump is no reference
_MAX_FILES = 500
_SKIPPED = frozenset({".git", ".venv", "node_modules", "__pycache__"})


def read_skills(folders: Iterable[str | Path]) -> Shelf:
    """All skills below ``folders``. Never raises for what a skill holds."""
    skills: dict[str, Skill] = {}
    faults: list[SkillFault] = []
    seen: set[Path] = set()
    for folder in folders:
        root, found = Path(folder), False
        if not root.is_dir():
            faults.append(SkillFault(_shown(root), 0, "this folder does not exist"))
            continue
        for file in _skill_files(root, seen, faults):
            found = True
            _take(file, skills, faults)
        if not found:
            faults.append(SkillFault(_shown(root), 0, f"no {FILE} below this folder", "warning"))
    return Shelf(tuple(skills.values()), tuple(faults))


def skill_file(skill: Skill, path: str) -> SkillFile:
    """A file of ``skill`` by its path inside the skill's folder. Links may not lead outside."""
    real = _inside(Path(skill.folder), path)
    if real is None:
        return SkillFile(problem="not_found")
    try:
        info = real.stat()
        if not stat.S_ISREG(info.st_mode):
            return SkillFile(problem="not_found")
        if info.st_size > _MAX_BYTES:
            return SkillFile(problem="too_large")
        raw = real.read_bytes()
    except OSError:
        return SkillFile(problem="not_found")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return SkillFile(problem="not_text")
    return SkillFile(problem="not_text") if "\x00" in text else SkillFile(_newlines(text))


def skill_files(skill: Skill) -> tuple[str, ...]:
    """The paths of the skill's files, SKILL.md first; at most 500."""
    root = Path(skill.folder)
    paths = []
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name not in _SKIPPED)
        inside = Path(folder).relative_to(root)
        paths += [(inside / name).as_posix() for name in sorted(files) if not name.startswith(".")]
        if len(paths) >= _MAX_FILES:
            break
    paths.sort(key=lambda path: (path != FILE, path))
    return tuple(paths[:_MAX_FILES])


def _inside(folder: Path, path: str) -> Path | None:
    """The real place of ``path`` below ``folder``; None when it is not there or lies outside."""
    parts = path.split("/")
    if not path or path.startswith(("/", "~")) or ".." in parts or "\x00" in path:
        return None
    try:
        root = folder.resolve(strict=True)
        real = (root / path).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):  # a loop of links, a name too long
        return None
    return real if real.is_relative_to(root) and real != root else None


def _skill_files(
    folder: Path, seen: set[Path], faults: list[SkillFault], depth: int = 0
) -> Iterator[Path]:
    """Every SKILL.md below ``folder``, none of them inside another skill."""
    real = folder.resolve()
    if real in seen:
        return
    seen.add(real)
    try:
        names = sorted(entry.name for entry in folder.iterdir())
    except OSError as error:
        faults.append(SkillFault(_shown(folder), 0, f"cannot be listed: {error.strerror}"))
        return
    if FILE in names:
        yield folder / FILE
        faults.extend(_nested(folder))
        return
    misnamed = next((name for name in names if name.casefold() == FILE.casefold()), None)
    if misnamed is not None:
        faults.append(SkillFault(_shown(folder / misnamed), 0, f"name this file {FILE}"))
        return
    below = [folder / name for name in names if name not in _SKIPPED]
    for child in below if depth < _MAX_DEPTH else []:
        if child.is_dir():
            yield from _skill_files(child, seen, faults, depth + 1)


def _nested(folder: Path) -> Iterator[SkillFault]:
    """A SKILL.md inside a skill belongs to it: it can be read by path and is not indexed."""
    for file in sorted(folder.rglob(FILE)):
        if file.parent != folder:
            reason = f"lies inside the skill of {_shown(folder / FILE)}: not indexed by itself"
            yield SkillFault(_shown(file), 0, reason, "note")


def _take(file: Path, skills: dict[str, Skill], faults: list[SkillFault]) -> None:
    """Read one SKILL.md into ``skills``, or say why not."""
    shown = _shown(file)
    try:
        raw = file.read_bytes()
    except OSError as error:
        faults.append(SkillFault(shown, 0, f"cannot be read: {error.strerror}"))
        return
    header: SkillHeader = read_header(raw, shown, file.parent.resolve().name)
    faults.extend(header.faults)
    if header.name is None:
        return
    first = skills.get(header.name)
    if first is not None:
        reason = (
            f"the skill '{header.name}' is already in {first.file}, which wins because it comes "
            "first; this one is not indexed: rename one of them"
        )
        faults.append(SkillFault(shown, header.name_line, reason))
        return
    folder = str(file.parent.resolve())
    skills[header.name] = Skill(header.name, header.about, shown, folder)


def _newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _shown(path: Path) -> str:
    """The path from the working directory where it lies below it, else as it is."""
    absolute = Path(os.path.normpath(path.absolute()))
    here = Path.cwd()
    return absolute.relative_to(here).as_posix() if absolute.is_relative_to(here) else str(absolute)
