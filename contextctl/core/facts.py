"""Facts of a text: the identifiers, paths and amounts that a later step may need. (First version.)"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_FACTS = 200
_FACT = re.compile(r"[\w./:@\-]*(?:\d|/)[\w./:@\-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Facts:
    """Values in the order in which they first occur."""

    values: tuple[str, ...] = ()


def extract_facts(text: str) -> Facts:
    """The values of one text, at most ``MAX_FACTS``, each once."""
    seen: dict[str, None] = {}
    for match in _FACT.finditer(text):
        value = match.group().strip(".:-/")
        if 4 <= len(value) <= 120:
            seen.setdefault(value)
            if len(seen) >= MAX_FACTS:
                break
    return Facts(tuple(seen))
