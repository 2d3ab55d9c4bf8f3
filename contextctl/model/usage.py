"""What a provider says it counted, read into one form whatever its style.

``prompt_tokens`` of the result is everything the model read: uncached, cached and cache-written
tokens, each exactly once. Only then does ``prompt + completion`` say how full the window was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from contextctl.model.trace import UsageFact

if TYPE_CHECKING:
    from contextctl.model.message import Json


def usage_from_provider(
    raw: Mapping[str, Json], model: str = "", cost_usd: float = 0.0
) -> UsageFact:
    """Read a usage object of OpenAI chat, OpenAI responses, litellm, Anthropic or DeepSeek style.

    Anthropic's own ``input_tokens`` leaves the cache out; every other style counts it in. A count
    below its own cached part cannot include it, so the cached part is then added. Absent, null and
    negative numbers are 0.
    """
    details = _details(raw)
    cached = (
        _tokens(details, "cached_tokens")
        or _tokens(raw, "cache_read_input_tokens")
        or _tokens(raw, "prompt_cache_hit_tokens")
    )
    written = (
        _tokens(details, "cache_creation_tokens")
        or _tokens(details, "cache_write_tokens")
        or _tokens(raw, "cache_creation_input_tokens")
    )
    prompt = _tokens(raw, "prompt_tokens") or _tokens(raw, "input_tokens")
    anthropic = "prompt_tokens" not in raw and "input_tokens_details" not in raw
    if anthropic or prompt < cached + written:
        prompt += cached + written
    return UsageFact(
        model=model,
        prompt_tokens=prompt,
        completion_tokens=_tokens(raw, "completion_tokens") or _tokens(raw, "output_tokens"),
        cached_tokens=cached,
        cache_write_tokens=written,
        cost_usd=cost_usd,
    )


def tokens_in_use(usage: UsageFact) -> int:
    """How full the window is after this answer: what was read and what was written."""
    return usage.prompt_tokens + usage.completion_tokens


def _details(raw: Mapping[str, Json]) -> Mapping[str, Json]:
    for key in ("prompt_tokens_details", "input_tokens_details"):
        details = raw.get(key)
        if isinstance(details, Mapping):
            return details
    return {}


def _tokens(source: Mapping[str, Json], key: str) -> int:
    value = source.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return max(0, int(value))
