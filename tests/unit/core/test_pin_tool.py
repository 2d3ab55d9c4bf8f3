"""The pin tool: what a model may keep to the letter, and what it is told otherwise."""

from __future__ import annotations

import pytest

from contextctl.core.tools.pin import MAX_CHARS, pin_value
from contextctl.model.profile import PINS
from contextctl.model.record import PinSet


@pytest.mark.parametrize("key", ["citations", "confirmed_slots.order_id", "constraints.寄送.地址"])
def test_a_value_is_pinned_under_the_keys_of_a_model(key: str) -> None:
    answered = pin_value({"key": key, "value": "SO-000417"}, PINS)
    assert answered.answer == {"pinned": key}
    assert answered.facts == (PinSet(key, "SO-000417", source="pin"),)


@pytest.mark.parametrize(
    "key", ["todo", "task", "open_tool_calls.x", "mood", "confirmed_slots.", "confirmed_slots..a"]
)
def test_other_keys_are_refused_with_those_there_are(key: str) -> None:
    answered = pin_value({"key": key, "value": "x"}, PINS)
    assert answered.facts == ()
    assert answered.answer["error"] == "unknown_key"
    assert "confirmed_slots.<name>" in str(answered.answer["keys"])


def test_a_key_the_profile_does_not_pin_is_refused() -> None:
    assert pin_value({"key": "citations", "value": "p1"}, ("constraints",)).facts == ()


def test_an_empty_value_lets_go_and_a_long_one_is_sent_to_the_workspace() -> None:
    assert pin_value({"key": "citations"}, PINS).facts == (PinSet("citations", None, source="pin"),)
    long = pin_value({"key": "citations", "value": "x" * (MAX_CHARS + 1)}, PINS)
    assert long.facts == ()
    assert "write_workspace" in str(long.answer["hint"])


def test_wrong_arguments_are_an_answer() -> None:
    assert pin_value({"value": "x"}, PINS).answer["error"] == "bad_arguments"
    assert pin_value({"key": "citations", "value": ["a"]}, PINS).answer["error"] == "bad_arguments"
