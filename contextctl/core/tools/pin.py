"""The tool with which a model pins a value: from then on it stands verbatim, whatever is compacted.

A model names confirmed values, constraints and citations; the task, the todo list and open calls
are pinned by themselves and cannot be set by it. A pin let go says so by an empty value.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from contextctl.core.explain.tool_call import Arguments, bad_arguments, tool_spec
from contextctl.core.tools.plan_answer import Answered
from contextctl.model.message import Json, JsonObject
from contextctl.model.own_sources import PLAN
from contextctl.model.record import PinSet

PIN = "pin"
OWN = ("constraints", "confirmed_slots", "citations")
"""What a model may pin; the rest of the pinned keys belongs to the run."""
MAX_CHARS = 2_000

_KEY = re.compile(r"\w{1,40}(?:\.[^\s.][^.\n]{0,60}){0,4}")
_TEXT: JsonObject = {"type": "string"}
PIN_TOOL = tool_spec(
    PIN,
    "Keep a value to the letter for the whole task, e.g. confirmed_slots.order_id. Empty: let go.",
    {"key": _TEXT, "value": _TEXT},
    source=PLAN,
)


def pin_value(arguments: Mapping[str, Json], pinned: Collection[str]) -> Answered:
    """``pin``: one value under one of the profile's pinned keys, or below it after a dot."""
    asked = Arguments(arguments)
    key, value = asked.text("key").strip(), asked.text("value", "")
    if asked.problem:
        return Answered(bad_arguments(asked.problem))
    allowed = [name for name in OWN if name in pinned]
    if key.partition(".")[0] not in allowed or not _KEY.fullmatch(key):
        keys: list[Json] = [f"{name}.<name>" for name in allowed]
        return Answered({"error": "unknown_key", "key": key, "keys": keys})
    if len(value) > MAX_CHARS:
        hint = f"at most {MAX_CHARS} characters: store it with write_workspace and pin its ref"
        return Answered({"error": "too_long", "key": key, "hint": hint})
    if not value.strip():
        return Answered({"unpinned": key}, (PinSet(key, None, source=PIN),))
    return Answered({"pinned": key}, (PinSet(key, value, source=PIN),))
