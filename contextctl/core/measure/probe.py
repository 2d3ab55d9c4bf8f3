"""The retention probe: what a later call needed, and whether the window of its step still held it.

For each tool call of a trace, every argument value that occurs literally in an earlier message is
*needed*. In the window that the step was asked with it is *in window*, or *recoverable* (a ref
that stands whole in the window leads to text that holds it), or *lost*. Beside that: whether the
window is a valid message list and within its budget, what it costs to send, and how much of the
users' text stands in it verbatim.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from contextctl.core.measure.needed import (
    called_functions,
    content_text,
    json_text,
    message_text,
    needed_values,
)
from contextctl.core.measure.validity import window_problems
from contextctl.model.message import JsonObject

REF_CHARS = 60_000
USER_CHARS = 1_000
PREFIX_FROM, PREFIX_BLOCK = 1_024, 128
HELD_PRICE = 0.1
TOKENS_PER_MESSAGE = 3

_REF_CHAR = re.compile(r"[A-Za-z0-9_-]")

CountText = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Window:
    """What a step was asked with: OpenAI chat messages and tools."""

    messages: Sequence[JsonObject]
    tools: Sequence[JsonObject] = ()


@dataclass(frozen=True, slots=True)
class StepScore:
    """One assistant turn. ``lost`` and ``recoverable`` name the values; sizes are in tokens."""

    step: int
    tokens: int
    held: int
    over: bool
    problems: tuple[str, ...]
    needed: int
    in_window: int
    recoverable: tuple[str, ...]
    lost: tuple[str, ...]
    user_chars: int
    user_kept: int
    extra_reads: int

    @property
    def billed(self) -> float:
        """Input tokens at the price of uncached ones: held tokens count a tenth."""
        return self.tokens - (1.0 - HELD_PRICE) * self.held


@dataclass(slots=True)
class Score:
    """The sums over steps. ``missing`` counts steps without a window, ``missed`` their values."""

    steps: int = 0
    missing: int = 0
    missed: int = 0
    tokens: int = 0
    held: int = 0
    over: int = 0
    invalid: int = 0
    needed: int = 0
    in_window: int = 0
    recoverable: int = 0
    lost: int = 0
    extra_reads: int = 0
    user_chars: int = 0
    user_kept: int = 0
    problems: dict[str, int] = field(default_factory=dict)

    @property
    def billed(self) -> float:
        """Billed input, in tokens."""
        return self.tokens - (1.0 - HELD_PRICE) * self.held

    def add(self, step: StepScore) -> None:
        """Count one step in."""
        self.steps += 1
        self.tokens += step.tokens
        self.held += step.held
        self.over += step.over
        self.invalid += bool(step.problems)
        self.needed += step.needed
        self.in_window += step.in_window
        self.recoverable += len(step.recoverable)
        self.lost += len(step.lost)
        self.extra_reads += step.extra_reads
        self.user_chars += step.user_chars
        self.user_kept += step.user_kept
        for problem in step.problems:
            self.problems[problem] = self.problems.get(problem, 0) + 1

    def to_json(self) -> JsonObject:
        """Counts, and shares of the needed values (of the steps that had a window)."""
        needed = self.needed or 1
        problems: JsonObject = {name: self.problems[name] for name in sorted(self.problems)}
        return {
            "steps": self.steps,
            "steps_without_window": self.missing,
            "needed_without_window": self.missed,
            "needed": self.needed,
            "in_window": self.in_window,
            "recoverable": self.recoverable,
            "lost": self.lost,
            "extra_reads": self.extra_reads,
            "in_window_share": round(self.in_window / needed, 5),
            "kept_share": round((self.in_window + self.recoverable) / needed, 5),
            "tokens": self.tokens,
            "billed": round(self.billed),
            "held_share": round(self.held / (self.tokens or 1), 4),
            "over_budget": self.over,
            "invalid": self.invalid,
            "problems": problems,
            "user_text_kept": round(self.user_kept / (self.user_chars or 1), 5),
        }


def probe(
    messages: Sequence[JsonObject],
    windows: Mapping[int, Window],
    usable: int,
    refs: Mapping[str, str],
    count: CountText,
) -> Iterator[StepScore | tuple[int, int]]:
    """Score each assistant turn of a trace that has a window; ``(step, needed)`` for the others.

    ``messages`` is the trace in OpenAI chat form; ``windows`` maps the number of an assistant turn
    (from 1) to its window; ``refs`` maps a ref to the text it leads to.
    """
    memo = _Memo(count)
    step = 0
    for position, message in enumerate(messages):
        if message.get("role") != "assistant":
            continue
        step += 1
        earlier = messages[:position]
        needed = [value for value in needed_values(message) if memo.found(value, earlier)]
        window = windows.get(step)
        if window is None:
            memo.previous = None
            yield step, len(needed)
        else:
            yield _score_step(step, earlier, needed, window, usable, refs, memo)


class _Memo:
    """Token counts and searches of one trace; windows share most of their messages."""

    def __init__(self, count: CountText) -> None:
        self._count = count
        self._tokens: dict[str, int] = {}
        self._texts: dict[int, tuple[JsonObject, str]] = {}
        self._found: dict[tuple[str, int], bool] = {}
        self.previous: tuple[tuple[str, int], ...] | None = None

    def tokens(self, text: str) -> int:
        if text not in self._tokens:
            self._tokens[text] = self._count(text)
        return self._tokens[text]

    def text(self, message: JsonObject) -> str:
        known = self._texts.get(id(message))
        if known is None or known[0] is not message:
            known = self._texts[id(message)] = (message, message_text(message))
        return known[1]

    def found(self, value: str, messages: Iterable[JsonObject]) -> bool:
        for message in messages:
            text = self.text(message)
            key = (value, hash(text))
            if key not in self._found:
                self._found[key] = value in text
            if self._found[key]:
                return True
        return False

    def sizes(self, window: Window) -> tuple[tuple[str, int], ...]:
        """The window as (bytes, tokens) pieces in the order in which a provider reads them."""
        pieces: list[tuple[str, int]] = []
        if window.tools:
            tools = json_text(list(window.tools))
            pieces.append((tools, self.tokens(tools)))
        for message in window.messages:
            tokens = TOKENS_PER_MESSAGE + self.tokens(content_text(message))
            for call in called_functions(message):
                tokens += self.tokens(str(call.get("name")))
                tokens += self.tokens(str(call.get("arguments")))
            pieces.append((json_text(message), tokens))
        return tuple(pieces)

    def held(self, pieces: tuple[tuple[str, int], ...]) -> int:
        """Tokens shared with the previous window's prefix, in whole blocks."""
        previous, self.previous = self.previous, pieces
        common = 0
        for old, new in zip(previous or (), pieces, strict=False):
            if old[0] != new[0]:
                common += self.tokens(_common(old[0], new[0]))
                break
            common += new[1]
        return common // PREFIX_BLOCK * PREFIX_BLOCK if common >= PREFIX_FROM else 0


