"""Small talk and passages found twice go first; an answer that matters is never small talk."""

from __future__ import annotations

import pytest

from contextctl.core.assemble import Fold
from contextctl.core.digest.small_talk import is_small_talk
from contextctl.model.record import RetrievedAdded
from tests.unit.core.folding import Words, contents, opened, profile, steps, turn, user


@pytest.mark.parametrize(
    "text",
    ["ok", "Thanks!", "great, thank you so much 👍", "Hello there.", "Got it, sounds good",
     "好的", "谢谢您！", "收到，辛苦了", "嗯嗯", "哈哈哈哈", "good morning", "You’re welcome."],
)  # fmt: skip
def test_greetings_thanks_and_acknowledgements_are(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    ["", "yes", "no", "是", "不要", "ok, ship it", "thanks, but not by courier", "is that ok?",
     "好的，取消订单", "可以吗？", "fine 42", "👍", "嗯" * 80, "嗯" * 50 + "x", "right of way"],
)  # fmt: skip
def test_answers_questions_and_anything_more_are_not(text: str) -> None:
    assert not is_small_talk(text)


def test_of_what_users_said_small_talk_leaves_first() -> None:
    """The window has to do without some of what was said: by age it would be the first few."""
    said = [f"part {n} matters a lot to all of us here" for n in range(12)]
    said[8] = "great, thank you"
    asked = [event for n, text in enumerate(said, start=1) for event in (user(text), *turn(n, 10))]
    rules = profile(
        600,
        compaction={"when": {"ratio": 0.6}, "protect_steps": 1},
        budget={"reduce": {"trigger": 0.9, "target": 0.8}},
    )
    walked = steps(Fold(rules, Words()), [opened(), user("fix it"), *asked])
    last = next(a for a in walked if a.ledger.step == 12)
    assert [one.outcome for one in last.compactions] == ["committed"]
    gone = [number for number, text in enumerate(said[:11]) if text not in contents(last)]
    assert 8 in gone
    assert 7 not in gone
    summary = next(text for text in contents(last) if text.startswith("[summary c"))
    assert "thank" not in summary


def test_a_passage_found_twice_is_shown_once_under_both_names() -> None:
    passages = (
        {"id": "p1", "source": "fees.md#2", "text": "A fee of 12 is due."},
        {"id": "p2", "source": "rules.md", "text": "Rooms are quiet."},
        {"id": "p3", "source": "old/fees.md#2", "text": "A fee of 12 is due."},
    )
    events = [opened(), RetrievedAdded(passages), user("what is due?")]
    shown = contents(steps(Fold(profile(1_000), Words()), events)[-1])[0]
    assert shown == (
        "[p1] fees.md#2\n[p3] old/fees.md#2\nA fee of 12 is due.\n\n[p2] rules.md\nRooms are quiet."
    )
