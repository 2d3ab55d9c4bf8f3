"""Ranking of tools for a question, in any language, by what their definitions say.

BM25 over fields (BM25F: each field is discounted by its own length before they are added up), and
three things that tools have and documents do not. A question is often several wants in several
sentences, so half of a score is the best single sentence. Tools come in servers that belong to one
subject, so a tool gains from what else its server offers. And Chinese questions meet English tools:
common words are looked up by their English ones, and the other way round.

Nothing here is fitted to a set of questions: the constants are the textbook's or round numbers, and
``bench/tool_search.py`` says what each set gives.
"""

from __future__ import annotations

import math
from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import regex

from contextctl.core.search.terms import query_terms, terms
from contextctl.core.search.tool_words import english_words
from contextctl.core.tools.defer import OWN
from contextctl.model.message import Json, ToolSpec

# What a word in a field is worth, and how far the field's length discounts it.
_FIELDS = {
    "name": (2.0, 0.5),
    "server": (1.0, 0.3),
    "description": (1.0, 0.75),
    "parameters": (0.3, 0.75),
    "about_parameters": (0.3, 0.75),
    "english": (0.3, 0.75),
}
_K1 = 1.2
_SENTENCE = 0.5  # the share of the best sentence in a score
_BEST_OF_SERVER = 0.5  # of the score of the best tool of the same server
_WHOLE_SERVER = 0.2  # of the score of the server taken as one document
_DIGITS = 6  # scores are compared rounded, so that no last bit turns two tools round
_SENTENCES = regex.compile(r"[.!?;\n。！？；]+")

Postings = dict[str, dict[int, float]]


class ToolIndex:
    """An index over tools. Building takes about 0.2 ms a tool, a search below 5 ms."""

    def __init__(self, tools: Iterable[ToolSpec]) -> None:
        self.tools = tuple(tools)
        self._words = _postings([_fields(tool) for tool in self.tools])
        names = list(dict.fromkeys(tool.source for tool in self.tools))
        self._server = [names.index(tool.source) for tool in self.tools]
        self._is_server = [name != OWN for name in names]
        self._server_words: Postings = {
            term: _best(having, self._server) for term, having in self._words.items()
        }

    def search(
        self, question: str, limit: int, likeness: Sequence[float] | None = None
    ) -> tuple[ToolSpec, ...]:
        """The ``limit`` tools that fit best, best first; none that shares nothing with it.

        ``likeness`` is how near each tool is in meaning (the cosine of an embedding, in the order
        of ``tools``), where somebody knows.
        """
        scores = self._scores(question)
        if likeness is not None and self.tools:
            scores = _fused(scores, likeness)
        ranked = sorted(scores, key=lambda number: (-round(scores[number], _DIGITS), number))
        return tuple(self.tools[number] for number in ranked[:limit])

    def _scores(self, question: str) -> dict[int, float]:
        asked = _asked(question)
        gains = {term: _gain(self._words.get(term, {}), len(self.tools)) for term in asked}
        scores = _sum(gains, asked)
        parts = sentences(question)
        if parts:
            best: dict[int, float] = {}
            for part in parts:
                for number, score in _sum(gains, _asked(part)).items():
                    best[number] = max(best.get(number, 0.0), score)
            scores = {
                number: (1 - _SENTENCE) * score + _SENTENCE * best.get(number, 0.0)
                for number, score in scores.items()
            }
        return self._with_servers(scores, asked)

    def _with_servers(self, scores: dict[int, float], asked: Sequence[str]) -> dict[int, float]:
        top = _best(scores, self._server)
        count = len(self._is_server)
        whole = _sum({t: _gain(self._server_words.get(t, {}), count) for t in asked}, asked)
        out = {}
        for number, score in scores.items():
            server = self._server[number]
            shared = _BEST_OF_SERVER * top[server] + _WHOLE_SERVER * whole.get(server, 0.0)
            out[number] = score + shared if self._is_server[server] else score
        return out


