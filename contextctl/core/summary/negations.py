"""What a user refused or excluded, and what was tried and ruled out: found by its words.

Refusals are what a summary loses first and what costs most to lose. They are taken over as whole
sentences, never reworded. English and Chinese; a sentence too many costs tokens, one too few costs
a broken promise, so the patterns lean towards too many.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

SENTENCE_CHARS = 160
MAX_SENTENCES = 12
# A message that is longer is mostly pasted text: it is read at both ends.
_SCAN = 4_000

_PROSE = frozenset(",.!?'’\"“”()-，。！？；、：:（）")
# A full stop inside a word ("v1.2", "e.g") ends nothing.
_SENTENCE = re.compile(r"(?:[^.!?。！？\n]|[.!?](?=\w)){1,600}[.!?。！？]?")
_REFUSED = re.compile(
    r"\b(?:do(?:es)?\s?n[o']t|do\snot|don’t|dont|never|must\s?n[o']t|must\snot|should\s?n[o']t"
    r"|should\snot|not\sallowed|no\sneed|no\smore|no\slonger|not\s(?:the|a|that|this|use|want|need"
    r"|interested|now|yet|for|in|with|to)|rather\snot|refus(?:e|ed|es)|reject(?:ed|s)?|declin(?:e|ed"
    r"|es)|ruled?\sout|exclud(?:e|ed|es|ing)|except|unless|without|instead\sof|rather\sthan"
    r"|cancel(?:led|ed|s)?|avoid|stop|skip|forget\s(?:it|about)|leave\s(?:it|that|this)\salone"
    r"|only\s(?:to|use|ship|send|in|at|if|when|the|on|from|with))\b"
    r"|^\s{0,8}(?:no|nope|nah)\b",
    re.IGNORECASE,
)
_REFUSED_ZH = re.compile(
    r"不要|不需要|不想|不用|不能|不可|不得|不接受|不同意|不考虑|不行|不许|不必|不含|不包括|不买|不做"
    r"|别(?=[再用把去动改给发加删碰提管做买走])|勿|禁止|拒绝|取消|排除|除外|除了|以外|之外|算了|无需"
    r"|没必要|没有必要|而不是|停止|只(?=[要能用限发寄用在看做买给])|仅(?=[限用寄发供])"
)
_RULED_OUT = re.compile(
    r"\b(?:rul(?:ed|es|ing)\sout|not\sthe\s(?:cause|problem|issue|reason)|(?:did|does)\s?n[o']t"
    r"\s(?:work|help|exist|apply)|dead\send|turn(?:ed|s)\sout\snot|is\snot\s(?:possible|available"
    r"|supported))\b|已?排除|行不通|不是.{0,12}(?:原因|问题)|无效|不可用",
    re.IGNORECASE,
)


def refusals(text: str) -> tuple[str, ...]:
    """The sentences of a user's message that refuse, forbid, exclude or restrict something."""
    return _matching(text, lambda s: bool(_REFUSED.search(s) or _REFUSED_ZH.search(s)))


def ruled_out(text: str) -> tuple[str, ...]:
    """The sentences of an assistant's message that exclude a possibility."""
    return _matching(text, lambda s: bool(_RULED_OUT.search(s)))


def asks(text: str) -> bool:
    """Whether a message ends with a question."""
    return text.rstrip().rstrip("”\"')）").endswith(("?", "？"))


def sentences(text: str) -> Iterator[str]:
    """The sentences of a message, white space as single spaces; code and pasted lines are no
    sentences."""
    if len(text) > _SCAN:
        text = f"{text[: _SCAN * 3 // 4]}\n{text[-_SCAN // 4 :]}"
    for found in _SENTENCE.findall(text):
        sentence = " ".join(found.split())
        if len(sentence) > 1 and not _is_code(sentence):
            yield sentence


def _matching(text: str, wanted: Callable[[str], bool]) -> tuple[str, ...]:
    kept: dict[str, None] = {}
    for sentence in sentences(text):
        if len(kept) == MAX_SENTENCES:
            break
        if wanted(sentence):
            kept[_cut(sentence)] = None
    return tuple(kept)


def _cut(sentence: str) -> str:
    return sentence if len(sentence) <= SENTENCE_CHARS else f"{sentence[: SENTENCE_CHARS - 1]}…"


def _is_code(sentence: str) -> bool:
    """Lines of programs and logs: many symbols, few words."""
    symbols = sum(not (char.isalnum() or char.isspace() or char in _PROSE) for char in sentence)
    return symbols > 4 and symbols * 8 > len(sentence)
