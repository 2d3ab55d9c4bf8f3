"""The scripted model: replies replayed from a JSONL file, the same every time, offline.

A line is ``{"content", "tool_calls": [{"name", "arguments", "id"}], "usage", "finish_reason"}``, of
which ``content`` or ``tool_calls`` must be there, or
``{"error": {"status", "message", "retry_after", "overflow"}}``; each may have

- ``task``: only for the task with this id;
- ``when``: only for a request whose messages or tools contain this text;
- ``when_last``: only for one whose newest messages, those after the model's last turn and the tail
  block, contain this text, or all of a list of texts;
- ``delay_s``: seconds before the answer;
- ``repeat``: the line stays in the script.

Each task walks through the script by itself: a line that one task used up is still there for the
others. A task that is continued finds its place again by what it was answered before. ``arguments``
may be an object or a raw text, malformed if a test wants it so.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from contextctl.errors import UsageError
from contextctl.io.models.faults import ModelFault
from contextctl.model.message import Json, JsonObject, Message, ToolCall
from contextctl.model.reply import Reply, Request
from contextctl.model.usage import usage_from_provider

SCRIPTED = "scripted/"
_KEYS = frozenset(
    {
        "content",
        "tool_calls",
        "usage",
        "finish_reason",
        "error",
        "task",
        "when",
        "when_last",
        "delay_s",
        "repeat",
    }
)


@dataclass
class Script:
    """A script and each task's place in it. Safe to use from many threads."""

    name: str
    path: Path
    lines: tuple[JsonObject, ...]
    stop: threading.Event = field(default_factory=threading.Event, repr=False)
    _used: dict[str, set[int]] = field(default_factory=dict, repr=False)
    _answers: dict[str, int] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def reply(self, request: Request) -> Reply:
        """The next line that fits this task and request.

        Raises ``ModelFault`` for an error line, and when the script is shorter than the run.
        """
        started = time.monotonic()
        line, answer = self._next(request)
        if self.stop.wait(_seconds(line.get("delay_s"))):
            raise ModelFault("stopped", "stopped before the scripted answer")
        error = line.get("error")
        if isinstance(error, Mapping):
            raise _fault(error)
        usage = line.get("usage")
        calls = line.get("tool_calls")
        finish = "tool_calls" if calls else "stop"
        return Reply(
            message=_message(line, answer),
            usage=usage_from_provider(usage, self.name) if isinstance(usage, Mapping) else None,
            model=self.name,
            finish_reason=str(line.get("finish_reason") or finish),
            duration_s=time.monotonic() - started,
        )

    def continued(self, task: str, said: Sequence[Message]) -> None:
        """Use up the lines that ``task`` was answered with before, and the errors on their way."""
        with self._lock:
            used = self._used.setdefault(task, set())
            for message in said:
                place = self._place_of(message, task, used)
                if place is None:
                    continue
                skipped = (n for n in range(place) if _is_error(self.lines[n], task))
                used.update(skipped, () if self.lines[place].get("repeat") else (place,))
            self._answers[task] = len(said)

    def _place_of(self, message: Message, task: str, used: set[int]) -> int | None:
        """The first line left that says what ``message`` says."""
        for place, line in enumerate(self.lines):
            if place in used or str(line.get("task", task)) != task or "error" in line:
                continue
            if _said(_message(line, 0)) == _said(message):
                return place
        return None

    def _next(self, request: Request) -> tuple[JsonObject, int]:
        text = ""
        if any("when" in line for line in self.lines):
            body: Json = [*request.messages, *request.tools]
            text = json.dumps(body, ensure_ascii=False)
        newest = _newest(request) if any("when_last" in line for line in self.lines) else ""
        with self._lock:
            used = self._used.setdefault(request.task, set())
            answer = self._answers.get(request.task, 0) + 1
            for place, line in enumerate(self.lines):
                if place in used or not _fits(line, request.task, text, newest):
                    continue
                if not line.get("repeat"):
                    used.add(place)
                self._answers[request.task] = answer
                return line, answer
        raise ModelFault(
            "script",
            f"the script '{self.path}' has no line left for answer {answer} of task "
            f"'{request.task}': add one, or mark the last with \"repeat\": true",
        )


