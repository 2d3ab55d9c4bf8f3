"""Snapshots of summaries that models wrote: one small JSON file at a stable address each.

They are a cache. Deleting any of them, or the folder, at any time only means that a model is asked
again; one that cannot be read is as good as none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from contextctl.errors import StoreError
from contextctl.io.text.files import write_atomic
from contextctl.model.message import JsonObject

FOLDER = "snapshots"


@dataclass(frozen=True, slots=True)
class Snapshots:
    """The snapshots in ``folder``. ``secrets`` are values that stand in no file."""

    folder: Path
    secrets: tuple[str, ...] = ()

    def get(self, address: str) -> JsonObject | None:
        """What stands at ``address``; None when there is nothing that can be read."""
        try:
            value = json.loads(self._path(address).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return value if isinstance(value, dict) else None

    def put(self, address: str, value: JsonObject) -> None:
        """Keep ``value``. What cannot be written, or holds a secret, is not kept."""
        text = json.dumps(value, ensure_ascii=False, indent=1)
        if _holds(text, self.secrets):
            return
        try:
            write_atomic(self._path(address), text.encode("utf-8", "backslashreplace") + b"\n")
        except StoreError:
            return  # a full or read-only disk costs a question to a model, not the run

    def _path(self, address: str) -> Path:
        return self.folder / address[:2] / f"{address}.json"


def _holds(text: str, secrets: Iterable[str]) -> bool:
    return any(json.dumps(secret, ensure_ascii=False)[1:-1] in text for secret in secrets if secret)
