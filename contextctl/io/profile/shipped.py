"""Where the schemas and profiles that come with contextctl lie: in the wheel, or in a checkout."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from contextctl.model.message import JsonObject

_PACKAGE = Path(__file__).resolve().parents[2]
SCHEMAS = ("profile", "task", "ledger", "record", "summary", "memories")


def shipped_folder(kind: str) -> Path:
    """The folder of ``kind``: ``schemas`` or ``profiles``."""
    inside = _PACKAGE / kind
    return inside if inside.is_dir() else _PACKAGE.parent / kind


@cache
def schema(name: str) -> JsonObject:
    """The JSON Schema ``name``, one of ``SCHEMAS``. Not to be changed: it is shared."""
    path = shipped_folder("schemas") / f"{name}.schema.json"
    return cast("JsonObject", json.loads(path.read_text(encoding="utf-8")))
