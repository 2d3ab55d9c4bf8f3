"""Recall: which memories of one subject fit a question, best first, and none that do not.

What a memory shares with the question decides; how old it is and how often it was found wrong take
some of that away again. Of two that say nearly the same, the newer one speaks.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from contextctl.core.memory.days import asked_days, day_number, day_word
from contextctl.core.search.bm25 import Bm25
from contextctl.core.search.terms import is_pair, query_terms, terms
from contextctl.model.memory import Memory, Recalled
from contextctl.model.memory_keys import MADE
from contextctl.model.profile_parts import MemoryRule

# How much of a rank is recency: a memory of today against one that is very old. More would bury
# what was said once and stays true.
RECENCY = 0.2
# Two memories that share so much of their words say the same thing, in two versions.
SAME = 0.75
# What nearness of meaning adds to a rank beside shared words, where there are embeddings.
NEARNESS = 0.5
OTHERS = 200
# What a pair of characters that no memory has says against one: it is probably no word at all.
SEAM = 0.25
# How relevant a memory must be beside one that fits, as a share of what that one has to be.
BESIDE = 0.5
_CANDIDATES = 40
_WEIGHTS = {"text": 1.0, "key": 0.6, "day": 0.5}
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Nearness:
    """How near each memory is in meaning to the question, by its id, from -1 to 1.

    ``enough`` is the nearness from which a memory fits although it shares no word.
    """

    of: Mapping[str, float]
    enough: float


class MemoryIndex:
    """The memories of one subject, to be searched many times; it changes one memory at a time."""

    def __init__(self, memories: Iterable[Memory] = ()) -> None:
        self._index = Bm25(_WEIGHTS)
        self._memories: list[Memory | None] = []
        self._terms: list[frozenset[str]] = []
        self._having: Counter[str] = Counter()
        self._numbers: dict[str, int] = {}
        self._limited: set[int] = set()  # those that expire, or belong to a session
        for memory in memories:
            self.put(memory)

    def __len__(self) -> int:
        return len(self._numbers)

    def rows(self, now: str = "", session: str | None = None) -> Iterator[Memory]:
        """The memories that hold at ``now`` (an ISO time; empty: at any) and that ``session`` may
        see: its own and those of no session. None: those of all sessions."""
        for memory in self._memories:
            if memory is not None and _holds(memory, now, session):
                yield memory

    def put(self, memory: Memory) -> None:
        """Take ``memory`` in, in the place of what had its id."""
        self.drop(memory.id)
        fields = _fields(memory)
        own = frozenset(terms(" ".join(fields.values())))
        self._numbers[memory.id] = self._index.add(fields)
        self._memories.append(memory)
        self._terms.append(own)
        self._having.update(own)
        if memory.expires_at or memory.session:
            self._limited.add(self._numbers[memory.id])

    def drop(self, memory_id: str) -> None:
        """Forget the memory of that id, where it is here."""
        number = self._numbers.pop(memory_id, None)
        if number is None:
            return
        self._index.remove(number, self._terms[number])
        self._having.subtract(self._terms[number])
        self._memories[number], self._terms[number] = None, frozenset()
        self._limited.discard(number)

    def recall(
        self,
        question: str,
        now: str,
        rule: MemoryRule,
        *,
        limit: int | None = None,
        nearness: Nearness | None = None,
        session: str | None = None,
    ) -> tuple[Recalled, ...]:
        """At most ``limit`` (``rule.max_items`` by default) memories that fit ``question``.

        ``now`` is an ISO date or time: what a memory's age is counted from, and when it must not
        have expired.
        """
        asked = f"{question} {asked_days(question)}"
        weights = self._weights(query_terms(asked))
        hidden = self._hidden(now, session)
        shared = {
            hit.number: (hit.score, self._relevance(hit.number, weights))
            for hit in self._index.search(asked, _CANDIDATES + len(hidden))
            if hit.number not in hidden
        }
        best = max((score for score, _ in shared.values()), default=1.0)
        fits = max((relevance for _, relevance in shared.values()), default=0.0)
        # The best has to fit; then what comes with it may fit less well.
        enough = rule.min_relevance * (BESIDE if fits >= rule.min_relevance else 1)
        recalled = []
        for number, near in self._considered(shared, hidden, nearness):
            memory = self._memories[number]
            score, relevance = shared.get(number, (0.0, 0.0))
            is_near = nearness is not None and near >= nearness.enough
            if memory is None or (relevance < enough and not is_near):
                continue
            rank = score / best + NEARNESS * max(near, 0.0)
            rank *= _age_weight(memory, now, rule) / (1 + memory.bad)
            recalled.append(Recalled(memory, round(max(relevance, near), 6), rank))
        recalled.sort(key=lambda one: (round(one.score, 9), one.memory.updated_at), reverse=True)
        return tuple(_one_version(recalled)[: rule.max_items if limit is None else limit])

    def _weights(self, asked: Sequence[str]) -> dict[str, float]:
        """What each term of a question says: the rarer among many memories, the more. A subject
        with few memories is taken for one of many, or every word of them would be common."""
        count = len(self) + OTHERS
        return {
            term: math.log(1 + (count - self._having[term] + 0.5) / (self._having[term] + 0.5))
            * (SEAM if is_pair(term) and not self._having[term] else 1)
            for term in asked
        }

    def _relevance(self, number: int, weights: Mapping[str, float]) -> float:
        """The share of a question that a memory has, from 0 to 1. Two rare words of a long
        question say as much as one of a short one."""
        had = sum(weight for term, weight in weights.items() if term in self._terms[number])
        whole = sum(weights.values())
        return min(had / whole * len(weights) ** 0.5 / 2, 1.0) if whole else 0.0

    def _hidden(self, now: str, session: str | None) -> frozenset[int]:
        """The numbers of memories that are not to be seen."""
        limited = ((number, self._memories[number]) for number in self._limited)
        return frozenset(n for n, one in limited if one and not _holds(one, now, session))

    def _considered(
        self, shared: Mapping[int, object], hidden: Container[int], nearness: Nearness | None
    ) -> list[tuple[int, float]]:
        """The numbers of memories that may fit, each with its nearness."""
        if nearness is None:
            return [(number, 0.0) for number in shared]
        near = {
            number: one
            for name, one in nearness.of.items()
            if (number := self._numbers.get(name)) is not None
            and (number in shared or (one >= nearness.enough and number not in hidden))
        }
        return [*near.items(), *((number, 0.0) for number in shared if number not in near)]


def _holds(memory: Memory, now: str, session: str | None) -> bool:
    """Whether a memory has not expired and may be seen in ``session``."""
    is_over = bool(memory.expires_at and now) and memory.expires_at <= now
    return not is_over and (session is None or memory.session in ("", session))


def is_newer(one: Memory, other: Memory) -> bool:
    """Whether ``one`` was said after ``other``."""
    return (one.updated_at, one.id) > (other.updated_at, other.id)


def _fields(memory: Memory) -> dict[str, str]:
    key = "" if memory.key.startswith(MADE) else memory.key.replace("-", " ")
    return {"text": memory.text, "key": key, "day": day_word(memory.updated_at)}


def _age_weight(memory: Memory, now: str, rule: MemoryRule) -> float:
    if not (_DAY.match(memory.updated_at) and _DAY.match(now)):
        return 1.0
    age = max(day_number(now) - day_number(memory.updated_at), 0)
    return float(1 - RECENCY + RECENCY * 0.5 ** (age / rule.half_life_days))


def _one_version(recalled: Sequence[Recalled]) -> list[Recalled]:
    """Without the older one of two that say nearly the same: the newer stands in its place."""
    kept: list[Recalled] = []
    words: list[frozenset[str]] = []
    for one in recalled:
        own = frozenset(terms(one.memory.text))
        twin = next((at for at, other in enumerate(words) if _alike(own, other)), None)
        if twin is None:
            kept.append(one)
            words.append(own)
        elif is_newer(one.memory, kept[twin].memory):
            kept[twin], words[twin] = one, own
    return kept


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one | other) and len(one & other) / len(one | other) >= SAME
