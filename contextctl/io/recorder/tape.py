"""The file a recorder appends to: one model call a line, only what is new in it, no secrets.

An agent sends its whole history with every call; written whole, a run of n calls would take n²
room. So a line names the conversation it continues and how many items of it are kept (``keep``).
Nothing here raises into the call that is recorded: a failure is logged once and counted.
"""

from __future__ import annotations

import json
import logging
import os
import re
import threading
import time
import uuid
from collections import OrderedDict
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from contextctl.io.traces.draft import as_object

if TYPE_CHECKING:
    from collections.abc import Mapping

    from contextctl.model.message import Json, JsonObject

_LOG = logging.getLogger("contextctl.recorder")
_FORMAT = 1
_MAX_OPEN = 256
_KEPT = frozenset(
    (
        *("model", "messages", "input", "system", "instructions", "previous_response_id"),
        *("tools", "functions", "tool_choice", "parallel_tool_calls", "mcp_servers"),
        *("temperature", "top_p", "top_k", "n", "seed", "stop", "stop_sequences", "stream"),
        *("max_tokens", "max_completion_tokens", "max_output_tokens", "response_format", "text"),
        *("reasoning", "reasoning_effort", "thinking", "context_management"),
    )
)
_ONCE = ("tools", "functions", "system", "instructions", "mcp_servers", "response_format")
_SECRET_KEY = re.compile(r"(?i)authorization|api[-_]?key|token$|secret|password|cookie")
# Keys by their shape: OpenAI, Anthropic, GitHub, AWS, Slack, Google, Hugging Face, bearer headers.
_SECRET_TEXT = re.compile(
    r"\b(?:sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{30,}|AKIA[0-9A-Z]{16}"
    r"|xox[abprs]-[A-Za-z0-9-]{10,}|AIza[0-9A-Za-z_-]{30,}|hf_[A-Za-z0-9]{30,})"
    r"|(?<=Bearer )[A-Za-z0-9._~+/-]{16,}=*"
)
MASK = "***"


@dataclass(slots=True)
class _Conversation:
    """What one conversation has sent: digests of its items, and of what is written once."""

    good: list[bytes] = field(default_factory=list)
    tried: list[bytes] = field(default_factory=list)
    once: dict[str, bytes] = field(default_factory=dict)
    head: bytes = b""