def open_script(
    name: str, profile_path: str = "", *, stop: threading.Event | None = None
) -> Script:
    """The script that the model string ``scripted/<file>`` names.

    A relative path is looked for beside the profile, then in the working directory. Raises
    ``UsageError`` with ``file:line`` for a missing or malformed script.
    """
    path = _find(name.removeprefix(SCRIPTED), profile_path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the script '{path}' of model '{name}': {error}") from None
    numbered = enumerate(text.split("\n"), start=1)
    lines = tuple(_line(raw, f"{path}:{number}") for number, raw in numbered if raw.strip())
    return Script(name, path, lines, stop or threading.Event())


def _find(file: str, profile_path: str) -> Path:
    beside = Path(profile_path).parent / file if profile_path else Path(file)
    for path in (beside, Path(file)):
        if path.is_file():
            return path
    raise UsageError(
        f"model '{SCRIPTED}{file}': there is no file '{beside}'; "
        "write the path relative to the profile"
    )


def _line(raw: str, where: str) -> JsonObject:
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: not valid JSON: {error}") from None
    if not isinstance(line, dict):
        raise UsageError(f"{where}: a script line must be an object")
    unknown = sorted(set(line) - _KEYS)
    if unknown:
        raise UsageError(f"{where}: unknown key '{unknown[0]}'; known: {', '.join(sorted(_KEYS))}")
    if not any(key in line for key in ("content", "tool_calls", "error")):
        raise UsageError(f"{where}: a script line needs 'content', 'tool_calls' or 'error'")
    calls = line.get("tool_calls", [])
    if not isinstance(calls, list) or not all(_is_call(call) for call in calls):
        raise UsageError(f"{where}: 'tool_calls' must be a list of objects with a 'name'")
    return cast("JsonObject", line)


def _is_call(call: Json) -> bool:
    return isinstance(call, dict) and isinstance(call.get("name"), str)


def _newest(request: Request) -> str:
    """The messages since the model spoke last, as they are said."""
    said: list[str] = []
    for message in reversed(request.messages):
        if message.get("role") == "assistant":
            break
        said.append(str(message.get("content")))
    return "\n".join(reversed(said))


def _fits(line: Mapping[str, Json], task: str, text: str, newest: str) -> bool:
    if "task" in line and str(line["task"]) != task:
        return False
    wanted = line.get("when_last", [])
    texts = wanted if isinstance(wanted, list) else [wanted]
    if not all(str(one) in newest for one in texts):
        return False
    return "when" not in line or str(line["when"]) in text


def _is_error(line: Mapping[str, Json], task: str) -> bool:
    """Whether ``line`` is an error that ``task`` met without a condition."""
    bound = {"when", "when_last", "repeat"} & line.keys()
    return "error" in line and not bound and str(line.get("task", task)) == task


def _said(message: Message) -> tuple[Json, list[tuple[str, Json]]]:
    """What a message says, whatever the ids of its calls are."""
    return message.text, [(call.name, _arguments(call.arguments)) for call in message.tool_calls]


def _arguments(text: str) -> Json:
    try:
        return cast("Json", json.loads(text))
    except (ValueError, RecursionError):
        return text


def _message(line: Mapping[str, Json], answer: int) -> Message:
    calls = []
    for place, call in enumerate(cast("list[JsonObject]", line.get("tool_calls") or [])):
        arguments = call.get("arguments", {})
        text = (
            arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        )
        call_id = str(call.get("id") or f"call_{answer}_{place + 1}")
        calls.append(ToolCall(call_id, str(call["name"]), text))
    content = line.get("content")
    return Message(
        role="assistant",
        content=content if isinstance(content, (str, list)) else None,
        tool_calls=tuple(calls),
    )


def _fault(error: Mapping[str, Json]) -> ModelFault:
    message = str(error.get("message") or "scripted error")
    status = error.get("status")
    wait = error.get("retry_after")
    return ModelFault(
        kind="overflow" if error.get("overflow") else "status" if status else "unreachable",
        message=message,
        status=int(status) if isinstance(status, (int, float)) else None,
        retry_after=float(wait) if isinstance(wait, (int, float)) else None,
    )


def _seconds(value: Json) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0
