"""'It forgot': never said, dropped by a summary, or not pinned, from a record and its audit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from contextctl.core.audit.why import why
from contextctl.core.walk import walk
from contextctl.model.assembly import Assembly, Offload
from contextctl.model.audit import Compaction, PinKept
from contextctl.model.counter import Approx
from contextctl.model.ledger import Action
from contextctl.model.message import JsonObject, Message, ToolCall
from contextctl.model.profile import profile_from_mapping
from contextctl.model.record import (
    Event,
    MessageAdded,
    Opened,
    PinSet,
    ResultArrived,
    StepTaken,
    TaskGiven,
)

PROFILE = profile_from_mapping({"version": 1, "model": {"name": "scripted/x", "window": 9_000}})
COMPACTION = Compaction(
    "c-1", "t", 2, "ratio", "committed", "s-raw", {"done": ["looked up the order"]},
    ("task",), 100, 40, 1, 2, 4,
)  # fmt: skip
EVENTS: tuple[Event, ...] = (
    Opened("t", "s", "00"),
    MessageAdded(Message("user", "Please send it to the OFFICE  only, and 要开专票。")),
    StepTaken(1),
    MessageAdded(Message("assistant", "Noted.", (ToolCall("c1", "find", '{"order": "A-77"}'),))),
    ResultArrived("c1", "find", "carrier: SF, waybill 884422"),
    MessageAdded(Message("user", "go on")),
    StepTaken(2),
    MessageAdded(Message("assistant", "Done.")),
    MessageAdded(Message("user", "and now?")),
    StepTaken(3),
)


def steps(
    windows: Iterable[str], taken: Iterable[Action] = (), stored: Iterable[Offload] = ()
) -> list[Assembly]:
    """Assemblies whose windows say just ``windows``; the last step took and stored things."""
    real = [one.assembly for one in walk(PROFILE, Approx(), EVENTS)]
    out = []
    for number, (text, one) in enumerate(zip(windows, real, strict=True), start=1):
        messages: tuple[JsonObject, ...] = ({"role": "user", "content": text},)
        ledger = replace(one.ledger, actions=tuple(taken) if number == 3 else ())
        offloads = tuple(stored) if number == 3 else ()
        out.append(replace(one, messages=messages, ledger=ledger, offloads=offloads))
    return out


def test_what_nobody_said_was_never_said() -> None:
    found = why("gift wrapping", "t", EVENTS, steps(["", "", ""]), [])
    assert (found.verdict, found.said) == ("never_said", ())


def test_the_closest_thing_said_is_named() -> None:
    found = why("send to office", "t", EVENTS, steps(["", "", ""]), [])
    assert found.verdict == "never_said"
    assert [one.event for one in found.closest] == [2]


def test_case_width_and_spacing_do_not_matter() -> None:
    found = why("ｏffice only", "t", EVENTS, steps(["office only"] * 3), [])
    assert found.verdict == "in_window"
    assert (found.step, found.last_step) == (3, 3)
    assert [(one.event, one.turn, one.by) for one in found.said] == [(2, 1, "user")]


def test_a_real_window_that_has_it_is_not_to_blame() -> None:
    real = [one.assembly for one in walk(PROFILE, Approx(), EVENTS)]
    assert why("要开专票", "t", EVENTS, real, []).verdict == "in_window"
    assert why("A-77", "t", EVENTS, real, []).verdict == "in_window"


def test_a_summary_that_lacks_it_dropped_it() -> None:
    found = why("要开专票", "t", EVENTS, steps(["要开专票", "", ""]), [COMPACTION])
    assert (found.verdict, found.by, found.last_step) == ("dropped_by_summary", "c-1", 1)
    (covered,) = found.covered
    assert (covered.in_summary, covered.in_pins, covered.raw_ref) == (False, False, "s-raw")


def test_a_later_generation_that_lacks_it_is_the_one_to_blame() -> None:
    first = replace(COMPACTION, summary={"entities": {"invoice": "要开专票"}})
    second = replace(COMPACTION, compaction_id="c-2", step=3, generation=2, event_to=8)
    found = why("要开专票", "t", EVENTS, steps(["要开专票", "要开专票", ""]), [second, first])
    assert (found.verdict, found.by) == ("dropped_by_summary", "c-2")
    assert [one.in_summary for one in found.covered] == [True, False]


def test_a_discarded_compaction_took_nothing() -> None:
    failed = replace(COMPACTION, outcome="discarded")
    found = why("要开专票", "t", EVENTS, steps(["要开专票", "", ""]), [failed])
    assert (found.verdict, found.covered) == ("not_pinned", ())


def test_what_a_trim_took_was_not_pinned() -> None:
    trim = Action("trim", "e04", "history", 50, 20, "/history", ref="s-stretch", new=True)
    other = Action("shape", "e05", "tool_results", 50, 20, "/shaping", ref="s-other", new=True)
    text = Offload("s-stretch", "00", "--- e05 tool\ncarrier: SF, waybill 884422")
    found = why("884422", "t", EVENTS, steps(["", "waybill 884422", ""], [other, trim], [text]), [])
    assert (found.verdict, found.by, found.last_step) == ("not_pinned", "trim e04", 2)
    assert found.refs == ("s-stretch",)


def test_what_was_pinned_once_and_is_no_longer_names_the_pin() -> None:
    events = (*EVENTS[:5], PinSet("confirmed_slots.waybill", "884422"), *EVENTS[5:])
    taken = replace(COMPACTION, pins=(PinKept("task", "x", "00"),))
    found = why("884422", "t", events, steps(["", "884422", ""]), [taken])
    assert (found.verdict, found.pin) == ("not_pinned", "confirmed_slots.waybill")


def test_constraints_and_pins_of_the_task_are_said_by_it() -> None:
    events = (EVENTS[0], TaskGiven("x", ("only by SF",), {"slots": {"city": "上海"}}), *EVENTS[1:])
    found = why("上海", "t", events, steps(["上海", "", ""]), [])
    assert [one.by for one in found.said] == ["task"]
    assert found.pin == "slots"


def test_a_step_in_the_past_is_asked_about_as_it_was() -> None:
    windows = steps(["要开专票", "要开专票", ""])
    assert why("要开专票", "t", EVENTS, windows, [COMPACTION], until=2).verdict == "in_window"
    assert why("and now?", "t", EVENTS, windows, [], until=2).verdict == "never_said"


def test_an_empty_text_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        why(" \n", "t", EVENTS, [], [])
