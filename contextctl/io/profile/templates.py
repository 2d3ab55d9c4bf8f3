"""The folders that ``contextctl init`` copies; nothing is ever overwritten."""

from __future__ import annotations

from pathlib import Path

from contextctl.errors import UsageError
from contextctl.io.text.files import write_atomic

_PACKAGE = Path(__file__).resolve().parents[2]
TEMPLATES = ("minimal", "agent", "batch")
_NOT_COPIED = frozenset({"__pycache__"})


def template_files(name: str) -> dict[Path, Path]:
    """The files of a template: where each goes, relative to the new folder, and where it is."""
    root = _PACKAGE / "templates" / name
    return {
        path.relative_to(root): path
        for path in sorted(root.rglob("*"))
        if path.is_file() and not _NOT_COPIED & set(path.parts)
    }


def copy_template(name: str, folder: Path) -> tuple[Path, ...]:
    """Write a template into ``folder``. Raises ``UsageError``, and writes nothing, when a file of
    that name is there already."""
    files = template_files(name)
    taken = [folder / path for path in files if (folder / path).exists()]
    if taken:
        listed = ", ".join(f"'{path}'" for path in taken[:4])
        raise UsageError(f"{listed} already there: nothing was written; choose another folder")
    for path, source in files.items():
        write_atomic(folder / path, source.read_bytes())
    return tuple(folder / path for path in files)


def write_new(path: Path, text: str) -> None:
    """Write a file that must not be there yet. Raises ``UsageError`` when it is."""
    if path.exists():
        raise UsageError(f"'{path}' is already there and was not changed; give another --name")
    write_atomic(path, text)
