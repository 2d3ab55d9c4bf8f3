"""Drift: what is repeated is told once, work is not taken for it, a far task is said again."""

from __future__ import annotations

from contextctl.core.assemble import Fold
from contextctl.model.assembly import Assembly
from contextctl.model.message import Message, ToolCall
from contextctl.model.record import Event, MessageAdded, ResultArrived
from tests.unit.core.folding import Words, opened, profile, steps, turn, user

SAME, ROUND = "You have made the same call 3 times", "You are going round between the same 2 calls"


def calls(*said: tuple[str, str] | str) -> list[Event]:
    """Steps of one call each: a command, or a command and its answer."""
    out: list[Event] = []
    for number, one in enumerate(said):
        command, answer = (one, "as before") if isinstance(one, str) else one
        call = ToolCall(f"c{number}", "bash", f'{{"command": "{command}"}}')
        out.append(MessageAdded(Message("assistant", None, (call,))))
        out.append(ResultArrived(call.id, "bash", answer))
    return out


def tails(*said: tuple[str, str] | str) -> list[str]:
    """The tail of every window, from the first on."""
    seen = steps(Fold(profile(window=50_000), Words()), [opened(), user("go"), *calls(*said)])
    return [_tail(one) for one in seen]


def _tail(assembly: Assembly) -> str:
    return "\n".join(str(m["content"]) for m in assembly.messages[assembly.stable :])


def test_three_identical_calls_are_told_once() -> None:
    seen = tails("ls", "ls", "ls", "ls", "ls")
    assert [SAME in text for text in seen] == [False, False, False, True, False, False]
    assert 'bash {"command": "ls"}' in seen[3]


def test_arguments_in_another_order_are_the_same_call() -> None:
    one = '{"a": 1, "b": 2}'
    events = [opened(), user("go")]
    for number, arguments in enumerate((one, '{"b":2,"a":1}', one)):
        call = ToolCall(f"c{number}", "look", arguments)
        events += [MessageAdded(Message("assistant", None, (call,)))]
        events += [ResultArrived(call.id, "look", "x")]
    assert SAME in _tail(steps(Fold(profile(window=50_000), Words()), events)[-1])


def test_a_build_after_each_edit_is_work() -> None:
    assert not any(tails("make", "edit a", "make", "edit b", "make", "edit c", "make"))


def test_one_other_try_in_between_does_not_hide_a_repetition() -> None:
    assert SAME in tails("ls", "ls", "pwd", "ls")[-1]


def test_other_answers_are_progress_unless_nothing_is_done_in_between() -> None:
    assert not any(tails(("next", "page 1"), "look", ("next", "page 2"), ("next", "page 3")))
    assert SAME in tails(("next", "1"), ("next", "2"), ("next", "3"))[-1]


def test_going_round_between_calls_is_told_as_such() -> None:
    seen = tails("a", "b", "a", "b", "a", "b", "a", "b")
    assert [ROUND in text for text in seen].count(True) == 1
    assert not any(SAME in text for text in seen)
    changing = [(name, f"{name} {n}") for n in range(3) for name in ("a", "b")]
    assert ROUND in tails(*changing)[-1]


def test_it_is_told_to_people_too() -> None:
    fold = Fold(profile(window=50_000), Words())
    seen = steps(fold, [opened(), user("go"), *calls("ls", "ls", "ls", "ls")])
    told = [one.ledger.warnings for one in seen]
    assert [bool(warnings) for warnings in told] == [False, False, False, True, False]


TASK = "count the red boxes in the hall and nothing else please"


def long_talk(window: int, count: int) -> Assembly:
    events: list[Event] = [opened(), user(TASK)]
    for number in range(count):
        events += turn(number, words=10, tool=f"tool{number}")
    return steps(Fold(profile(window=window), Words()), events)[-1]


def test_the_task_is_said_again_past_the_warn_line_when_it_is_far_behind() -> None:
    far = long_talk(window=700, count=14)
    assert far.ledger.zone == "warn"
    assert f"The task, once more: {TASK}" in _tail(far)
    assert "once more" not in _tail(long_talk(window=4_000, count=14))  # safe
    near = long_talk(window=310, count=6)
    assert near.ledger.zone == "warn"
    assert "once more" not in _tail(near)


def test_a_new_question_is_the_task_then() -> None:
    events: list[Event] = [opened(), user(TASK)]
    for number in range(14):
        events += turn(number, words=10, tool=f"tool{number}")
    events.append(user("and the blue ones?"))
    last = steps(Fold(profile(window=700), Words()), events)[-1]
    assert last.ledger.zone == "warn"
    assert "once more" not in _tail(last)
