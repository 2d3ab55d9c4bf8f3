"""Slots: each source its own, at the tail, gone once delivered, and never part of the prefix."""

from __future__ import annotations

from itertools import pairwise

from contextctl.core.assemble import Fold
from contextctl.model.assembly import Assembly
from contextctl.model.message import Message
from contextctl.model.record import (
    Event,
    MessageAdded,
    SlotDelivered,
    SlotSet,
    StepTaken,
    Todo,
    TodoSet,
)
from tests.unit.core.folding import Words, opened, profile, steps, turn, user

ANSWER = MessageAdded(Message("assistant", "well"))


def tail(assembly: Assembly) -> str:
    """The tail block, or nothing."""
    return str(assembly.messages[-1]["content"]) if len(assembly.messages) > assembly.stable else ""


def folded(*events: Event, **sections: dict[str, str]) -> Assembly:
    fold = Fold(profile(**sections), Words())
    for event in (opened(), user("do it"), *events):
        fold.advance(event)
    return fold.assemble()


def test_a_source_overwrites_its_own_slot_and_no_other() -> None:
    seen = tail(folded(SlotSet("team", "ann is away"), SlotSet("cost", "9 left"),
                       SlotSet("team", "ann is back")))  # fmt: skip
    assert seen == "[now] State of this run, not a request:\n- 9 left\n- ann is back"


def test_an_empty_text_clears_a_slot_and_a_later_one_replaces_the_profile_s() -> None:
    given = {"reminders": {"style": "Be short.", "team": "two people"}}
    seen = tail(folded(SlotSet("style", "Be long."), SlotSet("team", ""), **given))
    assert seen.splitlines()[1:] == ["- Be long."]


def test_a_once_slot_stands_in_the_windows_until_one_is_answered() -> None:
    fold = Fold(profile(), Words())
    for event in (opened(), user("do it"), SlotSet("once:hello", "hello")):
        fold.advance(event)
    first = fold.assemble()
    assert first.delivers == ("once:hello",)
    fold.advance(StepTaken(1))
    assert "hello" in tail(fold.assemble())  # nobody answered: it is told again
    fold.advance(StepTaken(1))
    fold.advance(ANSWER)
    fold.advance(user("and now"))
    second = fold.assemble()
    assert tail(second) == ""
    assert second.delivers == ()


def test_delivery_is_the_same_whether_the_run_noted_it_or_the_answer_shows_it() -> None:
    events = (SlotSet("once:a", "alpha"), SlotSet("b", "beta"))
    noted = folded(*events, StepTaken(1), SlotDelivered(("once:a",), 1), ANSWER, user("x"))
    shown = folded(*events, StepTaken(1), ANSWER, user("x"))
    assert tail(noted) == tail(shown)
    assert tail(noted).splitlines()[1:] == ["- beta"]


def test_a_once_slot_set_again_is_told_again() -> None:
    one = SlotSet("once:a", "first")
    again = folded(one, StepTaken(1), ANSWER, SlotSet("once:a", "second"), user("x"))
    assert tail(again).splitlines()[1:] == ["- second"]


def test_a_once_slot_of_the_profile_is_told_in_one_step_only() -> None:
    given = {"reminders": {"once:start": "Begin with a plan.", "style": "Be short."}}
    fold = Fold(profile(**given), Words())
    first, second = steps(fold, [opened(), user("do it"), *turn(1)])
    assert "Begin with a plan." in tail(first)
    assert tail(second).splitlines()[1:] == ["- Be short."]


def test_a_window_that_does_not_fit_delivers_nothing() -> None:
    fold = Fold(profile(window=10), Words())
    for event in (opened(), user("word " * 50), SlotSet("once:a", "alpha")):
        fold.advance(event)
    over = fold.assemble()
    assert over.ledger.status == "overflow"
    assert over.delivers == ()


def test_slots_and_plan_change_each_step_and_the_prefix_never() -> None:
    """The tail is another one in every window; all messages before it are held."""
    given = {"prefix": [{"id": "core", "text": "You are careful.", "stability": "static"}]}
    fold = Fold(profile(window=5_000, **given), Words())
    events: list[Event] = [opened(), user("do it")]
    for number in range(1, 9):
        items = tuple(Todo(f"part {n}", "done" if n < number else "pending") for n in range(1, 9))
        events += [
            TodoSet(items),
            SlotSet("style", f"style {number}"),
            SlotSet("once:news", f"news {number}"),
            *turn(number),
        ]
    seen = steps(fold, events)
    assert len({tail(one) for one in seen}) == len(seen)
    for before, now in pairwise(seen):
        held = list(before.messages[: before.stable])
        assert list(now.messages[: before.stable]) == held
        assert now.ledger.prefix.broke_at is None
        assert [layer.digest for layer in now.ledger.prefix.layers] == [
            layer.digest for layer in before.ledger.prefix.layers
        ]
        reminders = before.ledger.parts["query.reminders"]
        assert now.ledger.prefix.reused_tokens == before.ledger.total - reminders
