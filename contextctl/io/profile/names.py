"""From what a person types to the profile file that is meant."""

from __future__ import annotations

import os
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from contextctl.errors import UsageError
from contextctl.io.profile.shipped import shipped_folder

_ENDINGS = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True)
class ProfileFile:
    """A profile's file, and how its path is shown in messages and origins."""

    path: Path
    shown: str


def find_profile(name: str | os.PathLike[str], start: Path | None = None) -> ProfileFile:
    """The file for a path, or for a bare name.

    A bare name (``prod``) means ``profiles/prod.yaml`` in ``start`` (the working directory) or the
    nearest folder above it that has one, else the profile shipped under that name. Raises
    ``UsageError`` when there is none.
    """
    text = os.fspath(name)
    given = Path(text)
    if given.is_file():
        return ProfileFile(given, _shown(given))
    if given.is_dir():
        raise UsageError(f"'{text}' is a folder; name a profile in it")
    if os.sep not in text and not text.endswith(_ENDINGS):
        found = _by_name(text, start or Path.cwd())
        if found is not None:
            return found
    raise UsageError(f"no profile '{text}'{_closest(text, start or Path.cwd())}")


def _by_name(name: str, start: Path) -> ProfileFile | None:
    for folder in (start, *start.resolve().parents):
        for ending in _ENDINGS:
            path = folder / "profiles" / (name + ending)
            if path.is_file():
                return ProfileFile(path, Path(os.path.relpath(path)).as_posix())
    for ending in _ENDINGS:
        path = shipped_folder("profiles") / (name + ending)
        if path.is_file():
            return ProfileFile(path, f"contextctl/profiles/{path.name}")
    return None


def _shown(path: Path) -> str:
    """The path as given; one below the working directory without its absolute part."""
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        return path.relative_to(Path.cwd()).as_posix()
    return Path(os.path.normpath(path)).as_posix()


def _closest(text: str, start: Path) -> str:
    """What to say of a name that was not found: the nearest one there is, or all of them."""
    wanted = Path(text)
    is_path = os.sep in text or wanted.suffix in _ENDINGS
    above = [folder / "profiles" for folder in start.resolve().parents]
    folders = (
        [wanted.parent] if is_path else [start / "profiles", *above, shipped_folder("profiles")]
    )
    names = sorted(
        {
            path.name if is_path else path.stem
            for folder in folders
            if folder.is_dir()
            for path in folder.iterdir()
            if path.suffix in _ENDINGS
        }
    )
    close = get_close_matches(wanted.name, names, 1)
    if close:
        return f"; did you mean '{(wanted.parent / close[0]).as_posix()}'?"
    if not is_path:
        return f"; there are {', '.join(names)}"
    shipped = sorted(path.stem for path in shipped_folder("profiles").iterdir())
    return f"; 'contextctl init' makes one, or name a shipped one: {', '.join(shipped)}"
