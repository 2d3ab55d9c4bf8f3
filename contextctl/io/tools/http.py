"""Tools behind HTTP: one request a call, whatever comes back as text."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from urllib.parse import quote

from contextctl.io.tools.bounded import Kept
from contextctl.io.tools.result_text import outcome_of_bytes
from contextctl.model.failure import ENVIRONMENT
from contextctl.model.message import Json, JsonObject
from contextctl.model.outcome import ToolOutcome
from contextctl.model.tool_rules import HttpCall

_PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")
_IN_QUERY = frozenset({"GET", "DELETE", "HEAD"})


def url_parameters(call: HttpCall) -> JsonObject:
    """The schema of a tool that declares none: each ``{name}`` in the URL is a required text."""
    names = list(dict.fromkeys(_PLACEHOLDER.findall(call.url)))
    properties: JsonObject = {name: {"type": "string"} for name in names}
    schema: JsonObject = {"type": "object", "properties": properties}
    return {**schema, "required": [*names]} if names else schema


def call_http(call: HttpCall, arguments: Mapping[str, Json], timeout_s: float) -> ToolOutcome:
    """Ask the server. A failed request or a status of 400 and more is an error result.

    Arguments named in the URL are put there, percent-encoded; the others are the query of a GET,
    DELETE or HEAD, else the JSON body. Redirects are reported, not followed: the profile names the
    servers that are talked to.
    """
    import httpx  # only HTTP tools pay for it

    method = call.method.upper()
    in_url = {name for name in _PLACEHOLDER.findall(call.url) if name in arguments}
    url = _PLACEHOLDER.sub(lambda found: _in_url(found, arguments), call.url)
    rest = {key: value for key, value in arguments.items() if key not in in_url}
    query = {key: _plain(value) for key, value in rest.items()} if method in _IN_QUERY else None
    body = None if method in _IN_QUERY else json.dumps(rest, ensure_ascii=False).encode("utf-8")
    headers = dict(call.headers)
    if body is not None and not any(key.lower() == "content-type" for key in headers):
        headers["content-type"] = "application/json"
    kept = Kept()
    late = f"error: no answer within {timeout_s:g} s"
    deadline = time.monotonic() + timeout_s
    try:
        with (
            httpx.Client(timeout=timeout_s, follow_redirects=False) as client,
            client.stream(method, url, params=query or None, content=body, headers=headers) as got,
        ):
            for chunk in got.iter_bytes():
                kept.add(chunk)
                if time.monotonic() > deadline:  # each read is in time, the answer never ends
                    return _failed(late.replace("no answer", "no whole answer"))
            status, reply_headers, charset = got.status_code, got.headers, got.charset_encoding
    except httpx.TimeoutException:
        return _failed(late)
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
        return _failed(f"error: {type(error).__name__}: {error}")
    media = str(reply_headers.get("content-type") or "").partition(";")[0].strip().lower()
    outcome = outcome_of_bytes(kept.joined(), media, charset or "")
    return _with_status(outcome, status, str(reply_headers.get("location") or ""))


def _failed(text: str) -> ToolOutcome:
    return ToolOutcome(text, status="error", failure=ENVIRONMENT)


def _with_status(outcome: ToolOutcome, status: int, location: str) -> ToolOutcome:
    extra: dict[str, Json] = {"http_status": status}
    if status < 300:
        return ToolOutcome(outcome.content, "ok", outcome.media, outcome.data, extra)
    line = f"[HTTP {status}]" if not location else f"[HTTP {status}, redirects to {location}]"
    text = f"{line}\n{outcome.content}" if outcome.content.strip() else line
    return ToolOutcome(text, "error", extra=extra)


def _in_url(found: re.Match[str], arguments: Mapping[str, Json]) -> str:
    value = arguments.get(found[1])
    return found[0] if value is None else quote(str(_plain(value)), safe="")


def _plain(value: Json) -> str | int | float:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
