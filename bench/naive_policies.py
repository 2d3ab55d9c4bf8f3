"""The naive policies that a context manager is compared with, over OpenAI chat traces.

``append`` removes nothing; ``slide`` drops the oldest steps at every step to fit; ``batch`` drops
them from 65 % of usable down to 50 %; ``clear`` does the same, but blanks old tool results first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from contextctl.core.measure.probe import Window
from contextctl.model.message import JsonObject

POLICIES = ("append", "slide", "batch", "clear")
TRIGGER, TARGET = 0.65, 0.50
BLANK = "[cleared]"

Size = Callable[[JsonObject], int]


def windows_of(
    policy: str,
    messages: Sequence[JsonObject],
    tools: Sequence[JsonObject],
    usable: int,
    size: Size,
    tools_size: int,
) -> dict[int, Window]:
    """The window of every assistant turn (from 1) under ``policy``; ``size`` counts one message."""
    first = next(at for at, message in enumerate(messages) if message.get("role") == "user")
    head = list(messages[: first + 1])
    groups: list[list[JsonObject]] = []
    fixed = tools_size + sum(map(size, head))
    windows: dict[int, Window] = {}
    for message in messages[first + 1 :]:
        if message.get("role") == "assistant":
            _reduce(policy, groups, fixed, usable, size)
            body = [item for group in groups for item in group]
            windows[len(windows) + 1] = Window([*head, *body], tools)
            groups.append([message])
        elif groups:
            groups[-1].append(message)
        else:
            groups.append([message])
    return windows


def _reduce(
    policy: str, groups: list[list[JsonObject]], fixed: int, usable: int, size: Size
) -> None:
    total = fixed + sum(size(item) for group in groups for item in group)
    if policy == "slide":
        _drop(groups, total, usable, size)
    elif policy in ("batch", "clear") and total > TRIGGER * usable:
        if policy == "clear":
            total = _blank(groups, total, TARGET * usable, size)
        _drop(groups, total, TARGET * usable, size)


def _drop(groups: list[list[JsonObject]], total: int, goal: float, size: Size) -> None:
    while total > goal and len(groups) > 1:
        total -= sum(map(size, groups.pop(0)))


def _blank(groups: list[list[JsonObject]], total: int, goal: float, size: Size) -> int:
    for group in groups[:-1]:
        for at, item in enumerate(group):
            if total <= goal:
                return total
            if item.get("role") == "tool" and item.get("content") != BLANK:
                blank = {**item, "content": BLANK}
                total += size(blank) - size(item)
                group[at] = blank
    return total
