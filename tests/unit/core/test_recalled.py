"""Recall over older turns: what comes back, where it stands, and that it is decided once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from contextctl.core.assemble import Fold, assemble
from contextctl.core.search.recall import PASSAGE_CHARS, OlderTurns
from contextctl.model.assembly import Assembly
from contextctl.model.counter import Approx
from contextctl.model.message import Message
from contextctl.model.profile import Profile, profile_from_mapping
from contextctl.model.record import Event, MessageAdded, Opened, StepTaken

FACTS = {
    3: "The warranty of the espresso machine ends on 2027-03-14.",
    5: "订单发到上海市静安区的公司地址，要开专票。",
}
FILLER = "We talked about the garden fence, the neighbours and the weather of that week. "


def profile(locale: str = "en", *, enabled: bool = True, top_k: int = 2) -> Profile:
    return profile_from_mapping(
        {
            "version": 1,
            "model": {"name": "scripted/x", "window": 9_000, "reserve_output": 400},
            "history": {"recall": {"enabled": enabled, "top_k": top_k}},
            "shaping": {"locale": locale},
        }
    )


def talk(*questions: str) -> list[Event]:
    """Seventy turns of which two say something, then ``questions``, each answered but the last."""
    events: list[Event] = [Opened("t", "s1", "00ff")]
    for turn in range(1, 71):
        events.append(MessageAdded(Message("user", f"Story number {turn}, please.")))
        events.append(MessageAdded(Message("assistant", FACTS.get(turn, "") + FILLER * 12)))
    for question in questions[:-1]:
        events.append(MessageAdded(Message("user", question)))
        events.append(MessageAdded(Message("assistant", "I see.")))
    return [*events, MessageAdded(Message("user", questions[-1]))]


def walked(rule: Profile, events: Sequence[Event]) -> tuple[list[Assembly], list[Event]]:
    """Every step's window, and the record with its steps."""
    fold, out, record = Fold(rule, Approx()), [], list[Event]()
    for event in events:
        if isinstance(event, MessageAdded) and event.message.role == "assistant":
            out.append(fold.assemble())
            record.append(StepTaken(out[-1].ledger.step))
            fold.advance(record[-1])
        fold.advance(event)
        record.append(event)
    return [*out, fold.assemble()], record


def recalled(assembly: Assembly) -> list[str]:
    heads = ("[recalled]", "[召回]")
    contents = [str(message["content"]) for message in assembly.messages]
    return [text for text in contents if text.startswith(heads)]


def test_a_fact_that_left_comes_back_with_its_turn_at_the_end() -> None:
    assembly = walked(profile(), talk("When does the warranty of my espresso machine end?"))[0][-1]
    (text,) = recalled(assembly)
    assert "from turn 3 (assistant): The warranty of the espresso machine ends on 2027-03" in text
    assert assembly.messages[-1]["content"] == text
    assert assembly.messages[-2]["content"] == "When does the warranty of my espresso machine end?"
    parts = assembly.ledger.parts
    assert parts["retrieved.recalled"] == assembly.ledger.buckets["retrieved"] > 0
    assert sum(assembly.ledger.buckets.values()) == assembly.ledger.total


def test_chinese_is_found_by_its_words_and_told_in_chinese() -> None:
    assembly = walked(profile("zh"), talk("之前说过专票要寄到哪个公司地址？"))[0][-1]
    (text,) = recalled(assembly)
    assert "来自第 5 轮（assistant）：订单发到上海市静安区的公司地址，要开专票。" in text


@pytest.mark.parametrize(
    "question",
    [
        "What is the capital of Portugal and how many people live there?",
        "明天北京的天气怎么样？",
        "ok",
    ],
)
def test_an_unrelated_question_recalls_nothing(question: str) -> None:
    assert recalled(walked(profile(), talk(question))[0][-1]) == []


def test_what_still_stands_in_the_window_is_not_repeated() -> None:
    events = talk("Tell me about the espresso machine.")[-1:]
    first: list[Event] = [Opened("t", "s1", "00"), MessageAdded(Message("user", FACTS[3]))]
    answer = MessageAdded(Message("assistant", "Noted."))
    assembly = walked(profile(), [*first, answer, *events])[0][-1]
    assert recalled(assembly) == []


def test_it_is_off_unless_the_profile_says_so() -> None:
    question = "When does the warranty of my espresso machine end?"
    assert recalled(walked(profile(enabled=False), talk(question))[0][-1]) == []


def test_it_is_decided_once_and_then_stays_as_it_is() -> None:
    question = "When does the warranty of my espresso machine end?"
    assemblies, record = walked(profile(), talk(question, "And what else?"))
    before, after = assemblies[-2], assemblies[-1]
    (text,) = recalled(before)
    assert text in recalled(after)
    assert after.messages[: before.stable] == before.messages[: before.stable]
    again = assemble(profile(), record, Approx())
    assert again.messages == after.messages
    assert again.ledger == after.ledger


def test_a_fold_that_is_asked_twice_recalls_once() -> None:
    fold = Fold(profile(), Approx())
    for event in walked(profile(), talk("When does the espresso warranty end?"))[1]:
        fold.advance(event)
    assert fold.assemble().messages == fold.assemble().messages
    assert len(recalled(fold.assemble())) == 1


def test_long_texts_are_cut_at_seams_and_say_that_they_go_on() -> None:
    turns = OlderTurns()
    text = "\n".join(f"Paragraph {n} tells about item-{n} in some more words." for n in range(40))
    turns.add("a", 7, "tool read", text)
    turns.add("a", 7, "tool read", text)
    passages = [passage for passage, _ in turns.search("item-25 paragraph")]
    best = passages[0]
    assert "item-25 in some more words." in best.text
    assert len(best.text) <= PASSAGE_CHARS
    assert best.shown == f"…{best.text}…"
    assert all(passage.text.startswith("Paragraph") for passage in passages)
    assert len({passage.text for passage in passages}) == len(passages)
