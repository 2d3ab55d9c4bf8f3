"""Pins taken from a tool's result: JMESPath over the raw result, as the tool's rule says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextctl.core.reading.exact_json import Number
from contextctl.core.shaping.read_json import parse_json
from contextctl.model.record import PinSet, ResultArrived

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from contextctl.model.message import Json
    from contextctl.model.profile import Profile
    from contextctl.model.record import Event


def result_pins(rule: Mapping[str, str], result: ResultArrived) -> tuple[PinSet, ...]:
    """One pin for each path of ``rule`` (pin name to path) that finds something in ``result``.

    A result that is an error or no JSON pins nothing, and a path that finds nothing leaves the pin
    as it was. Numbers keep their digits: ``1.10`` is pinned as written.
    """
    if not rule or result.status != "ok" or result.media:
        return ()
    parsed = parse_json(result.content)
    if parsed is None:
        return ()
    import jmespath  # only tools with pins pay for it

    found = ((key, jmespath.search(path, parsed.value)) for key, path in rule.items())
    return tuple(
        PinSet(key, _plain(value), source=result.call_id)
        for key, value in found
        if value is not None
    )


def with_pins(profile: Profile, events: Iterable[Event]) -> Iterator[Event]:
    """The facts of a trace, each result with the pins that its tool's rule takes from it."""
    for event in events:
        yield event
        if isinstance(event, ResultArrived):
            yield from result_pins(profile.result_rule(event.name).pin, event)


def _plain(value: Json) -> Json:
    """Numbers written as text keep their digits in the record."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value
