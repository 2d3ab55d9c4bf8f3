"""Patches for ``git apply``.

Inside a repository a patch carries git's own header and paths from its top; outside, paths from the
working directory (``git apply`` and ``patch -p1`` read both). From a folder below, git passes over
files above it without a word: ``apply_command`` then says where to stand.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

_NO_NEWLINE = "\\ No newline at end of file\n"


def difference(path: Path, before: str, after: str) -> str:
    """The patch that turns ``before`` into ``after`` in the file at ``path``."""
    shown, header = _place(path)
    lines = difflib.unified_diff(
        _lines(before), _lines(after), f"a/{shown}", f"b/{shown}", n=2, lineterm="\n"
    )
    return header + "".join(_ended(lines))


def created(path: Path, text: str) -> str:
    """The patch that makes a file at ``path``, or beside it when that name is taken."""
    free, number = path, 2
    while free.exists():
        free, number = path.with_name(f"{path.stem}-{number}{path.suffix}"), number + 1
    shown, header = _place(free)
    lines = difflib.unified_diff([], _lines(text), "/dev/null", f"b/{shown}", lineterm="\n")
    mode = "new file mode 100644\n" if header else ""
    return header + mode + "".join(_ended(lines))


def apply_command(path: Path) -> str:
    """``git apply``, from the top of the repository where the file is above this folder."""
    real, here = Path(os.path.abspath(path)), Path.cwd()  # noqa: PTH100  # as in _place
    top = _top(real)
    if top is None or real.is_relative_to(here):
        return "git apply"
    return f"git -C {quote(Path(os.path.relpath(top)).as_posix())} apply"


def _top(real: Path) -> Path | None:
    return next((folder for folder in real.parents if (folder / ".git").exists()), None)


def _place(path: Path) -> tuple[str, str]:
    """How a patch names a file, and git's header where there is a repository."""
    real = Path(os.path.abspath(path))  # noqa: PTH100  # resolve() would follow links of the tree
    top = _top(real)
    if top is None:
        return Path(os.path.relpath(real)).as_posix(), ""
    shown = real.relative_to(top).as_posix()
    return shown, f"diff --git a/{shown} b/{shown}\n"


def _lines(text: str) -> list[str]:
    """Lines with their ends; only a line feed ends one, as in git."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _ended(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}"
