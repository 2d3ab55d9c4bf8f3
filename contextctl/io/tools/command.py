"""Tools that are commands: an argument list, no shell, ended with everything they started.

``{name}`` in the list is replaced by the argument of that name, always inside one element, so that
no value can become a second argument. An element that is nothing but a placeholder goes away when
its argument was not given. Arguments without a placeholder arrive as one JSON object on stdin.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from contextctl.io.tools.processes import Ended, RunningCommands, run_process
from contextctl.io.tools.result_text import outcome_of_bytes
from contextctl.model.message import Json, JsonObject
from contextctl.model.outcome import ToolOutcome

_PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")


def default_parameters(command: Sequence[str]) -> JsonObject:
    """The schema of a command that declares none: each placeholder is a required text."""
    names = list(dict.fromkeys(_PLACEHOLDER.findall(" ".join(command))))
    properties: JsonObject = {name: {"type": "string"} for name in names}
    schema: JsonObject = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": [*names]} if names else schema


def filled(
    command: Sequence[str], arguments: Mapping[str, Json], declared: Mapping[str, Json]
) -> tuple[list[str], bytes | None]:
    """The argument list to run, and what to write to its stdin (None: it gets none).

    Only names that ``declared`` (the schema's properties) knows are placeholders: ``awk '{print}'``
    stays as it is.
    """
    used: set[str] = set()
    words: list[str] = []
    for element in command:
        names = [name for name in _PLACEHOLDER.findall(element) if name in declared]
        used.update(names)
        if names and element == f"{{{names[0]}}}" and arguments.get(names[0]) is None:
            continue
        words.append(_PLACEHOLDER.sub(lambda found: _value(found, arguments, declared), element))
    rest = set(arguments) - used
    return words, json.dumps(arguments, ensure_ascii=False).encode() if rest else None


def found_beside(command: Sequence[str], folder: Path) -> tuple[str, ...]:
    """The command with each file that is there only beside the profile named by its whole path."""

    def located(element: str) -> str:
        if "{" in element or element.startswith(("-", "/")) or not _may_be_file(element):
            return element
        beside = folder / element
        try:
            only_there = beside.is_file() and not Path(element).exists()
        except OSError:  # a text too long to be a path
            return element
        return str(beside.resolve()) if only_there else element

    return tuple(located(element) for element in command)


def run_command(
    words: Sequence[str],
    stdin: bytes | None,
    timeout_s: float,
    running: RunningCommands,
    environment: Mapping[str, str],
) -> ToolOutcome:
    """Run a filled command. The result holds stdout, and where there is something to say, stderr
    and the exit code; another exit code than 0 makes it an error result.

    Raises ``ToolError`` if it cannot be started.
    """
    ended = run_process(words, stdin, timeout_s, running, environment)
    remark = "[background processes that held the output open were ended]" if ended.left else ""
    if not ended.in_time:
        remark = f"[ended after {timeout_s:g} s: the tool's time limit]"
    return _outcome(ended, remark)


def _value(
    found: re.Match[str], arguments: Mapping[str, Json], declared: Mapping[str, Json]
) -> str:
    name = found[1]
    if name not in declared:
        return found[0]
    value = arguments.get(name)
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _may_be_file(element: str) -> bool:
    return "/" in element or "." in element


def _outcome(ended: Ended, remark: str) -> ToolOutcome:
    code = ended.code
    shown, errors = outcome_of_bytes(ended.out), outcome_of_bytes(ended.err)
    status = "ok" if code == 0 and ended.in_time else "error"
    extra: dict[str, Json] = {"exit_code": code}
    quiet = status == "ok" and not remark
    if quiet and (not errors.content or _is_json(shown.content)):
        if errors.content:
            extra["stderr"] = errors.content
        return ToolOutcome(shown.content, status, shown.media, shown.data, extra)
    parts = [shown.content.rstrip("\n")] if shown.content.strip() else []
    if errors.content.strip():
        parts.append(f"[stderr]\n{errors.content.rstrip()}")
    if code < 0:
        parts.append(f"[ended by signal {-code}]")
    elif code > 0:
        parts.append(f"[exit code {code}]")
    if remark:
        parts.append(remark)
    return ToolOutcome("\n".join(parts), status, extra=extra)


def _is_json(text: str) -> bool:
    """Whether stdout is one JSON value: warnings beside it would break it for whoever reads it."""
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
