"""Where runs still hold what was deleted: their records are facts and are never rewritten."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from contextctl.io.runs.folder import HOME

_FILES = ("record*.jsonl", "windows.jsonl")
_PLACES = (f"{HOME}/runs/*", "*")  # runs made without --out, and those beside the working directory


def runs_that_hold(ids: Iterable[str], base: Path) -> list[Path]:
    """The folders of runs at or below ``base`` in whose records one of ``ids`` stands, in order.

    Runs elsewhere are not looked for.
    """
    wanted = [f'"{one}"'.encode() for one in ids]
    found: dict[Path, None] = {}
    for place in _PLACES:
        for run in sorted(base.glob(f"{place}/run.json")):
            if any(_holds(path, wanted) for path in _records(run.parent)):
                found[run.parent] = None
    return [*found]


def _records(run: Path) -> Iterable[Path]:
    return (path for name in _FILES for path in run.glob(f"tasks/**/{name}"))


def _holds(path: Path, wanted: list[bytes]) -> bool:
    try:
        data = path.read_bytes()
    except OSError:
        return False
    return any(one in data for one in wanted)
