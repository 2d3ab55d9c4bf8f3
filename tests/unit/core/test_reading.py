from __future__ import annotations

import time

import pytest

from contextctl.core.reading.lines import (
    PastCall,
    find_call,
    not_found,
    read_call,
    read_lines,
    written,
)
from contextctl.core.tools.workspace import READER_TOOLS, WORKSPACE_TOOLS, answer_read
from contextctl.model.message import Message, ToolCall
from contextctl.model.record import MessageAdded, ResultArrived

TEN = "".join(f"line {n}\n" for n in range(10))


def test_a_part_states_its_range_and_the_next() -> None:
    assert read_lines(TEN, "r", start=2, limit=3) == {
        "ref": "r",
        "start": 2,
        "end": 5,
        "total_lines": 10,
        "truncated": True,
        "next": {"start": 5, "offset": 0},
        "text": "line 2\nline 3\nline 4\n",
    }


def test_the_last_part_has_no_next() -> None:
    answer = read_lines(TEN, "r", start=8)
    assert (answer["text"], answer["end"], answer["next"]) == ("line 8\nline 9\n", 10, None)
    assert answer["truncated"] is False


def test_a_negative_start_counts_from_the_end() -> None:
    assert read_lines(TEN, "r", start=-1)["text"] == "line 9\n"
    assert read_lines(TEN, "r", start=-99)["start"] == 0


def test_past_the_end_is_empty_and_says_how_many_lines_there_are() -> None:
    answer = read_lines(TEN, "r", start=50)
    assert (answer["text"], answer["total_lines"], answer["next"]) == ("", 10, None)


def test_only_newlines_end_lines() -> None:
    text = "a\u2028b\x0bc\r\nd"
    assert read_lines(text, "r", limit=1)["text"] == "a\u2028b\x0bc\r\n"


def test_a_long_line_is_cut_between_words_and_not_inside_a_character() -> None:
    answer = read_lines("word " * 100, "r", max_bytes=103)
    assert answer["text"] == "word " * 20
    assert answer["next"] == {"start": 0, "offset": 100}
    accent = read_lines("e\u0301" * 100, "r", max_bytes=100)
    assert str(accent["text"]).endswith("\u0301")


def test_chinese_is_bounded_by_bytes() -> None:
    assert len(str(read_lines("订单" * 5000, "r", max_bytes=6000)["text"])) == 2000


def test_a_write_answers_with_size_and_a_head_of_200_characters() -> None:
    assert written("x" * 500 + "\ny", "r") == {
        "ref": "r",
        "lines": 2,
        "chars": 502,
        "head": "x" * 200,
    }


def test_an_earlier_call_shows_its_arguments_once_and_its_raw_result() -> None:
    call = PastCall("bash", '{"cmd":"ls"}', "ok", TEN)
    first = read_call(call, "c1", max_bytes=70)
    assert (first["name"], first["arguments"], first["status"]) == ("bash", '{"cmd":"ls"}', "ok")
    assert first["next"] is not None
    assert "arguments" not in read_call(call, "c1", start=5)
    assert "ref" not in first


def test_long_arguments_are_cut_in_the_middle_and_say_so() -> None:
    answer = read_call(PastCall("write", "a" * 9000, "ok", "done"), "c1", max_bytes=2000)
    assert len(str(answer["arguments"])) < 1200
    assert "characters omitted" in str(answer["arguments"])
    assert answer["text"] == "done"


def test_the_newest_call_with_an_id_is_found_with_its_result() -> None:
    def asked(arguments: str) -> MessageAdded:
        return MessageAdded(Message("assistant", tool_calls=(ToolCall("c1", "f", arguments),)))

    record = (asked("1"), ResultArrived("c1", "f", "old"), asked("2"))
    assert find_call(record, "c1") == PastCall("f", "2", "pending", "")
    record = (*record, ResultArrived("c1", "f", "new", status="error"))
    assert find_call(record, "c1") == PastCall("f", "2", "error", "new")
    assert find_call(record, "c2") is None


@pytest.mark.parametrize("tool", sorted(READER_TOOLS - {"view_tool_call"}))
def test_every_reader_answers_the_same_for_an_unknown_ref(tool: str) -> None:
    arguments = {"ref": "../etc/passwd", "pattern": "x", "fields": "a"}
    answer = answer_read(tool, arguments, lambda _: None, lambda _: None)
    assert answer == not_found("../etc/passwd")


@pytest.mark.parametrize(
    ("tool", "arguments", "complaint"),
    [
        ("read_workspace", {}, "'ref' must be text"),
        ("read_workspace", {"ref": 7}, "'ref' must be text"),
        ("read_workspace", {"ref": "r", "start": "soon"}, "'start' must be a whole number"),
        ("search_workspace", {"ref": "r"}, "'pattern' must be text"),
        ("search_workspace", {"ref": "r", "pattern": ""}, "'pattern' must not be empty"),
        ("fetch", {"ref": "r", "fields": {"a": 1}}, "'fields' must be a list of paths"),
        ("fetch", {"ref": "r", "fields": "a"}, "not JSON"),
    ],
)
def test_wrong_arguments_are_named(tool: str, arguments: dict[str, object], complaint: str) -> None:
    answer = answer_read(tool, arguments, lambda _: TEN, lambda _: None)  # type: ignore[arg-type]
    assert answer["error"] == "bad_arguments"
    assert complaint in str(answer["hint"])


def test_numbers_written_as_text_are_understood() -> None:
    answer = answer_read(
        "read_workspace", {"ref": "r", "start": "3", "limit": "1"}, lambda _: TEN, lambda _: None
    )
    assert answer["text"] == "line 3\n"


def test_the_tools_are_five_and_their_schemas_are_short() -> None:
    assert set(WORKSPACE_TOOLS) == {
        "read_workspace",
        "search_workspace",
        "fetch",
        "write_workspace",
        "view_tool_call",
    }
    sizes = {name: len(str(tool.to_openai())) for name, tool in WORKSPACE_TOOLS.items()}
    assert all(size < 320 for size in sizes.values()), sizes


def test_a_pattern_that_blows_up_backtracking_takes_no_time() -> None:
    text = "a" * 200_000 + "b"
    began = time.perf_counter()
    answer = answer_read(
        "search_workspace", {"ref": "r", "pattern": "(a+)+$"}, lambda _: text, lambda _: None
    )
    assert answer["total"] == 0
    assert time.perf_counter() - began < 2


def test_a_pattern_that_is_no_regex_is_searched_as_text() -> None:
    answer = answer_read(
        "search_workspace", {"ref": "r", "pattern": "f(x"}, lambda _: "a\nf(x)\n", lambda _: None
    )
    assert answer["matches"] == [{"line": 1, "text": "f(x)"}]
    assert answer["searched_as"] == "plain text"


def test_more_matches_than_are_counted_say_so() -> None:
    answer = answer_read(
        "search_workspace", {"ref": "r", "pattern": "x"}, lambda _: "x\n" * 20_000, lambda _: None
    )
    assert answer["total_at_least"] == 10_000
    assert answer["truncated"] is True
