"""A ranking of texts by the words they share with a question (BM25), grown one text at a time.

Pure and deterministic: the same texts added in the same order give the same ranking. Scores are
compared as rounded, so that the last bit of a logarithm cannot turn two texts round. Exact: what is
skipped for speed could not have been among the best.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter as Tally
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from contextctl.core.search.terms import is_pair, query_terms, terms

# How fast a repeated term stops counting, how much a long text is discounted: the defaults of
# Anserini, which suit short texts better than the textbook's 1.2 and 0.75.
K1 = 0.9
B = 0.4
_DIGITS = 6
# What a pair of characters that no text has says against a text: it is probably no word at all.
_SEAM = 0.25


@dataclass(frozen=True, slots=True)
class Hit:
    """One text found. ``coverage`` is the share of the question (rare words weigh more) that the
    text has, from 0 to 1: what tells a good answer from the best of a bad lot."""

    number: int
    score: float
    coverage: float


class Bm25:
    """An index of texts, numbered from 0 in the order they are added.

    ``weights`` names the fields of a text and what a word in each is worth: a tool's name counts
    more than its description. A field without a weight counts 1.
    """

    def __init__(self, weights: Mapping[str, float] | None = None) -> None:
        self._weights = dict(weights or {})
        self._postings: dict[str, dict[int, float]] = {}
        self._lengths: list[float] = []
        self._total = 0.0
        self._removed = 0

    def __len__(self) -> int:
        return len(self._lengths) - self._removed

    def add(self, fields: Mapping[str, str] | str) -> int:
        """Add a text, or a text in fields; returns its number."""
        number = len(self._lengths)
        weighted: dict[str, float] = {}
        length = 0.0
        named = {"": fields} if isinstance(fields, str) else fields
        for name, text in named.items():
            weight = self._weights.get(name, 1.0)
            counts = Tally(terms(text))
            length += weight * sum(counts.values())
            for term, count in counts.items():
                weighted[term] = weighted.get(term, 0.0) + weight * count
        for term, amount in weighted.items():
            self._postings.setdefault(term, {})[number] = amount
        self._lengths.append(length)
        self._total += length
        return number

    def remove(self, number: int, having: Iterable[str]) -> None:
        """Take a text out again; ``having`` are its terms, of all its fields. Others keep their
        numbers."""
        for term in having:
            postings = self._postings.get(term)
            if postings is not None and postings.pop(number, None) is not None and not postings:
                del self._postings[term]
        self._total -= self._lengths[number]
        self._lengths[number] = 0.0
        self._removed += 1

    def search(self, question: str, limit: int = 5) -> tuple[Hit, ...]:
        """The ``limit`` texts that fit ``question`` best; of equals, the one added last is first.

        Texts that share no word with the question are never among them.
        """
        weighed = self._weighed(query_terms(question))
        if not weighed or limit < 1:
            return ()
        scores = self._scores(weighed, limit)
        ranked = ((round(score, _DIGITS), number) for number, score in scores.items())
        return tuple(
            Hit(number, score, self._coverage(number, weighed))
            for score, number in heapq.nlargest(limit, ranked)
        )

    def _weighed(self, asked: Sequence[str]) -> list[tuple[float, str]]:
        """Each term of a question with its weight, the rarest first; unknown ones before all."""
        count = len(self)
        out = []
        for term in asked:
            having = len(self._postings.get(term, ()))
            out.append((math.log(1 + (count - having + 0.5) / (having + 0.5)), term))
        return sorted(out, key=lambda one: (-one[0], one[1]))

    def _scores(self, weighed: Sequence[tuple[float, str]], limit: int) -> dict[int, float]:
        """The score of every text that may still be among the best."""
        fixed = K1 * (1 - B)
        by_length = K1 * B * len(self) / (self._total or 1.0)
        known = [(weight, self._postings[t]) for weight, t in weighed if t in self._postings]
        scores: dict[int, float] = {}
        left = sum(weight for weight, _ in known) * (K1 + 1)
        for weight, postings in known:
            top = weight * (K1 + 1)
            if len(scores) > limit and heapq.nlargest(limit, scores.values())[-1] > left:
                # A text not seen yet can no longer reach the best: only known ones are scored on.
                found = [number for number in scores if number in postings]
            else:
                found = list(postings)
            for number in found:
                amount = postings[number]
                norm = fixed + by_length * self._lengths[number]
                scores[number] = scores.get(number, 0.0) + top * amount / (amount + norm)
            left -= top
        return scores

    def _coverage(self, number: int, weighed: Sequence[tuple[float, str]]) -> float:
        had = whole = 0.0
        for weight, term in weighed:
            having = self._postings.get(term)
            if having is None and is_pair(term):
                whole += _SEAM * weight
            else:
                whole += weight
                had += weight if having and number in having else 0.0
        return had / whole if whole else 0.0
