"""Counting of messages and tool arrays, scaling and calibration, with a counter one can follow."""

from __future__ import annotations

import pytest

from contextctl.core.count import (
    TOKENS_PER_IMAGE,
    Approx,
    calibrate,
    json_text,
    message_parts,
    message_tokens,
    scaled,
    scaled_total,
    tools_tokens,
)
from contextctl.model.message import Message, ToolCall, ToolSpec


class Characters:
    """One token a character."""

    name, exact, factor = "characters", True, 1.0

    def text(self, text: str) -> int:
        return len(text)


BY_CHARACTER = Characters()


def test_a_plain_message_costs_its_text_role_and_framing() -> None:
    parts = message_parts(Message(role="user", content="hello"), BY_CHARACTER)
    assert parts == {"overhead": 3 + len("user"), "text": 5, "tool_calls": 0}


def test_a_name_and_a_call_id_are_counted() -> None:
    message = Message(role="tool", content="ok", tool_call_id="call_1", name="ls")
    parts = message_parts(message, BY_CHARACTER)
    assert parts["overhead"] == 3 + len("tool") + (1 + len("ls")) + len("call_1")


def test_calls_are_their_own_part_with_id_name_and_arguments() -> None:
    calls = (ToolCall("c1", "ls", '{"a":1}'), ToolCall("c2", "cat", "{}"))
    parts = message_parts(Message(role="assistant", tool_calls=calls), BY_CHARACTER)
    assert parts["text"] == 0
    assert parts["tool_calls"] == 7 + len('c1ls{"a":1}') + 7 + len("c2cat{}")


def test_text_parts_images_and_unknown_parts() -> None:
    unknown = {"type": "input_audio", "input_audio": {"data": "AAAA"}}
    message = Message(
        role="user",
        content=[
            {"type": "text", "text": "see", "cache_control": {"type": "ephemeral"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 9000}},
            unknown,
        ],
    )
    expected = len("see") + TOKENS_PER_IMAGE + len(json_text(unknown))
    assert message_parts(message, BY_CHARACTER)["text"] == expected


def test_fields_that_travel_with_a_message_are_counted_and_cache_marks_are_not() -> None:
    plain = Message(role="assistant", content="a")
    extra = Message(
        role="assistant",
        content="a",
        extra={"reasoning_content": "because", "cache_control": {"type": "ephemeral"}},
    )
    more = message_tokens(extra, BY_CHARACTER) - message_tokens(plain, BY_CHARACTER)
    assert more == len('{"reasoning_content":"because"}')


def test_a_tool_array_costs_its_json_and_framing_and_an_empty_one_nothing() -> None:
    tool = ToolSpec("ls", "list", {"type": "object", "properties": {}})
    body = (
        '{"type": "function", "function": {"name": "ls", "description": "list", '
        '"parameters": {"properties": {}, "type": "object"}}}'
    )
    assert tools_tokens([tool, tool], BY_CHARACTER) == 12 + 2 * (7 + len(body))
    assert tools_tokens([], BY_CHARACTER) == 0


def test_approx_is_the_tutorial_estimate() -> None:
    approx = Approx()
    assert approx.text("") == 0
    assert approx.text("abcd" * 10) == 10
    assert approx.text("你好世界你好") == 4
    assert approx.text("你好 hello world") == 5  # 2 / 1.5 + 12 / 4 = 4.33


def test_json_text_is_compact_and_keeps_characters_and_order() -> None:
    assert json_text({"b": "季度", "a": [1, None]}) == '{"b":"季度","a":[1,null]}'


@pytest.mark.parametrize(
    ("counts", "factor", "expected"),
    [
        ({"a": 1, "b": 2, "c": 7}, 1.3, {"a": 1, "b": 3, "c": 9}),  # 1.3 2.6 9.1, sum 13
        ({"a": 1, "b": 1, "c": 1}, 1.5, {"a": 2, "b": 2, "c": 1}),  # 4.5 -> 5
        ({"a": 0, "b": 0}, 1.3, {"a": 0, "b": 0}),
        ({"a": 10, "b": 5}, 1.0, {"a": 10, "b": 5}),
        ({"a": 10, "b": 5}, 0.5, {"a": 5, "b": 3}),
    ],
)
def test_scaled_counts_sum_to_the_scaled_total(
    counts: dict[str, int], factor: float, expected: dict[str, int]
) -> None:
    assert scaled(counts, factor) == expected
    assert sum(expected.values()) == scaled_total(sum(counts.values()), factor)


def test_calibration_follows_a_large_report_and_hardly_a_small_one() -> None:
    # 99,000 tokens weigh 0.99: 1.3 x (1 + 0.99 x 0.10)
    assert calibrate(1.3, 99_000, 108_900) == pytest.approx(1.3 * 1.099)
    # 50 tokens weigh 0.048
    assert calibrate(1.0, 50, 60) == pytest.approx(1 + 0.2 * 50 / 1_050, abs=1e-6)


def test_calibration_ignores_nothing_and_bounds_the_impossible() -> None:
    assert calibrate(1.3, 1_000, 0) == 1.3
    assert calibrate(1.3, 0, 1_000) == 1.3
    assert calibrate(1.0, 1_000, 1_000_000) == pytest.approx(1.5)  # as if it were double
    assert calibrate(2.9, 10**9, 2 * 10**9) == 3.0


def test_calibrating_with_our_own_count_changes_nothing() -> None:
    assert calibrate(1.27, 12_345, 12_345) == 1.27


def test_a_recording_or_a_file_is_not_counted_as_text() -> None:
    data = "QUJD" * 20_000  # 80,000 characters of base64
    audio = {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}
    bare = {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}
    counted = message_parts(Message(role="user", content=[audio]), BY_CHARACTER)["text"]
    assert counted == 80_000 // 32 + len(json_text(bare))
    pdf = {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{data[:4_000]}"}}
    assert (
        TOKENS_PER_IMAGE
        <= message_parts(Message(role="user", content=[pdf]), BY_CHARACTER)["text"]
        < TOKENS_PER_IMAGE + 100
    )
