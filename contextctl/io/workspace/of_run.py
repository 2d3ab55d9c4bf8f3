"""Finding the workspace that a run wrote to, and which task each of its refs belongs to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from contextctl.errors import UsageError
from contextctl.io.runs.folder import RunFolder
from contextctl.io.workspace.blobs import BlobStore, open_store
from contextctl.io.workspace.files import all_labels, all_refs
from contextctl.io.workspace.stored import StoredRef, owner_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contextctl.model.message import JsonObject


@dataclass(frozen=True, slots=True)
class RunWorkspace:
    """An open store; ``tasks`` maps the owner of a ref to its task's folder name.

    ``store`` is None when the run stored nothing. ``own`` says that the store is the run's alone;
    otherwise only refs whose owner is in ``tasks`` are the run's.
    """

    address: str
    store: BlobStore | None
    tasks: Mapping[str, str]
    own: bool

    def refs(self, *, older_than_s: float | None = None) -> tuple[StoredRef, ...]:
        """The run's refs, oldest first."""
        if self.store is None:
            return ()
        owners = None if self.own else set(self.tasks)
        return all_refs(self.store, owners=owners, older_than_s=older_than_s)

    def labels(self) -> dict[str, tuple[str, ...]]:
        """The names that models gave, by ref."""
        return {} if self.store is None else all_labels(self.store)

    def find(self, name: str) -> StoredRef:
        """The ref called ``name``, or the only one that has it as a label.

        Raises ``UsageError`` that says what to look at.
        """
        refs = self.refs()
        labels = self.labels()
        found = [row for row in refs if row.ref == name]
        found = found or [row for row in refs if name in labels.get(row.ref, ())]
        if not found:
            raise UsageError(
                f"no ref or name '{name}' in '{self.address}'; 'contextctl workspace ls' lists them"
            )
        if len(found) > 1:
            several = ", ".join(row.ref for row in found)
            raise UsageError(f"'{name}' is the name of several refs, choose one: {several}")
        return found[0]


def run_workspace(name: str, base: Path) -> RunWorkspace:
    """Open the workspace of a run (its folder, or ``latest``), or a workspace by its own folder.

    Looking never creates one. Raises ``UsageError`` when nothing is there.
    """
    folder = base / name
    if "://" in name or (folder / "cache.db").is_file():
        address = name if "://" in name else str(folder)
        return RunWorkspace(address, open_store(address), {}, own=True)
    run = RunFolder.open(name, base)
    address = _address(run) or str(run.workspace)
    is_own = address == str(run.workspace)
    is_there = "://" in address or (Path(address) / "cache.db").is_file()
    store = open_store(address) if is_there else None
    return RunWorkspace(address, store, dict(_owners(run)), own=is_own)


def _address(run: RunFolder) -> str | None:
    """Where the run's profile put the workspace; None for the run's own folder."""
    if not run.run_json.exists():
        return None
    profile = run.read_run_json().get("profile")
    rule = profile.get("workspace") if isinstance(profile, dict) else None
    path = rule.get("path") if isinstance(rule, dict) else None
    return path if isinstance(path, str) else None


def _owners(run: RunFolder) -> Iterator[tuple[str, str]]:
    """The owner and name of every task, from the first fact of its record."""
    for task in run.tasks():
        first = _first_line(task.record)
        session, key = first.get("session"), first.get("key")
        if isinstance(session, str) and isinstance(key, str):
            yield owner_of(session, key), task.name


def _first_line(path: Path) -> JsonObject:
    try:
        with path.open("rb") as file:
            value = json.loads(file.readline())
    except (OSError, ValueError):  # a task that has only begun has no first fact yet
        return {}
    return value if isinstance(value, dict) else {}
