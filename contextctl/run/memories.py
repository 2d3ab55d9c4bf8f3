"""The memory of one subject: every write through the gates, every read ranked and bounded."""

from __future__ import annotations

from collections.abc import Mapping

from contextctl.core.memory.gates import admit, lifetime_s
from contextctl.core.memory.text import index_entry
from contextctl.io.stores.memories import MemoryStore
from contextctl.model.memory import HOLD, REFUSE, Candidate, Memory, Recalled, Written
from contextctl.model.message import JsonObject
from contextctl.model.profile_parts import MemoryRule
from contextctl.run.remembered import Remembered


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

    ``shared`` is the subject's index where other tasks use it too.
    """

    def __init__(
        self,
        store: MemoryStore,
        rule: MemoryRule,
        subject: str,
        session: str = "",
        shared: Remembered | None = None,
    ) -> None:
        self.subject = subject
        self.session = session
        self._store = store
        self._rule = rule
        self._all = shared or Remembered(store, rule, subject)

    def recall(
        self, question: str, limit: int | None = None, *, count: bool = True
    ) -> tuple[Recalled, ...]:
        """The memories that fit ``question``, each counted as recalled (``count``)."""
        found = self._all.recall(question, self.session, limit)
        if count:
            self._store.recalled([one.memory.id for one in found])
        return found

    def write(self, candidate: Candidate, by: str) -> Written:
        """Put a candidate through the gates."""
        return write(self._store, candidate, self._rule, by)

    def entries(self) -> tuple[JsonObject, ...]:
        """The index layer's entries: the memories most asked for, then the newest."""
        memories = sorted(self.rows(), key=lambda one: one.hits, reverse=True)
        return tuple(index_entry(memory) for memory in memories[: self._rule.index_items])

    def gone(self, read: Mapping[str, str]) -> tuple[str, ...]:
        """Which of these memories, by id and text, are not there any more, or say another thing."""
        return self._all.gone(read, self.session)

    def version(self) -> int:
        """A number that grows with every change."""
        return self._all.version()

    def rows(self) -> tuple[Memory, ...]:
        """Everything remembered, newest first."""
        return self._all.rows(self.session)
