"""The structured summary that a compaction leaves in place of older messages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from contextctl.model.message import Json, JsonObject

LISTS = ("done", "findings", "open_questions", "negatives")


@dataclass(frozen=True, slots=True)
class Summary:
    """What older messages amounted to; the fields are those of ``schemas/summary.schema.json``.

    ``done`` is what was carried out, ``findings`` what it brought (with the step or citation it
    comes from), ``open_questions`` what is not settled, ``negatives`` what the user refused and
    what was tried or considered and ruled out, ``entities`` names and their values.
    """

    done: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    open_questions: tuple[str, ...] = ()
    negatives: tuple[str, ...] = ()
    entities: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing at all."""
        return not (any(getattr(self, name) for name in LISTS) or self.entities)

    def to_json(self) -> JsonObject:
        """The summary as JSON, all five fields present."""
        out: JsonObject = {name: list(getattr(self, name)) for name in LISTS}
        out["entities"] = dict(self.entities)
        return out


def summary_from_json(raw: Json) -> Summary:
    """Read a summary, dropping empty items and surrounding white space.

    Raises ``ValueError`` that names the first field at fault, and for a summary that says nothing.
    """
    if not isinstance(raw, dict):
        raise ValueError(f"a summary must be a JSON object, got {type(raw).__name__}")
    unknown = sorted(raw.keys() - {*LISTS, "entities"})
    if unknown:
        raise ValueError(f"unknown field {unknown[0]!r}; a summary has {_names()}")
    lists = {name: _texts(raw, name) for name in LISTS}
    summary = Summary(**lists, entities=_entities(raw))
    if summary.is_empty:
        raise ValueError("the summary is empty")
    return summary


def summary_from_text(text: str) -> Summary:
    """Read a summary out of a model's answer: JSON alone, or JSON in a fenced block.

    Raises ``ValueError`` like ``summary_from_json``.
    """
    clean = text.strip()
    if clean.startswith("```"):
        clean = clean.strip("`").removeprefix("json").strip()
    try:
        raw = json.loads(clean)
    except (ValueError, RecursionError):
        raise ValueError("the answer is not JSON") from None
    return summary_from_json(raw)


def merged(parts: Sequence[Summary]) -> Summary:
    """Summaries of parts, in order, side by side; a later value of a name replaces an earlier."""
    lists = {
        name: tuple(dict.fromkeys(item for part in parts for item in getattr(part, name)))
        for name in LISTS
    }
    entities = {key: text for part in parts for key, text in part.entities.items()}
    return Summary(**lists, entities=entities)


def _names() -> str:
    return ", ".join((*LISTS, "entities"))


def _texts(raw: Mapping[str, Json], name: str) -> tuple[str, ...]:
    value = raw.get(name)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"{name!r} must be a list of texts")
    clean = (" ".join(str(item).split()) for item in value)
    return tuple(dict.fromkeys(item for item in clean if item))


def _entities(raw: Mapping[str, Json]) -> dict[str, str]:
    value = raw.get("entities")
    if not isinstance(value, dict):
        raise ValueError("'entities' must be an object of names and values")
    out: dict[str, str] = {}
    for name, item in value.items():
        if not isinstance(item, (str, int, float)) or isinstance(item, bool):
            raise ValueError(f"the value of entity {name!r} must be text")
        key, text = " ".join(name.split()), " ".join(str(item).split())
        if key and text:
            out[key] = text
    return out