class Tape:
    """An append-only trace file. Safe for many threads; many processes may share the file.

    Values of environment variables that are named like secrets never reach the file, nor what
    ``hide`` was told. ``failures`` counts calls that could not be written.
    """

    def __init__(self, path: str | os.PathLike[str], *, trace: str = "") -> None:
        self.path = Path(path)
        self.failures = 0
        self._name = trace or f"t-{uuid.uuid4().hex[:8]}"
        self._secrets: set[str] = set()
        for name, value in os.environ.items():
            # Short values of such variables are settings ("false", "enabled"), not secrets.
            if _SECRET_KEY.search(name) and len(value) >= 12:
                self.hide(value)
        self._open: OrderedDict[str, _Conversation] = OrderedDict()
        self._count = 0
        self._lock = threading.Lock()

    def hide(self, secret: str | None) -> None:
        """Keep a value out of the file from now on; a short one is left, it would mask words."""
        if secret and len(secret) >= 8:
            self._secrets.add(secret)

    def snapshot(self, request: Mapping[str, object]) -> JsonObject:
        """What is recorded of a request, as it is now: callers change their lists. Never raises."""
        try:
            kept = {key: request[key] for key in request if key in _KEPT}
            return as_object(_masked(json.loads(_dumps(kept))))
        except Exception:  # noqa: BLE001  # recording must never break the call it records
            self.failed()
            return {}

    def write(
        self,
        api: str,
        request: JsonObject,
        response: object,
        *,
        error: str = "",
        seconds: float = 0.0,
    ) -> None:
        """Append one call. Never raises.

        ``api`` is ``openai``, ``responses`` or ``anthropic``; ``request`` comes from ``snapshot``;
        ``response`` is a body, an object of an SDK, or None when the call failed with ``error``.
        """
        try:
            self._write(api, request, response, error, seconds)
        except Exception:  # noqa: BLE001  # recording must never break the call it records
            self.failed()

    def failed(self) -> None:
        """Count a call that could not be recorded; the first is logged with its reason."""
        self.failures += 1
        if self.failures == 1:
            _LOG.warning("a model call could not be recorded to %s", self.path, exc_info=True)

    def _write(
        self, api: str, request: JsonObject, response: object, error: str, seconds: float
    ) -> None:
        body = {key: value for key, value in request.items() if value is not None}
        key = "input" if api == "responses" else "messages"
        raw = body.get(key)
        items: list[Json] = raw if isinstance(raw, list) else [] if raw is None else [raw]
        digests = [_digest(item) for item in items]
        head = _digest([body.get("system"), body.get("instructions")])
        with self._lock:
            name, conversation = self._continued(digests, head)
            keep = len(conversation.good)
            once = {part: _digest(body[part]) for part in _ONCE if part in body}
            for part, digest in once.items():
                if conversation.once.get(part) == digest:
                    del body[part]
            if isinstance(raw, list):
                body[key] = items[keep:]
            line: JsonObject = {"contextctl_call": _FORMAT, "trace": name, "keep": keep, "api": api}
            line["at"], line["seconds"] = round(time.time(), 3), round(seconds, 3)
            line["request"] = {**body}
            if response is not None:
                line["response"] = json.loads(_dumps(response))
            if error:
                line["error"] = error[:2000]
            self._append(self._hidden(_dumps(line)))
            conversation.tried, conversation.head = digests, head
            conversation.once |= once
            if not error:
                conversation.good = digests

    def _continued(self, digests: list[bytes], head: bytes) -> tuple[str, _Conversation]:
        """The newest conversation that this request repeats, or a new one."""
        for name in reversed(self._open):
            known = self._open[name]
            grown = len(digests) > len(known.tried)
            retried = len(digests) == len(known.tried) and known.tried != known.good
            same = known.head == head and digests[: len(known.tried)] == known.tried
            if same and (grown or retried) and known.tried:
                self._open.move_to_end(name)
                return name, known
        self._count += 1
        name = self._name if self._count == 1 else f"{self._name}-{self._count}"
        self._open[name] = _Conversation()
        if len(self._open) > _MAX_OPEN:
            self._open.popitem(last=False)
        return name, self._open[name]

    def _hidden(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, MASK).replace(json.dumps(secret)[1:-1], MASK)
        return _SECRET_TEXT.sub(MASK, text)

    def _append(self, line: str) -> None:
        """One write of one whole line, after a newline of its own if a torn line is before it."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.path, flags, 0o600)
        try:
            end = os.lseek(handle, 0, os.SEEK_END)
            if end:
                os.lseek(handle, -1, os.SEEK_END)
            torn = end > 0 and os.read(handle, 1) != b"\n"
            data = ("\n" if torn else "") + line + "\n"
            os.write(handle, data.encode("utf-8", "replace"))
        finally:
            os.close(handle)


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: object) -> object:
    """Objects of the SDKs as the dicts they stand for."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(exclude_none=True)
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    return str(value)


def _digest(value: Json) -> bytes:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()


def _masked(value: Json) -> Json:
    """Values under keys such as ``authorization`` or ``headers`` are masked, schemas are left."""
    if isinstance(value, list):
        return [_masked(item) for item in value]
    if not isinstance(value, dict):
        return value
    out: JsonObject = {}
    for key, item in value.items():
        if key == "headers" and isinstance(item, dict):
            out[key] = dict.fromkeys(item, MASK)
        elif isinstance(item, str) and _SECRET_KEY.search(key):
            out[key] = MASK
        else:
            out[key] = _masked(item)
    return out
