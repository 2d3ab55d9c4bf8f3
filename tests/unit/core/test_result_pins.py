"""What a tool's rule takes from its raw result: pins and reminders."""

from __future__ import annotations

import json

from contextctl.core.tools.result_pins import LONGEST, result_pins
from contextctl.model.record import PinSet, ResultArrived, SlotSet
from contextctl.model.tool_rules import ResultRule

RULE = ResultRule(
    pin={"confirmed_slots.order": "id"},
    remind={"style": "tone", "once:notice": "notices[0].text", "count": "length(notices)"},
)


def taken(value: object, **more: str) -> tuple[PinSet | SlotSet, ...]:
    content = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return result_pins(RULE, ResultArrived(call_id="c1", name="read", content=content, **more))


def test_each_path_fills_its_pin_or_slot() -> None:
    value = {"id": "SO-7", "tone": "请用敬语", "notices": [{"text": "late\n  by 2 h"}]}
    assert taken(value) == (
        PinSet("confirmed_slots.order", "SO-7", source="c1"),
        SlotSet("style", "请用敬语"),
        SlotSet("once:notice", "late by 2 h"),  # one line of the tail
        SlotSet("count", "1"),
    )


def test_what_is_not_there_leaves_a_slot_and_an_empty_text_clears_it() -> None:
    assert taken({"tone": "", "notices": []}) == (SlotSet("style", ""), SlotSet("count", "0"))


def test_errors_and_texts_fill_nothing() -> None:
    assert taken({"tone": "warm"}, status="error") == ()
    assert taken("tone: warm") == ()


def test_a_slot_is_short_and_values_keep_their_digits() -> None:
    (_, slot, _) = taken('{"id": 1.10, "tone": "' + "x" * 5000 + '", "notices": []}')
    assert isinstance(slot, SlotSet)
    assert len(slot.text) <= LONGEST + 2
    assert taken('{"id": 1.10, "notices": []}')[0] == PinSet(
        "confirmed_slots.order", "1.10", source="c1"
    )
