"""A step's call and its outcome, each on one line of a digest.

A call that a later step repeats is repeated literally, so a short argument stands whole. A long
one shows its beginning and its last line (a script says at its end what it runs). Nothing here can
be mistaken for arguments to copy: a digest is prose about calls, not a call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from contextctl.model.message import Json, Message, ToolCall

WHOLE_CHARS = 120
HEAD_CHARS, TAIL_CHARS = 60, 40
ASIDE_CHARS = 30
PATH_CHARS = 24
KEY_CHARS = 40
AGAIN_CHARS = 40
OUTCOME_CHARS, ERROR_CHARS = 30, 60
MAX_ARGUMENTS = 24

# Where an error message stands: the last lines of a log, or the only line there is.
_SCAN_HEAD, _SCAN_TAIL = 3_000, 1_500
_ERROR = re.compile(
    r"(?im)^[^\n]{0,80}?(?:\w{0,40}(?:Error|Exception)\b|\berror\b|\bfailed\b|\bfatal\b"
    r"|not found|no such file|denied"
    r"|exit(?:ed)? (?:code|with|status) [1-9]|失败|错误|异常|不存在|无法)[^\n]*$"
)
_STATUS = re.compile(r"(?i)(?:return_?code|exit[_ ]?(?:code|status))\W{1,3}(\d{1,3})\b")
_SHORT_LINES = 6


@dataclass(frozen=True, slots=True)
class CallForm:
    """A call as a digest shows it: ``arguments`` are (key, shown value) pairs."""

    name: str
    arguments: tuple[tuple[str, str], ...]

    @property
    def is_command(self) -> bool:
        """Whether it is one argument alone and whole, which a later call repeats to the letter."""
        return len(self.arguments) == 1 and not self.arguments[0][0] and "…" not in self.plain

    @property
    def plain(self) -> str:
        """The call with every value as it is shown first."""
        return " ".join([self.name, *(_pair(key, value) for key, value in self.arguments)])


def call_form(call: ToolCall) -> CallForm:
    """The one-line form of a call. A single argument needs no key."""
    try:
        arguments: Json = json.loads(call.arguments or "{}")
    except ValueError:
        arguments = call.arguments
    if not isinstance(arguments, dict):
        return CallForm(call.name, (("", _shown(arguments, alone=True)),))
    flat = [pair for _, pair in zip(range(MAX_ARGUMENTS), _flat(arguments, ""), strict=False)]
    alone = len(flat) == 1
    shown = ((one_line(key, KEY_CHARS), _shown(value, alone)) for key, value in flat)
    return CallForm(call.name, tuple(("" if alone else key, value) for key, value in shown))


def own_text(message: Message) -> str:
    """What an assistant's message says and what its calls carry, as plain text for its facts."""
    pieces = [message.text]
    for call in message.tool_calls:
        try:
            arguments: Json = json.loads(call.arguments or "{}")
        except ValueError:
            arguments = call.arguments
        flat = _flat(arguments, "") if isinstance(arguments, dict) else (("", arguments),)
        for key, value in flat:
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            long = len(shown) > WHOLE_CHARS or "\n" in shown
            pieces.append(shown if long else f"{key.rpartition('.')[2]}: {shown}")
    return "\n".join(pieces)


def calls_text(
    forms: Sequence[CallForm], said: set[CallForm], stands: Callable[[str], bool]
) -> str:
    """The calls of one step on one line; ``said`` are forms that stand in the same digest.

    A long path that already stands in the window (``stands``) shows its last part only.
    """
    shown = []
    for form in forms:
        if form in said and len(form.plain) > AGAIN_CHARS:
            shown.append(f"{form.name} (again) {one_line(form.plain[len(form.name) + 1 :], 20)}")
            continue
        said.add(form)
        pairs = [_pair(key, _tail(value, stands)) for key, value in form.arguments]
        shown.append(" ".join([form.name, *pairs]).strip())
    return "; ".join(shown)


def outcome(result: str) -> str:
    """How a call ended: its error line, a result that is one short line, or nothing to say.

    ``""`` means that it ended well with more than a line to read.
    """
    text = result.strip()
    if not text:
        return "→ (empty)"
    if len(text) > _SCAN_HEAD + _SCAN_TAIL:
        text = f"{text[:_SCAN_HEAD]}\n{text[-_SCAN_TAIL:]}"
    status = _STATUS.search(text[:120])
    lines = text.count("\n") + 1
    if (status and status[1] != "0") or (not status and lines < _SHORT_LINES):
        errors = [found for found in _ERROR.findall(text) if not found.startswith("<")]
        if errors:
            return f"✗ {one_line(errors[-1], ERROR_CHARS)}"
        if status:
            return f"✗ {status[1]}"
    whole = len(text) <= OUTCOME_CHARS and len(text.splitlines()) == 1
    return f"→ {text}" if whole else ""


def one_line(text: str, size: int) -> str:
    """``text`` with its white space as single spaces, cut to ``size`` characters."""
    joined = " ".join(text[: 4 * size].split())
    return joined if len(joined) <= size and len(text) <= 4 * size else f"{joined[: size - 1]}…"


def _pair(key: str, value: str) -> str:
    return f"{key}={value}" if key else value


def _flat(arguments: dict[str, Json], prefix: str) -> Iterator[tuple[str, Json]]:
    for key, value in arguments.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _shown(value: Json, alone: bool) -> str:  # noqa: FBT001  # read at its two call sites
    if not isinstance(value, str):
        text = json.dumps(value, ensure_ascii=False)
        whole = len(text) <= WHOLE_CHARS and len(text.splitlines()) <= 1
        return text if whole else one_line(text, HEAD_CHARS)
    if len(value) <= WHOLE_CHARS and len(value.splitlines()) <= 1:
        return "".join(value.splitlines())  # without the line end, whichever it is
    text = value.strip()
    lines = text.count("\n") + 1
    if not alone:
        start = one_line(text, ASIDE_CHARS)
        return f"({lines} lines) {start}" if lines > 1 else start
    tail = text.rpartition("\n")[2] if lines > 1 else text[-TAIL_CHARS:]
    return f"{one_line(text, HEAD_CHARS).rstrip('…')} … {one_line(tail, TAIL_CHARS)}"


def _tail(value: str, stands: Callable[[str], bool]) -> str:
    if len(value) < PATH_CHARS or " " in value or "/" not in value or "://" in value:
        return value
    return f"…/{value.rpartition('/')[2]}" if stands(value) else value
