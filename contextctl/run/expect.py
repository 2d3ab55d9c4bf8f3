"""Whether an answer is what its task expects."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from contextctl.errors import ToolError
from contextctl.io.models.stdout_guard import stdout_to, to_stderr
from contextctl.io.tools.python import load_function
from contextctl.model.message import Json, JsonObject
from contextctl.model.task import Task


def check_answer(task: Task, answer: str) -> tuple[JsonObject, ...]:
    """One ``{"check", "passed", "why"?}`` for each thing the task expects of its answer.

    ``contains`` and ``regex`` take one text or a list, all of which must be found. ``equals``
    compares texts without the white space around them, and anything else as JSON. ``json_schema``
    reads the answer as JSON, with or without a Markdown fence. ``python`` is ``module:function``;
    it gets the answer and, if it takes two arguments, the task as a dict (``id``, ``input``,
    ``pins``, ``tags``), and returns True, or False or a text that says why not.
    """
    checks = []
    for check, value in task.expect.items():
        why = _fault(check, value, answer, task)
        outcome: JsonObject = {"check": check, "passed": not why}
        checks.append({**outcome, "why": why} if why else outcome)
    return tuple(checks)


def failed_checks(checks: tuple[JsonObject, ...]) -> str:
    """The failed checks as one sentence; empty when all passed."""
    failed = [f"{check['check']}: {check['why']}" for check in checks if not check["passed"]]
    return f"the answer is not what the task expects: {'; '.join(failed)}" if failed else ""


def _fault(check: str, expected: Json, answer: str, task: Task) -> str:
    """Why the answer fails the check; empty when it passes."""
    if check == "contains":
        return _each(expected, lambda text: text in answer, "is not in it")
    if check == "regex":
        return _each(expected, lambda text: re.search(text, answer) is not None, "is not found")
    if check == "equals":
        return _unequal(expected, answer)
    if check == "json_schema":
        return _against_schema(expected, answer)
    return _asked(str(expected), answer, task)


def _each(expected: Json, holds: Callable[[str], bool], fault: str) -> str:
    texts = expected if isinstance(expected, list) else [expected]
    missing = [str(text) for text in texts if not holds(str(text))]
    return f"{json.dumps(missing[0], ensure_ascii=False)} {fault}" if missing else ""


def _unequal(expected: Json, answer: str) -> str:
    if isinstance(expected, str):
        return "" if expected.strip() == answer.strip() else f"it is not {expected.strip()!r:.80}"
    try:
        same = json.loads(answer) == expected
    except (ValueError, RecursionError):
        return "it is not JSON"
    return "" if same else f"it is not {json.dumps(expected, ensure_ascii=False):.80}"


def _against_schema(schema: Json, answer: str) -> str:
    try:
        value = json.loads(_unfenced(answer))
    except (ValueError, RecursionError) as error:
        return f"it is not JSON: {error}"
    if not isinstance(schema, dict):
        return "the schema is not an object"
    from jsonschema.validators import Draft202012Validator  # only tasks with a schema pay for it

    faults: Iterator[str] = (
        f"{error.json_path}: {error.message:.160}"
        for error in Draft202012Validator(schema).iter_errors(value)
    )
    return next(faults, "")


def _unfenced(answer: str) -> str:
    fenced = re.fullmatch(r"\s*```[a-zA-Z]*\n(.*?)\n?```\s*", answer, re.DOTALL)
    return fenced[1] if fenced else answer


def _asked(target: str, answer: str, task: Task) -> str:
    file = task.source.rpartition(":")[0]
    folders = [Path(file).resolve().parent] if file and file != "<stdin>" else []
    try:
        function = load_function(target, [*folders, Path.cwd()], "expect.python")
        about = {"id": task.id, "input": task.input, "pins": dict(task.pins), "tags": task.tags}
        takes = len(inspect.signature(function).parameters)
        with stdout_to(to_stderr):
            verdict = function(answer) if takes == 1 else function(answer, about)
    except ToolError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001  # the function is the user's and may raise anything
        return f"{target} raised {type(error).__name__}: {error}"
    if isinstance(verdict, str):
        return verdict
    return "" if verdict else f"{target} says no"