def sentences(question: str) -> list[str]:
    """The sentences of a question that has several; empty for one."""
    parts = [part for part in _SENTENCES.split(question) if part.strip()]
    return parts if len(parts) > 1 else []


def blended(whole: Sequence[float], parts: Sequence[Sequence[float]]) -> list[float]:
    """How near each tool is in meaning: half to the whole question, half to its best sentence."""
    if not parts:
        return list(whole)
    best = (max(near) for near in zip(*parts, strict=True))
    return [(1 - _SENTENCE) * a + _SENTENCE * b for a, b in zip(whole, best, strict=True)]


def tool_text(tool: ToolSpec) -> str:
    """What an embedding of ``tool`` is made of: its name in words and its description."""
    words = regex.sub(r"(?<=\p{Ll})(?=\p{Lu})|[_\-./]+", " ", tool.name)
    return f"{words}: {tool.description[:300]}"


def _asked(question: str) -> list[str]:
    """The terms of a question, and the English ones of its Chinese words."""
    asked = query_terms(question)
    english = (term for word in english_words(question) for term in query_terms(word))
    return list(dict.fromkeys((*asked, *english)))


def _postings(documents: Sequence[Mapping[str, str]]) -> Postings:
    """For each term the documents that have it, with its weight in each."""
    counted = {name: [Tally(terms(doc[name])) for doc in documents] for name in _FIELDS}
    out: Postings = defaultdict(dict)
    for name, (weight, discount) in _FIELDS.items():
        lengths = [sum(tally.values()) for tally in counted[name]]
        mean = sum(lengths) / max(len(lengths), 1) or 1.0
        for number, tally in enumerate(counted[name]):
            norm = 1 - discount + discount * lengths[number] / mean
            for term, times in tally.items():
                having = out[term]
                having[number] = having.get(number, 0.0) + weight * times / norm
    return dict(out)


def _gain(having: Mapping[int, float], count: int) -> dict[int, float]:
    """What one term adds to the score of each document that has it."""
    if not having:
        return {}
    rarity = math.log(1 + (count - len(having) + 0.5) / (len(having) + 0.5))
    return {n: rarity * amount * (_K1 + 1) / (amount + _K1) for n, amount in having.items()}


def _sum(gains: Mapping[str, Mapping[int, float]], asked: Iterable[str]) -> dict[int, float]:
    scores: dict[int, float] = {}
    for term in asked:
        for number, gain in gains.get(term, {}).items():
            scores[number] = scores.get(number, 0.0) + gain
    return scores


def _best(values: Mapping[int, float], groups: Sequence[int]) -> dict[int, float]:
    out: dict[int, float] = {}
    for number, value in values.items():
        group = groups[number]
        out[group] = max(out.get(group, 0.0), value)
    return out


def _fused(scores: Mapping[int, float], likeness: Sequence[float]) -> dict[int, float]:
    """Words and meaning, each as a share of its best, meaning for half as much."""
    most = max(scores.values(), default=0.0) or 1.0
    near = max(likeness) or 1.0
    return {
        number: scores.get(number, 0.0) / most + 0.5 * value / near
        for number, value in enumerate(likeness)
    }


def _fields(tool: ToolSpec) -> dict[str, str]:
    properties = tool.parameters.get("properties")
    named = properties if isinstance(properties, dict) else {}
    told = " ".join(_descriptions(named.values()))
    return {
        "name": tool.name,
        "server": "" if tool.source == OWN else tool.source,
        "description": tool.description,
        "parameters": " ".join(named),
        "about_parameters": told,
        "english": " ".join(english_words(f"{tool.name} {tool.description} {told}")),
    }


def _descriptions(schemas: Iterable[Json]) -> Iterator[str]:
    for schema in schemas:
        if isinstance(schema, dict) and isinstance(text := schema.get("description"), str):
            yield text
