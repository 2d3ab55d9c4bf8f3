"""The content inside a wrapper: what a tool said, not how its answer was printed.

MCP answers reach a trace as JSON (``{"content": [{"type": "text", …}]}``) or as Python's printing
of the SDK's objects (``meta=None content=[TextContent(type='text', text='…')]``), with the text
escaped inside. The model should read the text.
"""

from __future__ import annotations

import ast
import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_PRINTED = re.compile(
    r"\A\s*(?:_?meta=(?:None|\{\}) )?content=(?P<parts>\[.*\])"
    r"(?: structuredContent=.*?)? isError=(?P<error>True|False)\s*\Z",
    re.DOTALL,
)
_ENVELOPE = frozenset({"content", "isError", "is_error", "structuredContent", "_meta", "meta"})
_MAX_PRINTED = 4_000_000


def unwrapped(raw: str) -> str:
    """The text inside an MCP answer, else ``raw``; an error is marked as one in the first line."""
    start = raw[:64].lstrip()
    try:
        if start.startswith(("meta=", "_meta=", "content=[")):
            return _printed(raw)
        if start.startswith("{") and '"content"' in raw:
            return _envelope(raw)
        if start.startswith("[") and '"type"' in raw[:2_000]:
            return _parts_of(json.loads(raw)) or raw
    except (ValueError, RecursionError, SyntaxError, MemoryError):
        pass
    return raw


def _printed(raw: str) -> str:
    found = _PRINTED.match(raw) if len(raw) <= _MAX_PRINTED else None
    if found is None:
        return raw
    listed = ast.parse(found["parts"], mode="eval").body
    if not isinstance(listed, ast.List):
        return raw
    texts = []
    for part in listed.elts:
        if not isinstance(part, ast.Call):
            return raw
        values = {
            keyword.arg: keyword.value.value
            for keyword in part.keywords
            if isinstance(keyword.value, ast.Constant)
        }
        shown = _shown(values)
        if shown is None:
            return raw
        texts.append(shown)
    return _marked("\n".join(texts), error=found["error"] == "True")


def _envelope(raw: str) -> str:
    root = json.loads(raw)
    if not isinstance(root, dict) or not root.keys() <= _ENVELOPE:
        return raw
    text = _parts_of(root.get("content"))
    if text is None:
        return raw
    return _marked(text, error=bool(root.get("isError") or root.get("is_error")))


def _parts_of(parts: object) -> str | None:
    """The texts of a list of content parts; None when it is anything else."""
    if not isinstance(parts, list) or not parts:
        return None
    texts = []
    for part in parts:
        if not isinstance(part, dict) or not part.keys() <= {
            "type", "text", "data", "mimeType", "annotations", "_meta", "meta",
        }:  # fmt: skip
            return None
        shown = _shown(part)
        if shown is None:
            return None
        texts.append(shown)
    return "\n".join(texts)


def _shown(part: Mapping[Any, object]) -> str | None:
    text, kind = part.get("text"), part.get("type")
    if kind == "text" and isinstance(text, str):
        return text
    data = part.get("data")
    if kind in {"image", "audio"} and isinstance(data, str):
        return f"[{part.get('mimeType') or kind}, {len(data)} characters, not shown]"
    return None


def _marked(text: str, *, error: bool) -> str:
    return f"Error: {text}" if error and "error" not in text[:200].lower() else text
