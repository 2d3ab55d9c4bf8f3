from __future__ import annotations

from contextctl.core.cache_marks import mark
from contextctl.model.prices import CacheRule

RULE = CacheRule(min_tokens=100)
SYSTEM = {"role": "system", "content": "be brief"}
USER = {"role": "user", "content": "hello"}
CALL = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "q", "arguments": "{}"}}],
}


def result(text: str) -> dict[str, str]:
    return {"role": "tool", "tool_call_id": "c", "content": text}


def places(marked) -> list[int]:
    """Which messages carry a mark, on themselves or on one of their parts."""
    found = []
    for place, message in enumerate(marked):
        parts = message["content"] if isinstance(message["content"], list) else []
        if "cache_control" in message or any("cache_control" in part for part in parts):
            found.append(place)
    return found


def test_the_system_end_and_the_newest_message_are_marked():
    window = [SYSTEM, USER, CALL, result("42")]
    marked = mark(window, [200, 10, 5, 5], RULE)
    assert places(marked) == [0, 3]
    assert marked[3]["cache_control"] == {"type": "ephemeral"}


def test_the_messages_given_are_not_changed():
    window = [SYSTEM, {"role": "user", "content": [{"type": "text", "text": "hi"}]}]
    before = repr(window)
    mark(window, [200, 10], RULE)
    assert repr(window) == before


def test_a_provider_that_caches_by_itself_gets_none():
    window = [SYSTEM, USER]
    assert mark(window, [200, 10], None) == (SYSTEM, USER)


def test_an_empty_newest_result_passes_the_mark_to_the_message_before():
    assert places(mark([SYSTEM, USER, CALL, result("")], [200, 10, 5, 0], RULE)) == [0, 1]
    assert places(mark([SYSTEM, USER, CALL, result(" \n")], [200, 10, 5, 1], RULE)) == [0, 1]


def test_an_empty_system_layer_is_not_marked():
    window = [SYSTEM, {"role": "system", "content": " "}, USER]
    assert places(mark(window, [200, 0, 10], RULE)) == [0, 2]


def test_on_parts_the_mark_stands_on_the_last_full_one():
    parts = [
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
        {"type": "text", "text": ""},
    ]
    marked = mark([SYSTEM, {"role": "user", "content": parts}], [200, 10], RULE)
    assert ["cache_control" in part for part in marked[1]["content"]] == [False, True, False]
    assert "cache_control" not in marked[1]


def test_a_message_of_nothing_but_empty_parts_is_passed_over():
    empty = {"role": "user", "content": [{"type": "text", "text": ""}]}
    assert places(mark([SYSTEM, USER, empty], [200, 10, 0], RULE)) == [0, 1]


def test_the_tail_that_changes_every_step_is_not_marked():
    assert places(mark([SYSTEM, USER, USER], [200, 10, 10], RULE, tail=1)) == [0, 1]


def test_nothing_below_the_minimum_prefix_is_marked():
    assert places(mark([SYSTEM, USER], [50, 49], RULE)) == []
    assert places(mark([SYSTEM, USER], [50, 50], RULE)) == [1]
    assert places(mark([SYSTEM, USER], [50, 10], RULE, before=50)) == [0, 1]


def test_there_are_never_more_than_four():
    window = [SYSTEM, USER, *[CALL, result("x")] * 100]
    sizes = [200, 10, *[5, 5] * 100]
    marked = places(mark(window, sizes, RULE))
    assert len(marked) == 4
    assert marked[0] == 0
    assert marked[-1] == len(window) - 1


def test_the_step_before_is_within_the_look_back_of_a_mark_when_many_results_arrive():
    calls = {**CALL, "tool_calls": CALL["tool_calls"] * 16}
    window = [SYSTEM, USER, calls, *[result("x")] * 16]
    marked = places(mark(window, [200, 10, 16, *[5] * 16], RULE))
    newest_before = 1  # where the step before had its newest mark
    assert any(place - newest_before <= 20 for place in marked if place > 1)