def _score_step(
    step: int,
    earlier: Sequence[JsonObject],
    needed: Sequence[str],
    window: Window,
    usable: int,
    refs: Mapping[str, str],
    memo: _Memo,
) -> StepScore:
    pieces = memo.sizes(window)
    tokens = sum(size for _, size in pieces)
    missing = [value for value in needed if not memo.found(value, window.messages)]
    leads = _visible(window.messages, refs, memo) if missing else {}
    sources = {value: _holder(value, leads) for value in missing}
    users = [content_text(m)[:USER_CHARS] for m in earlier if m.get("role") == "user"]
    return StepScore(
        step=step,
        tokens=tokens,
        held=memo.held(pieces),
        over=tokens > usable,
        problems=window_problems(window.messages, earlier),
        needed=len(needed),
        in_window=len(needed) - len(missing),
        recoverable=tuple(value for value in missing if sources[value]),
        lost=tuple(value for value in missing if not sources[value]),
        user_chars=sum(map(len, users)),
        user_kept=sum(len(text) for text in users if memo.found(text, window.messages)),
        extra_reads=len({ref for ref in sources.values() if ref}),
    )


def _visible(
    messages: Sequence[JsonObject], refs: Mapping[str, str], memo: _Memo
) -> Mapping[str, str]:
    """The refs that stand whole in the window and lead to one bounded stretch."""
    texts = [memo.text(message) for message in messages]
    return {
        ref: text
        for ref, text in refs.items()
        if len(text) <= REF_CHARS and any(_whole(ref, seen) for seen in texts)
    }


def _whole(ref: str, text: str) -> bool:
    at = text.find(ref)
    while at >= 0:
        sides = text[at - 1 : at] if at else "", text[at + len(ref) : at + len(ref) + 1]
        if not any(_REF_CHAR.match(side) for side in sides):
            return True
        at = text.find(ref, at + 1)
    return False


def _holder(value: str, leads: Mapping[str, str]) -> str:
    return next((ref for ref, text in leads.items() if value in text), "")


def _common(left: str, right: str) -> str:
    """The common beginning of two texts."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[:middle] == right[:middle]:
            low = middle
        else:
            high = middle - 1
    return left[:low]
