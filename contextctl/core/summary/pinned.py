"""Pins do not stand in summaries: whoever wrote one, pinned text in it is named, not repeated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from contextctl.model.history_summary import LISTS, Summary

# Shorter values (an id, an amount) are part of many sentences that mean something else.
SENTENCE_CHARS, SENTENCE_WIDE = 12, 4


def without_pins(summary: Summary, pins: Mapping[str, str]) -> Summary:
    """``summary`` with the text of every pin replaced by the name of the pin, and without items
    that say nothing but a part of one."""
    long = {key: text for key, text in pins.items() if is_sentence(text)}
    whole = {text: key for key, text in pins.items()}
    lists = {name: tuple(_clean(getattr(summary, name), long, whole)) for name in LISTS}
    entities = {
        key: _named(text, long) for key, text in summary.entities.items() if text not in whole
    }
    return replace(summary, **lists, entities=entities)


def is_sentence(text: str) -> bool:
    """Whether a pinned text is long enough to be recognised inside another one."""
    wide = sum(ord(char) > 0x2E7F for char in text)
    return len(text.strip()) >= SENTENCE_CHARS or wide >= SENTENCE_WIDE


def _clean(
    items: Iterable[str], long: Mapping[str, str], whole: Mapping[str, str]
) -> Iterable[str]:
    for item in items:
        number, _, rest = item.partition(": ")
        said = rest if number.isdigit() else item
        part = is_sentence(said) and any(said in text for text in long.values())
        if said not in whole and not part:
            yield _named(item, long)


def _named(text: str, long: Mapping[str, str]) -> str:
    for key, pinned in long.items():
        text = text.replace(pinned, f"(pinned: {key})")
    return text
