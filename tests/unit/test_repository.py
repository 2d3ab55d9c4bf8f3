"""House rules that no linter holds: sizes, names, and what a committed file may not mention."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

MOST_LINES = 350
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "manager", "misc", "common", "data"}
HOSTS = re.compile(r"https?://[^\s\"']*(?:pypi|npmjs|deb\.debian|pythonhosted)", re.IGNORECASE)
MACHINE = re.compile(r"(?<![\w./:@-])/(?:root|home|work|Users)/[A-Za-z]")
REQUIREMENT = re.compile(r"^[a-z0-9][\w.-]*(?:\[[\w,-]+\])?==\S+", re.MULTILINE)


@pytest.fixture(scope="module")
def tracked(root: Path) -> list[Path]:
    """The committed text files of the project."""
    if not (root / ".git").exists() or shutil.which("git") is None:
        pytest.skip("not a git checkout")
    done = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True)
    paths = (root / name for name in done.stdout.decode().split("\0") if name)
    return [path for path in paths if path.is_file() and b"\0" not in path.read_bytes()[:8192]]


def test_source_files_hold_one_idea(tracked: list[Path], root: Path) -> None:
    sizes = {
        str(path.relative_to(root)): path.read_text(encoding="utf-8").count("\n")
        for path in tracked
        if path.suffix == ".py" and (root / "contextctl") in path.parents
    }
    assert sizes
    assert {name: lines for name, lines in sizes.items() if lines > MOST_LINES} == {}
    assert [name for name in sizes if name.rpartition("/")[2][:-3] in EMPTY_NAMES] == []


def test_no_file_names_a_machine_or_a_registry(tracked: list[Path], root: Path) -> None:
    # Test inputs may hold what a recorded agent saw on its own machine.
    ours = [path for path in tracked if not {"fixtures", "example-files"} & set(path.parts)]
    found = []
    for path in ours:
        text = path.read_text(encoding="utf-8", errors="replace")
        hits = [*HOSTS.findall(text), *MACHINE.findall(text)]
        found += [f"{path.relative_to(root)}: {hit}" for hit in hits]
    assert found == []


@pytest.mark.parametrize("lock", ["requirements.lock", ".ci/local-model.lock"])
def test_the_lock_pins_by_hash_and_names_no_address(root: Path, lock: str) -> None:
    text = (root / lock).read_text(encoding="utf-8")
    assert "://" not in text
    entries = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]
    assert entries
    for entry in entries:
        assert REQUIREMENT.match(entry), entry
        assert "--hash=sha256:" in entry, entry
