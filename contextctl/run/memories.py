"""The memory of one subject: every write through the gates, every read ranked and bounded."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import UTC, datetime

from contextctl.core.memory.gates import admit, lifetime_s
from contextctl.core.memory.recall import MemoryIndex, Nearness
from contextctl.core.memory.text import index_entry
from contextctl.io.stores.memories import MemoryStore
from contextctl.io.stores.memory_meaning import Meaning, open_meaning
from contextctl.model.memory import HOLD, REFUSE, Candidate, Memory, Recalled, Written
from contextctl.model.message import JsonObject
from contextctl.model.profile_parts import MemoryRule

# From this nearness on a memory fits although it shares no word with the question.
NEAR_ENOUGH = 0.5


def write(store: MemoryStore, candidate: Candidate, rule: MemoryRule, by: str) -> Written:
    """Put a candidate through the gates of ``rule`` and, if it passes, into the store."""
    verdict = admit(candidate, rule)
    if verdict.outcome == REFUSE:
        store.refused(candidate, verdict.code, by)
        return Written("refused", code=verdict.code, reason=verdict.reason)
    seconds = lifetime_s(candidate, rule)
    return store.write(candidate, held=verdict.outcome == HOLD, lifetime_s=seconds, by=by)


def correct(
    store: MemoryStore, memory_id: str, candidate: Candidate, rule: MemoryRule, by: str
) -> Written:
    """Put another text in the place of a memory's, if the gates let it in."""
    verdict = admit(candidate, rule)
    if verdict.outcome == REFUSE:
        return Written("refused", memory_id, verdict.code, verdict.reason)
    return store.correct(memory_id, candidate, by)


class Memories:
    """What is remembered of ``subject``, as one task sees it. Safe to use from many threads.

    The index is made anew only when something of the subject was written or deleted since.
    """

    def __init__(
        self, store: MemoryStore, rule: MemoryRule, subject: str, session: str = ""
    ) -> None:
        self.subject = subject
        self.session = session
        self._store = store
        self._rule = rule
        self._lock = threading.Lock()
        self._version = -1
        self._index = MemoryIndex(())
        self._meaning: Meaning | None = None
        self._meaning_of: MemoryIndex | None = None
        self._opened = False

    def recall(self, question: str, limit: int | None = None) -> tuple[Recalled, ...]:
        """The memories that fit ``question``, each counted as recalled."""
        today = datetime.now(UTC).date().isoformat()
        index, near = self._fresh(), self._near(question)
        found = index.recall(question, today, self._rule, limit=limit, nearness=near)
        self._store.recalled([one.memory.id for one in found])
        return found

    def write(self, candidate: Candidate, by: str) -> Written:
        """Put a candidate through the gates."""
        return write(self._store, candidate, self._rule, by)

    def entries(self) -> tuple[JsonObject, ...]:
        """The index layer's entries: the memories most asked for, then the newest."""
        memories = sorted(self._fresh().memories, key=lambda one: one.hits, reverse=True)
        return tuple(index_entry(memory) for memory in memories[: self._rule.index_items])

    def gone(self, read: Mapping[str, str]) -> tuple[str, ...]:
        """Which of these memories, by id and text, are not there any more, or say another thing."""
        now = {memory.id: memory.text for memory in self._fresh().memories}
        return tuple(one for one, text in read.items() if now.get(one) != text)

    def version(self) -> int:
        """A number that grows with every change."""
        return self._store.version(self.subject)

    def rows(self) -> tuple[Memory, ...]:
        """Everything remembered, newest first."""
        return self._fresh().memories

    def _near(self, question: str) -> Nearness | None:
        """The nearness of meaning, where there is an encoder and anything to compare."""
        with self._lock:
            index = self._index
            if not index.memories:
                return None
            if not self._opened:
                self._opened = True
                wanted = self._rule.embeddings
                self._meaning = open_meaning(self._store, self.subject, wanted=wanted)
            if self._meaning is None:
                return None
            if self._meaning_of is not index:
                self._meaning.refresh(index.memories)
                self._meaning_of = index
            return Nearness(self._meaning.near(question), NEAR_ENOUGH)

    def _fresh(self) -> MemoryIndex:
        with self._lock:
            version = self.version()
            if version != self._version:
                rows = self._store.rows(self.subject, session=self.session)
                self._index, self._version = MemoryIndex(rows), version
            return self._index
