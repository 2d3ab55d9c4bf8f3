"""English words without their endings: ``orders``, ``ordered`` and ``ordering`` are one term.

A light rule, on purpose: it must never join words of different meaning, only forms of one word.
It touches words of ASCII letters only; a word with a digit is a name, and stays as it is.
"""

from __future__ import annotations

_VOWELS = frozenset("aeiouy")
_SHORTEST = 4  # letters that a word needs before an ending is looked for


def stem(word: str) -> str:
    """``word`` (lower case) without plural, past, progressive and adverb endings."""
    if len(word) < _SHORTEST or not (word.isascii() and word.isalpha()):
        return word
    return _without_e(_without_verb_ending(_singular(word)))


def _singular(word: str) -> str:
    if not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "xes", "zes", "sses")):
        return word[:-2]
    return word[:-1]


def _without_verb_ending(word: str) -> str:
    if word.endswith("ied") and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("ing", "ed"):
        base = word.removesuffix(ending)
        if base != word and len(base) >= 3 and _VOWELS.intersection(base):
            doubled = base[-1] == base[-2] and base[-1] not in "aeioulsz"
            return base[:-1] if doubled else base
    if word.endswith("ly") and len(word) > 5:
        return word[:-2]
    return word


def _without_e(word: str) -> str:
    """``make`` and ``mak`` (of ``making``) meet."""
    return word[:-1] if word.endswith("e") and len(word) > 3 else word
