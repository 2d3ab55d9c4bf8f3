"""Candidates for memory, found by rules in what a user said.

The rules look for sentences in which a user says that something is to be remembered, always holds,
or is liked or refused. They take the sentence as it stands and never put it in other words; a
sentence they do not know is left to a model, or to nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import regex

from contextctl.model.memory import Candidate
from contextctl.model.record import MessageAdded, Record, event_id

_FLAGS = regex.IGNORECASE | regex.VERSION1
_SENTENCE = regex.compile(r"[^。！？!?\n；;]+?(?:[。！？!?；;\n]|\.(?=\s|$)|$)", regex.VERSION1)
LONGEST = 200  # characters of a sentence that is worth keeping word for word


@dataclass(frozen=True, slots=True)
class _Rule:
    kind: str
    pattern: regex.Pattern[str]


def _rule(kind: str, pattern: str) -> _Rule:
    return _Rule(kind, regex.compile(pattern, _FLAGS))


# The first rule that fits a sentence decides its kind. What only this task asks for is not lasting:
# a bare "must" or "do not" says nothing about the next conversation.
_RULES = (
    _rule(
        "constraint",
        r"(?:以后|今后|从今以后|永远|一律|始终|每次|再也)[^，。]{0,8}(?:不要|别|不能|不得|禁止|必须|只能)"
        r"|(?:不要|别|不得)再"
        r"|\b(?:never again|under no circumstances|from now on,? (?:never|do not|don'?t))\b"
        r"|\bnever\b[^.]*\b(?:again|for me|for us)\b",
    ),
    _rule(
        "preference",
        r"(?:我|我们)(?:更|最|很|比较|一直|都|只)?(?:喜欢|偏好|爱吃|习惯|倾向于?|不喜欢|不爱|讨厌|不吃"
        r"|不接受|只用|只要|只收)"
        r"|(?:以后|今后|从今以后|默认)(?:都|请|就|一律|用|按)|只寄|请(?:一直|始终|总是)"
        r"|\bi (?:really |always |usually |strongly |only |also )*(?:prefer|like|love|hate|dislike"
        r"|don'?t like|do not like|can'?t stand)\b(?! (?:to know|to ask|to order|to book|to see))"
        r"|\b(?:from now on|going forward)\b|\bplease always\b|\bmy (?:favou?rite|preferred)\b",
    ),
    _rule(
        "fact",
        r"(?:请|帮我)(?:记住|记一下|记下)|^记住|我(?:叫|住在|在[^，。]{1,12}(?:工作|上班))|我[^，。]{0,8}过敏"
        r"|\b(?:please )?(?:remember that|keep in mind that|note that my)\b"
        r"|\bi(?:'m| am) allergic\b|\bi (?:live|work) (?:in|at|for|as)\b",
    ),
)
# A question, or a sentence that means nothing without the one before it.
_NOT_BY_ITSELF = regex.compile(
    r"[?？]\s*$|要不要|是否|会不会|(?:这|那)(?:种|些|样|个|首|部|本|里|点)|它"
    r"|\b(?:this|(?<!remember )(?<!mind )that (?!i\b|my\b|we\b)|these|those|it|them|there)\b(?!-)"
    r"|\bwas\b|^(?:请问|能否|可以|what|how|can|could|do|does|is|are|when|why|who|would)\b",
    _FLAGS,
)


def rule_candidates(record: Record, subject: str) -> Iterator[Candidate]:
    """Candidates in the user messages of ``record``, in order, each sentence once."""
    seen: set[str] = set()
    for number, event in enumerate(record, start=1):
        if not isinstance(event, MessageAdded) or event.message.role != "user":
            continue
        for match in _SENTENCE.finditer(event.message.text):
            sentence = match[0].strip()
            kind = _kind(sentence)
            if kind and sentence not in seen:
                seen.add(sentence)
                yield Candidate(sentence, kind, subject=subject, turn=event_id(number))


def _kind(sentence: str) -> str:
    if not 4 <= len(sentence) <= LONGEST or _NOT_BY_ITSELF.search(sentence):
        return ""
    return next((rule.kind for rule in _RULES if rule.pattern.search(sentence)), "")
