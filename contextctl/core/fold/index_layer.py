"""The index tier of progressive disclosure: one line for each thing that can be loaded (SPEC D1).

A line costs 10 to 20 tokens and says enough to tell whether the thing is relevant; the heading says
how it is loaded. Names always stay. What a thing is for is cut, with a mark, to the line's size,
and shorter still when the whole layer would be over its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from contextctl.core.fold.caps import cap_tokens
from contextctl.model.message import Json
from contextctl.model.profile_parts import PrefixLayer

if TYPE_CHECKING:
    from contextctl.core.count import Counter
    from contextctl.core.fold.state import State

Entries = Sequence[Mapping[str, Json]]

CUT = "…"
HEADINGS = {
    "skills": {
        "en": "Skills: call view_skill(name) before work that one covers. A line ending in … is"
        " shortened.",
        "zh": "技能：处理其涵盖的工作之前，先调用 view_skill(name)。以 … 结尾的行已缩短。",
    },
    "memory": {
        "en": "Memories: call memory_recall to read one. A line ending in … is shortened.",
        "zh": "记忆：调用 memory_recall 读取。以 … 结尾的行已缩短。",
    },
}
CHANGED = {
    "en": ("{layer} has more: {line}", "{layer} no longer has: {name}"),
    "zh": ("{layer} 新增：{line}", "{layer} 已移除：{name}"),
}


def index_text(state: State, layer: PrefixLayer, entries: Entries) -> str:
    """The layer's text, within its budget as far as the names allow; empty without entries."""
    if not entries or layer.index is None:
        return ""
    heading = HEADINGS[layer.index][state.profile.shaping.locale]
    count = state.counter.text
    limit = _line_limit(state)
    lines = [_line(entry, limit, state.counter) for entry in entries]
    budget = _budget(state, layer)
    if budget is None or count("\n".join([heading, *lines])) <= budget:
        return "\n".join([heading, *lines])
    low, high = 0, max(count(line) for line in lines)
    while low < high:
        middle = (low + high + 1) // 2
        lines = [_line(entry, middle, state.counter) for entry in entries]
        if count("\n".join([heading, *lines])) <= budget:
            low = middle
        else:
            high = middle - 1
    return "\n".join([heading, *(_line(entry, low, state.counter) for entry in entries)])


def index_changes(layer: PrefixLayer, state: State, shown: Entries, now: Entries) -> list[str]:
    """One line for each entry that came, changed or went since the layer was last written."""
    came, went = CHANGED[state.profile.shaping.locale]
    limit = _line_limit(state)
    names = {str(entry.get("name")) for entry in now}
    lines = [
        came.format(layer=layer.id, line=_line(entry, limit, state.counter).removeprefix("- "))
        for entry in now
        if entry not in shown
    ]
    gone = [str(entry.get("name")) for entry in shown if str(entry.get("name")) not in names]
    return lines + [went.format(layer=layer.id, name=name) for name in gone]


def _line_limit(state: State) -> int | None:
    """Tokens of one line; None when progressive disclosure is switched off."""
    profile = state.profile
    return profile.disclosure.index.line_tokens if profile.remedies.disclose else None


def _budget(state: State, layer: PrefixLayer) -> int | None:
    """The tokens the layer may take: its own limit or the cap on its part, whichever is less."""
    bucket = "memory" if layer.index == "memory" else "system"
    cap = cap_tokens(state.profile, f"{bucket}.{layer.id}", state.allowance.usable)
    limits = [n for n in (state.profile.disclosure.index.total_tokens, cap) if n is not None]
    # The layer is booked with a few tokens of framing, which its cap has to hold as well.
    return min(limits) - _FRAMING if limits else None


_FRAMING = 4


def _line(entry: Mapping[str, Json], limit: int | None, counter: Counter) -> str:
    name, about = str(entry.get("name") or ""), str(entry.get("about") or "")
    whole = f"- {name}: {about}" if about else f"- {name}"
    if limit is None or not about or counter.text(whole) <= limit:
        return whole
    low, high = 0, len(about)
    while low < high:
        middle = (low + high + 1) // 2
        if counter.text(f"- {name}: {about[:middle]}{CUT}") <= limit:
            low = middle
        else:
            high = middle - 1
    head = _whole_words(about, low)
    return f"- {name}: {head}{CUT}" if head else f"- {name} {CUT}"


def _whole_words(text: str, at: int) -> str:
    """``text[:at]``, ended at a space where one is near, so that no word is shown in part."""
    head = text[:at]
    if at < len(text) and not text[at].isspace():
        space = head.rfind(" ")
        if space > at - 20 and head[space + 1 :].isascii():
            head = head[:space]
    return head.rstrip(" ,;:.-–—")
