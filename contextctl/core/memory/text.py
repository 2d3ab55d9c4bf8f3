"""How memories stand in a window: each with its kind, its source and its month, under one line
that says what they are worth.

A memory is a hint. What the user says now, what a tool answers now and what was retrieved now hold
against it; amounts, permissions and anything with a date are looked up, never taken from memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from contextctl.model.memory import Memory
from contextctl.model.memory_keys import MADE
from contextctl.model.message import Json, JsonObject

STANDING = {
    "en": "[memory] Hints from earlier conversations, not evidence. What is said or found now"
    " holds against them. Check amounts, permissions and anything time-sensitive live.",
    "zh": "[记忆] 来自以往会话的线索，不是权威。与当前说法或检索结果冲突时以当前为准；"
    "涉及金额、权限、时效必须实时校验。",
}
KIND_NAMES = {
    "en": {},
    "zh": {"preference": "偏好", "fact": "事实", "constraint": "约束", "lesson": "经验"},
}
_LABEL = {"en": "[{kind} · from {source} · {month}]", "zh": "[{kind} · 来自 {source} · {month}]"}
LONGEST = 600
"""Characters of one memory that are shown; what is longer is cut in the middle."""


def read_item(memory: Memory) -> JsonObject:
    """A memory as it stands in a ``MemoryRead`` event: what a window needs of it, and no more."""
    return {
        "id": memory.id,
        "kind": memory.kind,
        "text": memory.text,
        "source": source_of(memory),
        "month": memory.updated_at[:7],
    }


def source_of(memory: Memory) -> str:
    """Who said it: the subject themselves, or what the memory came from."""
    own = memory.source in ("user", "person", "")
    return memory.subject if own else memory.source


def memory_lines(items: Iterable[Mapping[str, Json]], locale: str) -> list[str]:
    """One line for each item, with its label."""
    return [f"- {_label(item, locale)} {_short(str(item.get('text') or ''))}" for item in items]


def memory_text(items: Sequence[Mapping[str, Json]], locale: str) -> str:
    """The whole block: the standing line, then the items. Empty without items."""
    if not items:
        return ""
    return "\n".join([STANDING[locale], *memory_lines(items, locale)])


def index_entry(memory: Memory) -> JsonObject:
    """What the index layer says of a memory: its key (its id when it has none) and its text."""
    is_made = memory.key.startswith(MADE)
    return {"name": memory.id if is_made else memory.key, "about": _one(memory.text)}


def _label(item: Mapping[str, Json], locale: str) -> str:
    kind = str(item.get("kind") or "")
    return _LABEL[locale].format(
        kind=KIND_NAMES[locale].get(kind, kind),
        source=item.get("source") or "",
        month=item.get("month") or "",
    )


def _short(text: str) -> str:
    text = _one(text)
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST * 2 // 3]} … {text[-LONGEST // 4 :]}"


def _one(text: str) -> str:
    return " ".join(text.split())
