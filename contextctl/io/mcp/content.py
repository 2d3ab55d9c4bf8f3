"""What a server answered to a call, as a result: its text, and its bytes beside it.

Bytes never stand in the text: an image as base64 is hundreds of thousands of characters, and twice
that where the structured content mirrors it.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping

from contextctl.io.mcp.images import dimensions
from contextctl.io.text.unicode import whole_characters
from contextctl.io.tools.result_text import decoded
from contextctl.model.failure import TOOL
from contextctl.model.message import Json, JsonObject
from contextctl.model.outcome import Attachment, ToolOutcome

_OCTETS = "application/octet-stream"


def outcome_of_result(raw: Mapping[str, Json]) -> ToolOutcome:
    """The result of one call. Structured content counts only where there is no other."""
    blocks = raw.get("content")
    gathered = _Gathered()
    for block in blocks if isinstance(blocks, list) else []:
        if isinstance(block, dict):
            gathered.add(block)
    structured = raw.get("structuredContent")
    if structured is not None and not gathered.texts and not gathered.attachments:
        gathered.text(json.dumps(structured, ensure_ascii=False))
    failed = raw.get("isError") is True
    return ToolOutcome(
        content=gathered.joined() or ("error: the tool failed and said nothing" if failed else ""),
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

    def text(self, text: str) -> None:
        whole = whole_characters(text)
        self._length += len(whole) + (1 if self.texts else 0)
        self.texts.append(whole)

    def joined(self) -> str:
        return "\n".join(self.texts)

    def add(self, block: JsonObject) -> None:
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


def _str(value: Json) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)
