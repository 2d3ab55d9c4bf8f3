"""Everything remembered of one subject, indexed once and kept up with the store.

All tasks of a run that are about one subject share it. What others write or delete is taken in
memory by memory, so that a recall after a change costs the change and not the whole.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import UTC, datetime

from contextctl.core.memory.recall import MemoryIndex, Nearness
from contextctl.io.stores.memories import MemoryStore
from contextctl.io.stores.memory_meaning import Meaning, open_meaning
from contextctl.model.memory import Memory, Recalled
from contextctl.model.profile_parts import MemoryRule

# From this nearness on a memory fits although it shares no word with the question.
NEAR_ENOUGH = 0.5


class Remembered:
    """The index of a subject. Safe to use from many threads."""

    def __init__(self, store: MemoryStore, rule: MemoryRule, subject: str) -> None:
        self.subject = subject
        self._store = store
        self._rule = rule
        self._lock = threading.RLock()
        self._version = -1
        self._index = MemoryIndex()
        self._meaning: Meaning | None = None
        self._opened = False

    def recall(self, question: str, session: str, limit: int | None) -> tuple[Recalled, ...]:
        """The memories that ``session`` may see and that fit ``question``."""
        with self._lock:
            self._refresh()
            return self._index.recall(
                question,
                _now(),
                self._rule,
                limit=limit,
                nearness=self._near(question),
                session=session,
            )

    def rows(self, session: str) -> tuple[Memory, ...]:
        """What ``session`` may see, newest first."""
        with self._lock:
            self._refresh()
            found = list(self._index.rows(_now(), session))
        return tuple(sorted(found, key=lambda one: (one.updated_at, one.id), reverse=True))

    def gone(self, read: Mapping[str, str], session: str) -> tuple[str, ...]:
        """Which of these memories, by id and text, are not there any more, or say another thing."""
        now = {memory.id: memory.text for memory in self.rows(session)} if read else {}
        return tuple(one for one, text in read.items() if now.get(one) != text)

    def version(self) -> int:
        """A number that grows with every change."""
        return self._store.version(self.subject)

    def _near(self, question: str) -> Nearness | None:
        """The nearness of meaning, where there is an encoder and anything to compare."""
        if not len(self._index):
            return None
        if not self._opened:
            self._opened = True
            wanted = self._rule.embeddings
            self._meaning = open_meaning(self._store, self.subject, wanted=wanted)
            if self._meaning is not None:
                rows = sorted(self._index.rows(), key=lambda one: one.updated_at, reverse=True)
                self._meaning.refresh((), rows)
        if self._meaning is None:
            return None
        return Nearness(self._meaning.near(question), NEAR_ENOUGH)

    def _refresh(self) -> None:
        """Take in what has changed since the last time."""
        if self._version < 0:
            # The number first: what is written in between is taken in once more, and not missed.
            self._version = self.version()
            for memory in reversed(self._store.rows(self.subject, session=None)):
                self._index.put(memory)
            return
        self._version, touched, now = self._store.changed(self.subject, self._version)
        for name in touched:
            self._index.drop(name)
        for memory in now:
            self._index.put(memory)
        if touched and self._meaning is not None:
            self._meaning.refresh(touched, now)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
