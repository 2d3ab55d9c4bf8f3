"""litellm's map of models, read from its file without importing litellm (which takes seconds)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

from contextctl.errors import OutsideError
from contextctl.model.prices import ModelFacts, facts_from_map

if TYPE_CHECKING:
    from contextctl.model.message import Json, JsonObject

_FILE = "model_prices_and_context_window_backup.json"


def model_facts(name: str) -> ModelFacts:
    """What the map says of a litellm model string; ``known`` is False when it has no entry.

    ``openai/gpt-4o`` and ``gpt-4o`` are the same model; an entry of another provider is not taken
    for it, since limits and prices differ.
    """
    models = _model_map()
    for key, provider in _keys(name):
        entry = models.get(key)
        if isinstance(entry, Mapping) and _of_provider(entry, provider):
            return facts_from_map(name, entry)
    return ModelFacts(name)


def model_names() -> tuple[str, ...]:
    """Every name in the map that has an input limit, in its order."""
    return tuple(
        name
        for name, entry in _model_map().items()
        if isinstance(entry, Mapping) and facts_from_map(name, entry).window
    )


def entries() -> JsonObject:
    """The whole map, by name. It must not be changed."""
    return _model_map()


def _keys(name: str) -> Iterator[tuple[str, str]]:
    """Keys to look under, and the provider an entry found there must be of (empty: any)."""
    yield name, ""
    provider, slash, rest = name.partition("/")
    if slash:
        rest = rest.removeprefix("responses/")
        yield f"{provider}/{rest}", ""
        yield rest, provider


def _of_provider(entry: Mapping[str, Json], provider: str) -> bool:
    return str(entry.get("litellm_provider") or "").startswith(provider)


@lru_cache(maxsize=1)
def _model_map() -> JsonObject:
    spec = find_spec("litellm")
    if spec is None or not spec.submodule_search_locations:
        raise OutsideError(
            "litellm is not installed, so limits and prices are unknown: pip install litellm"
        )
    path = Path(spec.submodule_search_locations[0]) / _FILE
    try:
        models = cast("JsonObject", json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise OutsideError(f"cannot read litellm's model map '{path.name}': {error}") from None
    models.pop("sample_spec", None)
    return models
