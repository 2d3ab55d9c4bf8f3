"""The folder of a run: where each of its files is, and how a run is found again::

RUN/run.json                   resolved profile, arguments, totals, status
RUN/results.jsonl              one line per finished task
RUN/tasks/<task>/record.jsonl  facts; ledger.jsonl and windows.jsonl stand beside it
RUN/workspace/                 unless the profile puts it elsewhere
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import time
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from contextctl.errors import RecordError, UsageError
from contextctl.io.text.files import write_atomic
from contextctl.io.text.jsonl import JsonLines, read_jsonl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from contextctl.model.message import Json, JsonObject

HOME = ".contextctl"
"""The folder, in the working directory, of runs without ``--out`` and of the last run's address."""

SUB = "sub"
"""In a task's folder, where its subagents are: ``sub/1``, ``sub/2`` …, each like a task's own."""

_BELOW = f"/{SUB}/"
_NAME_BYTES = 100
_UNSAFE = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True)
class RunFolder:
    """One run on disk. Making the value touches nothing; ``create`` and ``open`` do."""

    path: Path

    @classmethod
    def create(cls, out: Path | None, name: str, base: Path, *, resume: bool = False) -> RunFolder:
        """Make the folder of a new run: ``out``, or ``<base>/.contextctl/runs/<time>-<name>``.

        Raises ``UsageError`` when ``out`` already holds a run that is not to be resumed.
        """
        if out is None:
            stamp = time.strftime("%Y%m%d-%H%M%S")
            out = _unused(base / HOME / "runs" / f"{stamp}-{safe_name(name)}")
        run = cls(out)
        if not resume and (run.run_json.exists() or run.results.exists()):
            raise UsageError(
                f"'{out}' already holds a run; add --resume to continue it, or choose another --out"
            )
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot make '{out}': {error.strerror or error}") from error
        _remember(out, base)
        return run

    @classmethod
    def open(cls, name: str, base: Path) -> RunFolder:
        """Find a run by its folder, or the last one by ``latest``.

        Raises ``UsageError`` that says what stands there instead.
        """
        path = _latest(base) if name == "latest" else base / name
        run = cls(path)
        if not path.is_dir():
            raise UsageError(f"no run at '{path}'; name the folder of a run, or 'latest'")
        if not run.run_json.exists() and not run.tasks_folder.is_dir():
            raise UsageError(f"'{path}' is not a run: it holds neither run.json nor tasks/")
        return run

    @property
    def run_json(self) -> Path:
        """``run.json``: what the run was and how it ended."""
        return self.path / "run.json"

    @property
    def results(self) -> Path:
        """``results.jsonl``: one line per finished task."""
        return self.path / "results.jsonl"

    @property
    def workspace(self) -> Path:
        """Where the run's workspace is unless the profile puts it elsewhere."""
        return self.path / "workspace"

    @property
    def tasks_folder(self) -> Path:
        """The folder of all task folders."""
        return self.path / "tasks"

    def task(self, task_id: str) -> TaskFolder:
        """The folder of one task, or of a subagent (``t1/sub/2``); it need not exist."""
        whole = TaskFolder(self.tasks_folder / safe_name(task_id))
        root, *numbers = task_id.split(_BELOW)
        if not numbers or whole.path.exists() or not all(map(str.isdecimal, numbers)):
            return whole
        path = self.tasks_folder / safe_name(root)
        for number in numbers:
            path = path / SUB / number
        return TaskFolder(path)

    def tasks(self) -> tuple[TaskFolder, ...]:
        """The folders of all tasks that have one, by name."""
        if not self.tasks_folder.is_dir():
            return ()
        return tuple(TaskFolder(at) for at in sorted(self.tasks_folder.iterdir()) if at.is_dir())

    def write_run_json(self, value: Mapping[str, Json]) -> None:
        """Write ``run.json`` in one piece. The caller has put ``${VAR}`` in place of secrets."""
        text = json.dumps(value, ensure_ascii=False, indent=2)
        write_atomic(self.run_json, text.encode("utf-8", "backslashreplace") + b"\n")

    def read_run_json(self) -> JsonObject:
        """What ``run.json`` says; raises ``RecordError`` when it is missing or broken."""
        try:
            value = json.loads(self.run_json.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RecordError(f"cannot read '{self.run_json}': {error}") from error
        if not isinstance(value, dict):
            raise RecordError(f"'{self.run_json}' does not hold a JSON object")
        return value

    def read_results(self) -> JsonLines:
        """All result lines, and what is wrong with the others."""
        return read_jsonl(self.results)


@dataclass(frozen=True, slots=True)
class TaskFolder:
    """The files of one task in a run."""

    path: Path

    @property
    def name(self) -> str:
        """The folder's name: the task's id, made safe."""
        return self.path.name

    @property
    def record(self) -> Path:
        """``record.jsonl``: the task's facts."""
        return self.path / "record.jsonl"

    @property
    def ledger(self) -> Path:
        """``ledger.jsonl``: one report per step."""
        return self.path / "ledger.jsonl"

    @property
    def windows(self) -> Path:
        """``windows.jsonl``: the exact window of each step, when asked for."""
        return self.path / "windows.jsonl"

    @property
    def profile(self) -> Path:
        """``profile.json``: what a subagent ran under; a task of the run has none of its own."""
        return self.path / "profile.json"

    def read_profile(self) -> JsonObject | None:
        """The saved profile of a subagent; None for a task of the run. Raises ``RecordError``."""
        try:
            value = json.loads(self.profile.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise RecordError(f"cannot read '{self.profile}': {error}") from error
        return value if isinstance(value, dict) else None

    def subs(self) -> tuple[TaskFolder, ...]:
        """The folders of its subagents, in the order in which they were asked."""
        place = self.path / SUB
        found = [path for path in place.iterdir() if path.is_dir()] if place.is_dir() else []
        numbered = sorted(found, key=lambda path: (len(path.name), path.name))
        return tuple(TaskFolder(path) for path in numbered)

    def read_ledger(self) -> JsonLines:
        """The reports of all steps."""
        return read_jsonl(self.ledger)

    def read_windows(self) -> JsonLines:
        """The windows of all steps; none when the run did not keep them."""
        return read_jsonl(self.windows)


def safe_name(name: str) -> str:
    """``name`` as a file name of letters and digits of any script, ``.-_``, at most 100 bytes.

    A name that had to be changed ends with eight digits of its hash, so different names stay apart.
    """
    normal = unicodedata.normalize("NFC", name)
    safe = _UNSAFE.sub("_", normal).lstrip(".")
    if safe == name and safe and len(safe.encode("utf-8")) <= _NAME_BYTES:
        return safe
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    room = safe.encode("utf-8")[: _NAME_BYTES - 9].decode("utf-8", "ignore").rstrip("._-")
    return f"{room}-{mark}" if room else mark


def _unused(path: Path) -> Path:
    candidate, number = path, 2
    while candidate.exists():
        candidate, number = path.with_name(f"{path.name}-{number}"), number + 1
    return candidate


def _remember(out: Path, base: Path) -> None:
    """Note the last run's address. A folder that cannot be written only makes 'latest' unknown."""
    with contextlib.suppress(OSError):
        home = base / HOME
        home.mkdir(exist_ok=True)
        ignore = home / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
        (home / "latest").write_text(f"{out.absolute()}\n", encoding="utf-8")


def _latest(base: Path) -> Path:
    pointer = base / HOME / "latest"
    if pointer.is_file():
        noted = base / pointer.read_text(encoding="utf-8").strip()
        if noted.is_dir():
            return noted
    runs = base / HOME / "runs"
    found = sorted(runs.iterdir()) if runs.is_dir() else []
    if not found:
        raise UsageError(f"no run found in '{runs}'; name the folder of a run")
    return max(found, key=lambda path: path.stat().st_mtime_ns)
