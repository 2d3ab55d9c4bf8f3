"""The retention probe counts what MEASURES-style definitions say, and nothing else."""

from __future__ import annotations

import json

from contextctl.core.measure.needed import needed_values
from contextctl.core.measure.probe import Score, StepScore, Window, probe
from contextctl.core.measure.validity import window_problems


def words(text: str) -> int:
    return len(text.split())


def call(call_id: str, name: str = "bash", **arguments: object) -> dict:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def result(call_id: str, text: str) -> dict:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


TASK = {"role": "user", "content": "look into the orders"}


def scores(trace: list, windows: dict, refs: dict | None = None) -> list:
    return list(probe(trace, windows, 10_000, refs or {}, words))


def test_values_are_short_strings_large_numbers_and_pieces_of_long_strings() -> None:
    long = "please run the tests of tests/test_orders.py with seed8841 " + "word " * 30
    message = call("c", order="SO-1", tag="abc", count=99, size=100, text=long, flag=True)
    # 'abc' has three characters, 99 is under 100, a flag is no value.
    assert needed_values(message) == ("SO-1", "100", "tests/test_orders.py", "seed8841")


def test_a_value_is_needed_only_when_it_occurred_earlier() -> None:
    trace = [TASK, call("a", q="first query"), result("a", "order SO-77"), call("b", order="SO-77")]
    found = scores(trace, {1: Window(trace[:1]), 2: Window(trace[:3])})
    assert [(step.needed, step.in_window) for step in found] == [(0, 0), (1, 1)]


def test_a_value_behind_a_whole_ref_is_recoverable_and_otherwise_lost() -> None:
    trace = [TASK, call("a", q="xy"), result("a", "order SO-77"), call("b", order="SO-77")]
    refs = {"s-abc": "… order SO-77 …"}

    def last(note: str, leads: dict = refs) -> StepScore:
        window = [TASK, call("a", q="xy"), result("a", note)]
        return scores(trace, {2: Window(window)}, leads)[1]

    assert last("see s-abc.").recoverable == ("SO-77",)
    assert last("see s-abc.").extra_reads == 1
    assert last("see s-abcd").lost == ("SO-77",)
    assert last("nothing").lost == ("SO-77",)
    assert last("see s-abc", {"s-abc": "SO-77" + "x" * 60_000}).lost == ("SO-77",)


def test_a_held_prefix_counts_whole_blocks_from_1024_tokens_up() -> None:
    task = {"role": "user", "content": "w " * 1_300}
    trace = [task, call("a", q="xy"), result("a", "one"), call("b", q="zz")]
    held = [step.held for step in scores(trace, {1: Window(trace[:1]), 2: Window(trace[:3])})]
    assert held == [0, 1_280]  # 1,303 shared tokens are ten whole blocks of 128


def test_a_step_without_a_window_is_counted_apart() -> None:
    trace = [TASK, call("a", q="xy"), result("a", "order SO-77"), call("b", order="SO-77")]
    assert scores(trace, {1: Window(trace[:1])})[1] == (2, 1)


def test_user_text_is_kept_when_its_first_thousand_characters_stand_verbatim() -> None:
    long = {"role": "user", "content": "y" * 3_000}
    trace = [TASK, call("a", q="xy"), result("a", "r"), long, call("b", q="zz")]
    window = [TASK, {"role": "user", "content": "y" * 1_000}]
    step = scores(trace, {2: Window(window)})[1]
    assert (step.user_kept, step.user_chars) == (1_000 + len(TASK["content"]),) * 2
    total = Score()
    total.add(step)
    assert total.to_json()["user_text_kept"] == 1.0


def test_problems_of_a_message_list() -> None:
    whole = [TASK, call("a", q="xy"), result("a", "r")]
    assert window_problems(whole, whole) == ()
    assert window_problems([TASK, result("a", "r")], whole) == (
        "a result that answers no open call",
    )
    assert window_problems([TASK, call("a", q="xy")], whole) == (
        "a call that nobody answered",
        "the newest message is missing",
    )
    assert window_problems([*whole[1:]], whole) == ("the first user message is missing",)
    assert window_problems([call("a", q="xy"), TASK, result("a", "r")], whole)[0] == (
        "a call that nobody answered"
    )
