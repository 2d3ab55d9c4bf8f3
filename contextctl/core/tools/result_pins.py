"""Pins and reminders taken from a tool's result: JMESPath over the raw result, as its rule says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextctl.core.count import json_text
from contextctl.core.reading.exact_json import Number
from contextctl.core.shaping.read_json import parse_json
from contextctl.model.record import PinSet, ResultArrived, SlotSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from contextctl.model.message import Json
    from contextctl.model.profile import Profile
    from contextctl.model.record import Event
    from contextctl.model.tool_rules import ResultRule


LONGEST = 600
"""Characters of a reminder: the tail is sent anew with every step."""


def result_pins(rule: ResultRule, result: ResultArrived) -> tuple[PinSet | SlotSet, ...]:
    """A pin for each path of ``rule.pin`` and a reminder for each of ``rule.remind`` (name to path)
    that finds something in ``result``.

    A result that is an error or no JSON gives none, and a path that finds nothing leaves the pin or
    slot as it was. Numbers keep their digits: ``1.10`` is pinned as written. An empty text clears
    a slot.
    """
    if not (rule.pin or rule.remind) or result.status != "ok" or result.media:
        return ()
    parsed = parse_json(result.content)
    if parsed is None:
        return ()
    pins = [PinSet(key, value, source=result.call_id)
            for key, value in _found(rule.pin, parsed.value)]  # fmt: skip
    slots = [SlotSet(key, _said(value)) for key, value in _found(rule.remind, parsed.value)]
    return (*pins, *slots)


def with_pins(profile: Profile, events: Iterable[Event]) -> Iterator[Event]:
    """The facts of a trace, each result with the pins and reminders that its rule takes from it."""
    for event in events:
        yield event
        if isinstance(event, ResultArrived):
            yield from result_pins(profile.result_rule(event.name), event)


def _found(paths: Mapping[str, str], value: Json) -> Iterator[tuple[str, Json]]:
    import jmespath  # only tools with such rules pay for it

    for key, path in paths.items():
        found = jmespath.search(path, value)
        if found is not None:
            yield key, _plain(found)


def _said(value: Json) -> str:
    """A value as a line of the tail."""
    text = " ".join((value if isinstance(value, str) else json_text(value)).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def _plain(value: Json) -> Json:
    """Numbers written as text keep their digits in the record."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value
