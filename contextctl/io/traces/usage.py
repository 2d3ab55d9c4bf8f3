"""Token counts as providers and agents report them, in one form.

The traps are in the input count: OpenAI includes cached tokens in it, Anthropic does not, and
agents that sit on both copy one or the other.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from contextctl.model.trace import UsageFact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from contextctl.model.message import Json

_INPUT = ("prompt_tokens", "input_tokens", "input", "inputTokens")
_OUTPUT = ("completion_tokens", "output_tokens", "output", "outputTokens")
_CACHED = ("cache_read_input_tokens", "cacheRead", "cacheReadTokens", "input_tokens_cache_read")
_WRITTEN = (
    "cache_creation_input_tokens",
    "cacheWrite",
    "cacheWriteTokens",
    "input_tokens_cache_write",
)
_TOTAL = ("total_tokens", "totalTokens")
_DETAILS = ("prompt_tokens_details", "input_tokens_details")


def usage_fact(raw: Json, model: Json = "", cost_usd: Json = None) -> UsageFact | None:
    """One usage report, or None. ``prompt_tokens`` then includes cache reads and writes."""
    if not isinstance(raw, dict):
        return None
    prompt, completion = _number(raw, _INPUT), _number(raw, _OUTPUT)
    cached, written = _number(raw, _CACHED), _number(raw, _WRITTEN)
    for key in _DETAILS:
        details = raw.get(key)
        if isinstance(details, dict):
            cached = cached or _number(details, ("cached_tokens",))
    if not _includes_cache(raw, prompt, completion):
        prompt += cached + written
    cost = raw.get("cost") if cost_usd is None else cost_usd
    if isinstance(cost, dict):
        cost = cost.get("total")
    return UsageFact(
        model=str(model or ""),
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=cached,
        cache_write_tokens=written,
        cost_usd=float(cost) if isinstance(cost, (int, float)) else 0.0,
    )


def _includes_cache(raw: Mapping[str, Json], prompt: int, completion: int) -> bool:
    if "prompt_tokens" in raw or any(key in raw for key in _DETAILS):
        return True
    total = _number(raw, _TOTAL)
    return bool(total) and total == prompt + completion


def _number(raw: Mapping[str, Json], keys: tuple[str, ...]) -> int:
    for key in keys:
        value = raw.get(key)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value):
            return int(value)
    return 0
