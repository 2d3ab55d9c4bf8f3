"""Cassettes of VCR: recorded HTTP requests and responses in YAML, of the providers we know."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import TYPE_CHECKING

from contextctl.errors import UsageError
from contextctl.io.traces.draft import as_object
from contextctl.io.traces.exchanges import Conversation, join

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contextctl.io.traces.source import Source
    from contextctl.model.message import JsonObject
    from contextctl.model.trace import Trace

NAME = "cassette"


def recognises(source: Source) -> bool:
    """Whether the text is YAML that starts with recorded requests or interactions."""
    return source.text.lstrip().startswith(("requests:", "interactions:"))


def read(source: Source) -> Iterator[Trace]:
    """Every conversation that was held through the recorded calls."""
    joined: list[Conversation] = []
    for index, (request, response) in enumerate(_pairs(source), 1):
        body = _json(request.get("body"))
        if not body:
            source.warn(1, f"skipped request {index}: its body is not JSON")
            continue
        join(joined, "", body, _reply(response), source, 1, NAME)
    for conversation in joined:
        yield conversation.draft.trace()


def _pairs(source: Source) -> list[tuple[dict[str, object], dict[str, object]]]:
    import yaml  # only cassettes need it

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        # A safe loader: tags other than the standard ones are an error, not code.
        tape = yaml.load(source.read_text(), Loader=loader)  # noqa: S506
    except yaml.YAMLError as error:
        raise UsageError(f"'{source.path}' is no cassette, its YAML is broken: {error}") from None
    if not isinstance(tape, dict):
        return []
    rows = tape.get("interactions")
    if isinstance(rows, list):
        known = [row for row in rows if isinstance(row, dict)]
        return [(_mapping(row.get("request")), _mapping(row.get("response"))) for row in known]
    requests, responses = tape.get("requests"), tape.get("responses")
    if not isinstance(requests, list) or not isinstance(responses, list):
        return []
    pairs = zip(requests, responses, strict=False)
    return [(_mapping(request), _mapping(response)) for request, response in pairs]


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _reply(response: dict[str, object]) -> JsonObject:
    body = response.get("body")
    text = _text(body.get("string") if isinstance(body, dict) else body)
    if text.lstrip().startswith(("event:", "data:")):
        return {"sse": text}
    return _json(text)


def _json(body: object) -> JsonObject:
    try:
        return as_object(json.loads(_text(body)))
    except ValueError:
        return {}


def _text(body: object) -> str:
    if isinstance(body, dict):
        body = body.get("string")
    if isinstance(body, bytes):
        if body.startswith(b"\x1f\x8b"):
            body = _unpacked(body)
        return body.decode("utf-8", "replace")
    return body if isinstance(body, str) else ""


def _unpacked(body: bytes) -> bytes:
    try:
        return gzip.decompress(body)
    except (OSError, EOFError, zlib.error):
        return b""  # a cassette that was cut: the request without its answer
