"""What is known of a model: its limits, its prices, how it caches a prefix."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from contextctl.model.message import Json
    from contextctl.model.trace import UsageFact

# Providers that cache a prefix only where a mark says so. All others cache by themselves or not at
# all, and Gemini's marks would create a cache object that is billed by the hour.
_MARKING_PROVIDERS = frozenset(
    {
        "anthropic",
        "bedrock",
        "bedrock_converse",
        "vertex_ai-anthropic_models",
        "azure_ai",
        "databricks",
    }
)
# litellm's default where its map names no minimum for a model.
_DEFAULT_MINIMUM = 1024


@dataclass(frozen=True, slots=True)
class Prices:
    """USD for one token. Above ``above`` prompt tokens the whole request is priced by ``then``."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0
    above: int | None = None
    then: Prices | None = None


@dataclass(frozen=True, slots=True)
class CacheRule:
    """Where cache marks may stand: at most ``limit``, none below ``min_tokens`` of prefix."""

    min_tokens: int = _DEFAULT_MINIMUM
    limit: int = 4


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What litellm's map says of a model. ``known`` is False when it has no entry for it.

    ``window`` is the *input* limit in tokens, ``output_limit`` the most it writes; None: not said.
    ``prices`` is None when they are unknown; ``cache`` when the model takes no cache marks.
    """

    name: str
    known: bool = False
    window: int | None = None
    output_limit: int | None = None
    prices: Prices | None = None
    cache: CacheRule | None = None


def facts_from_map(name: str, entry: Mapping[str, Json]) -> ModelFacts:
    """Read one entry of litellm's model map."""
    return ModelFacts(
        name=name,
        known=True,
        window=_whole(entry.get("max_input_tokens")) or _whole(entry.get("max_tokens")),
        output_limit=_whole(entry.get("max_output_tokens")),
        prices=_prices(entry),
        cache=_cache_rule(name, entry),
    )


def cost_usd(prices: Prices | None, usage: UsageFact) -> float:
    """What a request cost: uncached, cached, cache-written and written tokens, each at its price.

    0.0 when the prices are unknown; the caller says so.
    """
    if prices is None:
        return 0.0
    if prices.then is not None and prices.above is not None and usage.prompt_tokens > prices.above:
        prices = prices.then
    uncached = max(0, usage.prompt_tokens - usage.cached_tokens - usage.cache_write_tokens)
    return (
        uncached * prices.input
        + usage.cached_tokens * prices.cache_read
        + usage.cache_write_tokens * prices.cache_write
        + usage.completion_tokens * prices.output
    )


def _prices(entry: Mapping[str, Json]) -> Prices | None:
    base = _price_row(entry)
    if base is None:
        return None
    prefix, suffix = "input_cost_per_token_above_", "k_tokens"
    tiers = [key.removeprefix(prefix) for key in entry if key.startswith(prefix)]
    limits = [tier.removesuffix(suffix) for tier in tiers if tier.endswith(suffix)]
    above = min((int(limit) for limit in limits if limit.isdecimal()), default=None)
    if above is None:
        return base
    then = _price_row(entry, f"_above_{above}k_tokens")
    return replace(base, above=above * 1000, then=then)


def _price_row(entry: Mapping[str, Json], tier: str = "") -> Prices | None:
    """The prices of one tier. What a tier does not name costs the same as below it; a cache price
    that is named nowhere is the input price of the tier."""

    def price(key: str, otherwise: float) -> float:
        own = _number(entry.get(key + tier))
        below = _number(entry.get(key))
        return own if own is not None else below if below is not None else otherwise

    paid = _number(entry.get(f"input_cost_per_token{tier}"))
    if paid is None:
        return None
    return Prices(
        input=paid,
        output=price("output_cost_per_token", 0.0),
        cache_read=price("cache_read_input_token_cost", paid),
        cache_write=price("cache_creation_input_token_cost", paid),
    )


def _cache_rule(name: str, entry: Mapping[str, Json]) -> CacheRule | None:
    provider = str(entry.get("litellm_provider") or "")
    claude = provider == "anthropic" or "claude" in name.lower()
    marks = provider in _MARKING_PROVIDERS or provider == "openrouter"
    if not (claude and marks and entry.get("supports_prompt_caching")):
        return None
    return CacheRule(min_tokens=_whole(entry.get("prompt_cache_min_tokens")) or _DEFAULT_MINIMUM)


def _whole(value: Json) -> int | None:
    number = _number(value)
    return None if number is None or number < 1 else int(number)


def _number(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return float(value)
    except ValueError:
        return None
