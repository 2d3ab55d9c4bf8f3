"""What a server answered to a call, as a result: its text, and its bytes beside it.

Bytes never stand in the text: an image as base64 is hundreds of thousands of characters, and twice
that where the structured content mirrors it. Structured content that says no more than the text is
not repeated; what only it says is kept beside the text, to be read by its ref.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress

from contextctl.io.mcp.images import dimensions
from contextctl.io.text.unicode import whole_characters
from contextctl.io.tools.result_text import decoded
from contextctl.model.failure import TOOL
from contextctl.model.message import Json, JsonObject
from contextctl.model.outcome import Attachment, ToolOutcome

_OCTETS = "application/octet-stream"
_SILENT = "error: the tool failed and said nothing"
_JSON = "application/json"
_MOST_COMPARED = 500_000_000  # characters looked through for a value: half a second


def outcome_of_result(raw: Mapping[str, Json]) -> ToolOutcome:
    """The result of one call. Structured content is the result where there is no other.

    Content that is one block or a text, not a list of blocks, is taken as what it means.
    """
    blocks = raw.get("content")
    gathered = _Gathered()
    for block in blocks if isinstance(blocks, list) else [blocks]:
        if isinstance(block, dict):
            gathered.add(block)
        elif isinstance(block, str):
            gathered.text(block)
    gathered.structured(raw.get("structuredContent"))
    failed = raw.get("isError") is True
    return ToolOutcome(
        content=gathered.joined() if gathered.says else _SILENT if failed else "",
        status="error" if failed else "ok",
        attachments=tuple(gathered.attachments),
        failure=TOOL if failed else "",
    )


class _Gathered:
    """The blocks of one result, in their order."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.attachments: list[Attachment] = []
        self._length = 0
        self._given: set[str] = set()

    @property
    def says(self) -> bool:
        """Whether there is anything but blanks."""
        return bool(self.attachments) or any(text.strip() for text in self.texts)

    def structured(self, value: Json) -> None:
        """Structured content: the text where there is none, else kept where it says more."""
        if value is None:
            return
        text = json.dumps(value, ensure_ascii=False)
        if not self.says:
            self.texts, self._length = [], 0
            self.text(text)
        elif not self._is_said(value):
            data = whole_characters(text).encode()
            about = "structured content, not repeated here"
            self.attachments.append(Attachment(_JSON, data, self._length, about))

    def _is_said(self, value: Json) -> bool:
        """Whether the blocks hold it already: as JSON, or every value of it somewhere in them."""
        joined = self.joined()
        given = set(self._given)
        for text in (joined, *self.texts):
            with suppress(ValueError, RecursionError):
                parsed: Json = json.loads(text)
                if parsed == value:
                    return True
                given.update(_values(parsed))
        left = [one for one in dict.fromkeys(_values(value)) if one not in given]
        return len(left) * len(joined) <= _MOST_COMPARED and all(one in joined for one in left)

    def text(self, text: str) -> None:
        whole = whole_characters(text)
        self._length += len(whole) + (1 if self.texts else 0)
        self.texts.append(whole)

    def joined(self) -> str:
        return "\n".join(self.texts)

    def add(self, block: JsonObject) -> None:
        self._given.update(_values(block))
        kind = block.get("type")
        if kind == "text":
            self.text(_str(block.get("text")))
        elif kind in ("image", "audio"):
            self._bytes(block.get("data"), _str(block.get("mimeType")) or f"{kind}/*")
        elif kind == "resource":
            self._resource(block.get("resource"))
        elif kind == "resource_link":
            about = (_str(block.get(key)) for key in ("name", "uri", "mimeType", "description"))
            self.text(f"[resource: {', '.join(part for part in about if part)}]")
        else:
            self.text(json.dumps(block, ensure_ascii=False))

    def _resource(self, resource: Json) -> None:
        if not isinstance(resource, dict):
            return
        uri, media = _str(resource.get("uri")), _str(resource.get("mimeType"))
        if "blob" in resource:
            self._bytes(resource.get("blob"), media or _OCTETS, uri)
        else:
            self.text(f"[resource: {uri}]\n{_str(resource.get('text'))}")

    def _bytes(self, encoded: Json, media: str, name: str = "") -> None:
        try:
            data = base64.b64decode(_str(encoded), validate=False)
        except (binascii.Error, ValueError):
            self.text(f"[{media}: the server sent no valid base64]")
            return
        if media.startswith("text/"):
            self.text(decoded(data))
            return
        size = dimensions(data)
        about = [name] if name else []
        about += [f"{size[0]}x{size[1]}"] if size else []
        self.attachments.append(Attachment(media, data, self._length, ", ".join(about)))


def _values(value: Json) -> Iterator[str]:
    """Every text and number in it, as texts show them; names of fields and booleans say little."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from _values(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _values(inner)
    elif isinstance(value, str):
        yield whole_characters(value)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield json.dumps(value)


def _str(value: Json) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)
