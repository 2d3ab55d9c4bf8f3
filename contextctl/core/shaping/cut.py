"""Long text cut in the middle: the head, a marker that says what is missing, the tail.

The error of a log stands at its end and its command at its start, so both stay. The result is
never longer than the original, never over the cap, and never cut inside a visible character.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import regex

    from contextctl.core.shaping.setting import Setting

_ROUNDS = 12
_LONG_LINE = 400


@dataclass(frozen=True, slots=True)
class Cut:
    """A shortened text. ``start`` and ``end`` bound the characters left out of the original."""

    text: str
    tokens: int
    start: int
    end: int


def cut_middle(text: str, setting: Setting) -> Cut:
    """``text`` within the cap, at most ``head`` characters before and ``tail`` after the marker."""
    head, tail = _kept(text, setting.rule.text.head, setting.rule.text.tail)
    for form in ("facts", "full", "short", "bare"):
        cut = _fitted(text, head, tail, form, setting)
        if cut is not None:
            return cut
    return Cut("…" if setting.cap > 0 and text else "", setting.tokens("…"), 0, len(text))


def _fitted(text: str, head: int, tail: int, form: str, setting: Setting) -> Cut | None:
    """The cut with a marker of one form, its ends shortened until it fits; None if it cannot."""
    named: str | None = None
    for _ in range(_ROUNDS):
        start, end = grapheme_floor(text, head), grapheme_ceil(text, len(text) - tail)
        if start >= end:
            return None
        if form == "facts" and named is None:  # more is left out in later rounds, never less
            named = facts_text(text[start:end], setting)
        marker = _marker(text, start, end, form, setting, named or "")
        room = setting.cap - setting.tokens(marker) - 2
        if form in {"facts", "full"} and room < setting.cap // 3:
            return None
        shown = text[:start] + marker + text[end:]
        tokens = setting.tokens(shown)
        if tokens <= setting.cap and len(shown) <= len(text):
            return Cut(shown, tokens, start, end)
        over = len(shown) - len(text)
        scale = min(room / max(1, tokens - (setting.cap - room)), 1.0) * 0.97
        if over > 0:
            scale = min(scale, (head + tail - over) / max(1, head + tail))
        if scale <= 0 or (head == 0 and tail == 0):
            return None
        head, tail = int(head * scale), int(tail * scale)
    return None


def _kept(text: str, head: int, tail: int) -> tuple[int, int]:
    """``head`` and ``tail``, made smaller in proportion when the text is shorter than both."""
    if head + tail < len(text):
        return head, tail
    share = head / max(1, head + tail)
    return int(len(text) * share), int(len(text) * (1 - share))


def _marker(text: str, start: int, end: int, form: str, setting: Setting, named: str) -> str:
    omitted = end - start
    if form == "bare":
        return f"[…{omitted}…]"
    if form == "short":
        ref = f"; ref {setting.ref}" if setting.ref else ""
        return f"\n[… {omitted:,} / {len(text):,}{ref} …]\n"
    count = text.count("\n") + 1
    first, last = text.count("\n", 0, start), text.count("\n", 0, end)
    lines = setting.say("cut_lines", first=first, last=last, count=count) if count > 1 else ""
    more = ""
    if setting.ref:
        more = setting.say("cut_more", ref=setting.ref, start=_place(text, start, first))
    if form == "facts":
        if not named:
            more += setting.say("cut_search", ref=setting.ref) if setting.ref else ""
        more += named
    said = setting.say(
        "cut",
        returned=f"{len(text) - omitted:,}",
        total=f"{len(text):,}",
        omitted=f"{omitted:,}",
        lines=lines,
        more=more,
    )
    return f"\n{said}\n"


def facts_text(omitted: str, setting: Setting, shown: str = "") -> str:
    """The identifiers of what is left out, as many as their token bound allows; ``""`` for none.

    Those that stand in ``shown`` are not named again.
    """
    if setting.call.omitted_facts is None:
        return ""
    bound = min(setting.call.facts_tokens, setting.cap // 4)
    kept: list[str] = []
    spent = 0
    for fact in setting.call.omitted_facts(omitted):
        if fact in shown:
            continue
        spent += setting.tokens(fact) + 1
        if spent > bound:
            break
        kept.append(fact)
    return setting.say("facts", facts=", ".join(kept)) if kept else ""


def _place(text: str, start: int, line: int) -> str:
    """Where to read on: a line, with the characters to skip when the line is a long one."""
    inside = start - (text.rfind("\n", 0, start) + 1)
    return f"{line}, offset={inside}" if inside > _LONG_LINE else str(line)


def grapheme_floor(text: str, position: int) -> int:
    """The last place at or before ``position`` where no visible character is cut in two."""
    return _boundary(text, position)[0]


def grapheme_ceil(text: str, position: int) -> int:
    """The first place at or after ``position`` where no visible character is cut in two."""
    return _boundary(text, position)[1]


def _boundary(text: str, position: int) -> tuple[int, int]:
    if position <= 0:
        return 0, 0
    if position >= len(text):
        return len(text), len(text)
    if text[position - 1 : position + 1].isascii() and text[position - 1 : position + 1] != "\r\n":
        return position, position
    start = _safe_start(text, position)
    for found in _graphemes().finditer(text, start):
        if found.end() >= position:
            exact = found.end() == position
            return (position, position) if exact else (found.start(), found.end())
    return len(text), len(text)


def _safe_start(text: str, position: int) -> int:
    """A place before ``position`` that is surely a boundary: a line break, or an ASCII pair."""
    reach = 64
    while reach < position:
        before = text[position - reach : position]
        found = _ASCII_PAIR.search(before)
        if found is not None:
            return position - reach + found.start() + 1
        reach *= 2
    return 0


_ASCII_PAIR = re.compile(r"[\n -~][ -~]")


@lru_cache(maxsize=1)
def _graphemes() -> regex.Pattern[str]:
    """Finds one extended grapheme cluster (``regex`` comes with tiktoken)."""
    import regex

    return regex.compile(r"\X")
