"""aider's ``.aider.chat.history.md``: one trace a session.

``####`` lines are what the user typed, ``>`` lines what aider printed, the rest is the model. What
aider printed is a note; its token line is the usage of the reply before it. Neither the files in
the chat nor aider's own prompts are in the history, so the counts it prints are larger.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from contextctl.io.traces.draft import Draft
from contextctl.model.message import Message
from contextctl.model.trace import UsageFact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contextctl.io.traces.source import Source
    from contextctl.model.trace import Trace

NAME = "aider"
_START = "# aider chat started at "
_FENCE = re.compile(r"\s*(```+|~~~+)")
_TOKENS = re.compile(r"Tokens: ([\d.,]+)(k?) sent,.*?([\d.,]+)(k?) received")
_COST = re.compile(r"Cost: \$([\d.]+) message")
_MODEL = re.compile(r"(?:Main model|Model): (\S+)")


def recognises(source: Source) -> bool:
    """Whether the text has aider's session heading."""
    return not source.head and _START in source.text


def read(source: Source) -> Iterator[Trace]:
    """One trace a session; a session without a message is none."""
    for started, lines in _sessions(source.read_text()):
        draft = Draft("", NAME)
        draft.note("session", {"started": started})
        for kind, group in groupby(lines, key=lambda pair: pair[0]):
            text = "\n".join(line for _, line in group).strip()
            if kind == "printed":
                _printed(draft, text)
            elif text:
                draft.add(Message(kind, text))
        yield draft.trace()


def _sessions(text: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Each session's start and its lines, every line with who it is from."""
    started, lines, fence = "", [], ""
    for raw in text.splitlines():
        mark = _FENCE.match(raw)
        if fence:
            # Inside a code block nothing is a heading or a quotation.
            lines.append(("assistant", raw))
            fence = "" if mark and mark[1].startswith(fence) else fence
        elif raw.startswith(_START):
            if started:
                yield started, lines
            started, lines = raw.removeprefix(_START).strip(), []
        elif raw.startswith("#### "):
            lines.append(("user", raw[5:].rstrip()))
        elif raw.startswith(">"):
            lines.append(("printed", raw[1:].strip()))
        elif raw.strip() or (lines and lines[-1][0] == "assistant"):
            lines.append(("assistant", raw))
            fence = mark[1] if mark else ""
    if started:
        yield started, lines


def _printed(draft: Draft, text: str) -> None:
    if not text:
        return
    draft.note("printed", {"text": text})
    model = _MODEL.search(text)
    if model:
        draft.model = model[1]
    tokens, cost = _TOKENS.search(text), _COST.search(text)
    if tokens:
        sent, received = _count(tokens[1], tokens[2]), _count(tokens[3], tokens[4])
        dollars = float(cost[1]) if cost else 0.0
        draft.use(UsageFact(draft.model, sent, received, cost_usd=dollars))


def _count(digits: str, unit: str) -> int:
    number = float(digits.replace(",", "").rstrip("."))
    return round(number * 1000) if unit else round(number)
