"""The terms a text is found by: the same for turns of a conversation, tools and memories.

One rule for every language, without a segmenter or its dictionary, so that the same text gives the
same terms on every machine. Scripts written without spaces (Chinese, Japanese, Thai …) and Korean,
whose particles cling to their words, give overlapping pairs of characters. Everything else gives
words: an identifier as a whole and also its parts (``getOrderId``, ``order_id``, ``src/orders.py``,
``A-1001``), ordinary English words without their endings.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

import regex

from contextctl.core.search.common_words import COMMON
from contextctl.core.search.word_endings import stem

# Scripts that put no spaces between words, and Hangul.
_PAIRED = r"\p{Han}\p{Hiragana}\p{Katakana}ー々〆\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Hangul}"
_RUN = regex.compile(
    rf"(?P<paired>[{_PAIRED}]+)"
    rf"|(?P<word>(?:(?![{_PAIRED}])[\w])+(?:[-_./:@'’](?:(?![{_PAIRED}])[\w])+)*)"
)
_PAIR = regex.compile(rf"[{_PAIRED}]{{2}}")
# Where an identifier falls apart: camelCase, acronyms before a word, letters beside digits.
_PART = regex.compile(
    r"\p{Lu}+(?=\p{Lu}\p{Ll})|\p{Lu}?[\p{Ll}\p{Lo}\p{M}]+|\p{Lu}+|\p{Nd}+|[^\W_\p{Nd}]+"
)
_APOSTROPHE = regex.compile(r"['’](?:s|t|re|ve|ll|d|m)$")
_LONGEST = 120  # characters of one word; what is longer is no word anybody searches for


def terms(text: str) -> list[str]:
    """The terms of ``text`` in order, repeated as often as they occur."""
    return list(_terms(unicodedata.normalize("NFKC", text)))


def query_terms(text: str, limit: int = 64) -> list[str]:
    """The distinct terms of a question in order, at most ``limit``; words that carry nothing are
    left out unless there are no others."""
    found = list(dict.fromkeys(terms(text)))
    telling = [term for term in found if term not in COMMON]
    return (telling or found)[:limit]


def is_pair(term: str) -> bool:
    """Whether ``term`` is a pair of characters. About half of all pairs are seams between words."""
    return len(term) == 2 and _PAIR.fullmatch(term) is not None


def _terms(text: str) -> Iterator[str]:
    for match in _RUN.finditer(text):
        run = match["paired"]
        if run is None:
            yield from _word_terms(match["word"])
        elif len(run) == 1:
            yield run
        else:
            yield from (run[at : at + 2] for at in range(len(run) - 1))


@lru_cache(maxsize=65_536)
def _word_terms(word: str) -> tuple[str, ...]:
    """A word's stem; of an identifier the whole and its parts."""
    word = _APOSTROPHE.sub("", word)
    if len(word) > _LONGEST:
        return ()
    whole = word.casefold()
    if whole in COMMON:
        return (whole,)
    parts = [part.casefold() for part in _PART.findall(word)]
    if len(parts) <= 1:
        return (stem(whole),)
    kept = [stem(part) for part in parts if len(part) > 1 or part.isdigit()]
    return (whole, *(part for part in kept if part != whole))
