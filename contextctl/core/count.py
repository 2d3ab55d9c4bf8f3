"""Tokens of text, messages and tool arrays; calibration against what a provider reported.

A counter counts *text*; everything else here adds what a chat format adds around it. Counts are in
the counter's own tokens: its ``factor`` is applied once, at the end, by ``scaled`` (so that a
calibration never changes a memoised count).
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING

from contextctl.model.counter import Approx, Counter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from contextctl.model.message import Json, Message, ToolSpec

__all__ = [
    "REPLY_PRIMING",
    "Approx",
    "Counter",
    "calibrate",
    "json_text",
    "message_parts",
    "message_tokens",
    "scaled",
    "scaled_total",
    "tool_tokens",
    "tools_tokens",
]

# OpenAI's cookbook ("How to count tokens with tiktoken", chat models since gpt-3.5-turbo-0613):
# 3 tokens a message, 1 for a name, and every reply is primed with 3.
TOKENS_PER_MESSAGE = 3
TOKENS_PER_NAME = 1
REPLY_PRIMING = 3
# The cookbook's function calling part: 7 tokens open a function, 12 close the list of functions.
# Its schemas are rendered tersely; here their whole JSON is counted, never less than is sent.
TOKENS_PER_TOOL = 7
TOKENS_PER_TOOL_ARRAY = 12
# Framing of one call inside an assistant message. Unpublished; taken as for a tool.
TOKENS_PER_CALL = 7
# A flat estimate for an image. Published sizes: 765 (1024 x 1024) to 1,105 for gpt-4o in high
# detail, at most about 1,600 for Claude (width x height / 750, long side 1,568).
TOKENS_PER_IMAGE = 1_600
# A file or recording inside a part is base64 that no model reads as text. An estimate, and never
# less than an image: a PDF page of about 100 kB takes 1,500 to 3,000 tokens (Anthropic's guide).
_ENCODED_PER_TOKEN = 32
_ENCODED_CHARS = 400
_ENCODED = re.compile(r"[A-Za-z0-9+/_\-\r\n]+={0,2}")

# How far one report may move a factor, and the prompt size at which it counts half: a prompt of a
# few dozen tokens is nearly all framing and says little about the text of later ones.
_RATIO_BOUNDS = (0.5, 2.0)
_FACTOR_BOUNDS = (0.5, 3.0)
_HALF_WEIGHT_TOKENS = 1_000

_NOT_SENT = frozenset({"cache_control"})


def message_parts(message: Message, counter: Counter) -> dict[str, int]:
    """Tokens of one message, split into ``overhead``, ``text`` and ``tool_calls``.

    The sum is never under what is sent: framing per message (OpenAI's numbers), role, names, ids
    and arguments of calls, fields that a provider added (``extra``), and a flat estimate per image.
    """
    overhead = TOKENS_PER_MESSAGE + counter.text(message.role)
    if message.name is not None:
        overhead += TOKENS_PER_NAME + counter.text(message.name)
    if message.tool_call_id is not None:
        overhead += counter.text(message.tool_call_id)
    text = _content(message.content, counter)
    sent = {key: value for key, value in message.extra.items() if key not in _NOT_SENT}
    if sent:
        text += counter.text(json_text(sent))
    calls = 0
    for call in message.tool_calls:
        calls += TOKENS_PER_CALL + counter.text(call.id)
        calls += counter.text(call.name) + counter.text(call.arguments)
    return {"overhead": overhead, "text": text, "tool_calls": calls}


def message_tokens(message: Message, counter: Counter) -> int:
    """Tokens of one message: the sum of its ``message_parts``."""
    return sum(message_parts(message, counter).values())


def tools_tokens(tools: Sequence[ToolSpec], counter: Counter) -> int:
    """Tokens of a tool array: the compact JSON of every tool, and the framing around them."""
    if not tools:
        return 0
    return TOKENS_PER_TOOL_ARRAY + sum(tool_tokens(tool, counter) for tool in tools)


def tool_tokens(tool: ToolSpec, counter: Counter) -> int:
    """Tokens that one tool adds to a tool array, its JSON spaced as some clients send it."""
    spaced = json.dumps(tool.to_openai(), ensure_ascii=False)
    return TOKENS_PER_TOOL + counter.text(spaced)


def json_text(value: object) -> str:
    """Compact JSON with the characters themselves, keys in the order they have."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def calibrate(factor: float, ours: int, reported: int) -> float:
    """The factor for later counts, after a provider reported ``reported`` prompt tokens.

    ``ours`` is what we said for the same window, ``factor`` included. The report moves the factor
    by the ratio of the two, weighted by the size of the prompt; a report that cannot belong to
    this window (nothing, or out by more than half to double) moves it no further than that.
    """
    if ours <= 0 or reported <= 0:
        return factor
    ratio = _clamped(reported / ours, _RATIO_BOUNDS)
    weight = ours / (ours + _HALF_WEIGHT_TOKENS)
    return round(_clamped(factor * (1 + weight * (ratio - 1)), _FACTOR_BOUNDS), 6)


def scaled(counts: Mapping[str, int], factor: float) -> dict[str, int]:
    """Counts times ``factor`` in whole tokens, whose sum is exactly the rounded-up scaled total.

    Largest remainder: everything is rounded down, and the tokens still missing go to the counts
    that lost most (the earlier key first).
    """
    if factor == 1.0:
        return dict(counts)
    exact = {key: count * factor for key, count in counts.items()}
    out = {key: math.floor(value + 1e-9) for key, value in exact.items()}
    missing = scaled_total(sum(counts.values()), factor) - sum(out.values())
    by_loss = sorted(out, key=lambda key: out[key] - exact[key])
    for key in by_loss[:missing]:
        out[key] += 1
    return out


def scaled_total(count: int, factor: float) -> int:
    """``count`` times ``factor``, rounded up."""
    return count if factor == 1.0 else math.ceil(count * factor - 1e-9)


def _content(content: str | Iterable[Json] | None, counter: Counter) -> int:
    if content is None:
        return 0
    if isinstance(content, str):
        return counter.text(content)
    return sum(_part(part, counter) for part in content)


def _part(part: Json, counter: Counter) -> int:
    if isinstance(part, str):
        return counter.text(part)
    if not isinstance(part, dict):
        return counter.text(json_text(part))
    kind, text = part.get("type"), part.get("text")
    if kind in {"image", "image_url", "input_image"}:
        return TOKENS_PER_IMAGE
    if isinstance(text, str) and part.keys() <= {"type", "text", "cache_control"}:
        return counter.text(text)
    encoded: list[int] = []
    sent = {k: _unencoded(v, encoded) for k, v in part.items() if k not in _NOT_SENT}
    media = max(TOKENS_PER_IMAGE, sum(encoded) // _ENCODED_PER_TOKEN) if encoded else 0
    return media + counter.text(json_text(sent))


def _unencoded(value: Json, encoded: list[int]) -> Json:
    """``value`` without the base64 of a file or recording; its lengths go into ``encoded``."""
    if isinstance(value, dict):
        return {key: _unencoded(item, encoded) for key, item in value.items()}
    if not isinstance(value, str) or len(value) < _ENCODED_CHARS:
        return value
    if not value.startswith("data:") and _ENCODED.fullmatch(value) is None:
        return value
    encoded.append(len(value))
    return ""


def _clamped(value: float, bounds: tuple[float, float]) -> float:
    low, high = bounds
    return min(max(value, low), high)
