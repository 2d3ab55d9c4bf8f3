"""Task files: one JSON object a line, read whole before anything is asked of a model.

All problems are told at once, each at ``file:line``. What a line must look like stands in
``schemas/task.schema.json``; it is checked here by hand, because a message such as
``tasks.jsonl:3: unknown key 'prompt'; did you mean 'input'?`` is what a person needs.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from contextctl.errors import UsageError
from contextctl.model.message import Message, message_from_openai, tool_from_openai
from contextctl.model.task import CHECKS, Task

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from contextctl.model.message import Json, JsonObject, ToolSpec

KEYS = (
    "id", "input", "messages", "constraints", "pins", "documents", "retrieved", "subject",
    "tools", "expect", "tags",
)  # fmt: skip
_MEANT = {"prompt": "input", "question": "input", "query": "input", "text": "input"}
_MOST_SHOWN = 20


def read_tasks(name: str | Path, *, stdin: bytes | None = None) -> tuple[Task, ...]:
    """The tasks of a JSONL file; ``-`` is standard input (or ``stdin``).

    A task without ``id`` gets one made from its content. Raises ``UsageError`` that names every
    problem at its ``file:line``, both lines of an id that occurs twice included.
    """
    shown = "<stdin>" if str(name) == "-" else str(name)
    text = _text(name, shown, stdin)
    reading = _Reading(shown)
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            reading.add(number, line)
    if not reading.tasks and not reading.problems:
        reading.problems.append(f"{shown}: no task; write one JSON object a line, with 'input'")
    if reading.problems:
        more = len(reading.problems) - _MOST_SHOWN
        rest = [f"… and {more} more"] if more > 0 else []
        raise UsageError("\n".join([*reading.problems[:_MOST_SHOWN], *rest]))
    return tuple(reading.tasks)


def task_from_json(raw: Mapping[str, Json], source: str = "") -> Task:
    """One task from plain data. Raises ``ValueError`` with every problem, one a line."""
    problems = list(_problems(raw))
    messages: tuple[Message, ...] = ()
    specs: tuple[ToolSpec, ...] = ()
    if not problems:
        messages, message_problems = _messages(raw)
        specs, tool_problems = _specs(raw)
        problems = [*message_problems, *tool_problems]
    if problems:
        raise ValueError("\n".join(problems))
    digest = _digest(raw)
    given = _list(raw.get("tools"))
    names = tuple(tool for tool in given if isinstance(tool, str))
    all_tools = raw.get("tools") is None or (bool(given) and not names)
    return Task(
        id=str(raw["id"]) if raw.get("id") is not None else f"t-{digest[:8]}",
        messages=messages,
        digest=digest,
        source=source,
        input=_one_text(raw.get("input")),
        constraints=tuple(str(text) for text in _list(raw.get("constraints"))),
        pins=_mapping(raw.get("pins")),
        documents=tuple(_list(raw.get("documents"))),
        retrieved=tuple(_passage(item) for item in _list(raw.get("retrieved"))),
        subject=_one_text(raw.get("subject")),
        tools=None if all_tools else names,
        tool_specs=specs,
        expect=_mapping(raw.get("expect")),
        tags=raw.get("tags"),
    )


class _Reading:
    """The tasks and problems of one file so far."""

    def __init__(self, shown: str) -> None:
        self.shown = shown
        self.tasks: list[Task] = []
        self.problems: list[str] = []
        self._lines: dict[str, int] = {}

    def add(self, number: int, line: str) -> None:
        """Read the line ``number``."""
        where = f"{self.shown}:{number}"
        try:
            raw = json.loads(line)
        except ValueError as error:
            self.problems.append(f"{where}: not valid JSON: {_json_fault(error, line)}")
            return
        except RecursionError:
            self.problems.append(f"{where}: not usable JSON: nested too deeply")
            return
        if not isinstance(raw, dict):
            self.problems.append(f"{where}: a task is a JSON object, not {_kind(raw)}")
            return
        try:
            task = task_from_json(raw, where)
        except ValueError as error:
            self.problems += [f"{where}: {text}" for text in str(error).split("\n")]
            return
        named = raw.get("id") is not None
        first = self._lines.get(task.id)
        if first is not None and named:
            self.problems.append(
                f"{where}: the id '{task.id}' stands on line {first} already; ids must be unique"
            )
            return
        task = task if first is None else self._distinct(task)
        self._lines[task.id] = number
        self.tasks.append(task)

    def _distinct(self, task: Task) -> Task:
        """The same content twice without an id: told apart by their order."""
        count = 2
        while f"{task.id}-{count}" in self._lines:
            count += 1
        return replace(task, id=f"{task.id}-{count}")


def _text(name: str | Path, shown: str, stdin: bytes | None) -> str:
    try:
        if str(name) == "-":
            data = sys.stdin.buffer.read() if stdin is None else stdin
        else:
            data = Path(name).read_bytes()
    except FileNotFoundError:
        raise UsageError(f"there is no task file '{name}'") from None
    except OSError as error:
        raise UsageError(f"cannot read the task file '{name}': {error.strerror}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{shown}:{line}: not UTF-8; save the file as UTF-8") from None


def _problems(raw: Mapping[str, Json]) -> Iterator[str]:
    """What is wrong with the keys and their kinds."""
    for key in raw:
        if key not in KEYS:
            yield f"unknown key '{key}'; {_hint(key, KEYS, _MEANT)}"
    if raw.get("id") is not None and not _is_id(raw["id"]):
        yield f"'id' must be a text that is not empty, or a whole number, not {_kind(raw['id'])}"
    yield from _start_problems(raw)
    for key, (kind, wanted) in _SHAPES.items():
        value = raw.get(key)
        if value is not None and not isinstance(value, kind):
            yield f"'{key}' must be {wanted}, not {_kind(value)}"
    for index, text in enumerate(_list(raw.get("constraints"))):
        if not isinstance(text, str):
            yield f"'constraints[{index}]' must be a text, not {_kind(text)}"
    for index, item in enumerate(_list(raw.get("retrieved"))):
        if not isinstance(item, str) and not (isinstance(item, dict) and item.get("text")):
            yield f"'retrieved[{index}]' must be a text, or an object with 'text'"
    yield from _expect_problems(_mapping(raw.get("expect")))


_SHAPES: dict[str, tuple[type, str]] = {
    "constraints": (list, "a list"),
    "documents": (list, "a list"),
    "retrieved": (list, "a list"),
    "tools": (list, "a list"),
    "pins": (dict, "an object"),
    "expect": (dict, "an object"),
    "subject": (str, "a text"),
}


def _start_problems(raw: Mapping[str, Json]) -> Iterator[str]:
    """A task starts with an input or with a conversation."""
    given, said = raw.get("input"), raw.get("messages")
    if (given is None) == (said is None):
        yield "a task needs 'input' or 'messages'" + (", not both" if given is not None else "")
    if given is not None and not (isinstance(given, str) and given.strip()):
        yield f"'input' must be a text that is not empty, not {_kind(given)}"
    if said is not None and not (isinstance(said, list) and said):
        yield f"'messages' must be a list that is not empty, not {_kind(said)}"


def _expect_problems(expect: Mapping[str, Json]) -> Iterator[str]:
    for key, value in expect.items():
        if key not in CHECKS:
            yield f"unknown check 'expect.{key}'; {_hint(key, CHECKS)}"
        elif key == "regex":
            for pattern in value if isinstance(value, list) else [value]:
                try:
                    re.compile(str(pattern))
                except re.error as error:
                    yield f"'expect.regex' is no regular expression: {error}"
        elif key == "python" and not (isinstance(value, str) and ":" in value):
            yield "'expect.python' must be written as module:function"
        elif key == "json_schema" and not isinstance(value, dict):
            yield f"'expect.json_schema' must be an object, not {_kind(value)}"


def _messages(raw: Mapping[str, Json]) -> tuple[tuple[Message, ...], list[str]]:
    if raw.get("input") is not None:
        return (Message(role="user", content=str(raw["input"])),), []
    messages, problems = [], []
    for index, item in enumerate(_list(raw.get("messages"))):
        try:
            messages.append(message_from_openai(_object(item, "a message is an object")))
        except ValueError as error:
            problems.append(f"'messages[{index}]': {error}")
    return tuple(messages), problems


def _specs(raw: Mapping[str, Json]) -> tuple[tuple[ToolSpec, ...], list[str]]:
    specs, problems = [], []
    for index, item in enumerate(_list(raw.get("tools"))):
        if isinstance(item, str):
            continue
        try:
            specs.append(tool_from_openai(_object(item, "a tool is a name or an object"), "task"))
        except ValueError as error:
            problems.append(f"'tools[{index}]': {error}")
    return tuple(specs), problems


def _digest(raw: Mapping[str, Json]) -> str:
    content = {
        key: value for key, value in raw.items() if key not in ("id", "tags") and value is not None
    }
    text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _hint(key: str, known: Sequence[str], meant: Mapping[str, str] | None = None) -> str:
    close = (meant or {}).get(key) or next(iter(get_close_matches(key, known, n=1)), "")
    return f"did you mean '{close}'?" if close else f"known: {', '.join(known)}"


def _object(item: Json, what: str) -> JsonObject:
    if not isinstance(item, dict):
        raise ValueError(f"{what}, not {_kind(item)}")
    return item


def _passage(item: Json) -> JsonObject:
    return dict(item) if isinstance(item, dict) else {"text": str(item)}


def _is_id(value: Json) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    return isinstance(value, int) and not isinstance(value, bool)


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _mapping(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _one_text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _json_fault(error: ValueError, line: str) -> str:
    if line.lstrip().startswith("[") or line.strip() == "{":
        return "write one whole JSON object on each line"
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at column {error.colno}"
    return str(error)


def _kind(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "an empty text" if not value.strip() else "a text"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    return "an object" if isinstance(value, dict) else "a number"
