"""The memory store, in SQLite and in a real PostgreSQL: the same answers from both."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from contextctl.errors import UsageError
from contextctl.io.stores.memories import MemoryStore, open_memory
from contextctl.model.memory import CURRENT, HELD, Candidate
from tests.servers.postgres import Postgres, running_postgres

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
_NUMBER = count()


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with running_postgres() as found:
        yield found


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest) -> str:
    if request.param == "sqlite":
        return "sqlite"
    database: Postgres = request.getfixturevalue("server")
    return database.url(f"memory{next(_NUMBER)}")


@pytest.fixture
def store(address: str, tmp_path: Path) -> Iterator[MemoryStore]:
    opened = open_memory(address, tmp_path)
    assert opened is not None
    yield opened
    opened.close()


def fact(text: str, key: str = "", subject: str = "user:1", **more: object) -> Candidate:
    return Candidate(text, "fact", key, subject, **more)  # type: ignore[arg-type]


def texts(store: MemoryStore, subject: str = "user:1", **more: object) -> list[str]:
    return [row.text for row in store.rows(subject, **more)]  # type: ignore[arg-type]


def test_a_slot_holds_one_value_and_keeps_its_id(store: MemoryStore) -> None:
    first = store.write(fact("A is a Lumen NAS", "Device A"))
    second = store.write(fact("A is a Fenix NAS", "device_a"))
    third = store.write(fact("A is a Fenix NAS", "deviceA"))
    assert [first.outcome, second.outcome, third.outcome] == ["added", "changed", "same"]
    assert first.id == second.id == third.id
    assert texts(store) == ["A is a Fenix NAS"]


def test_kinds_and_subjects_and_sessions_are_different_slots(store: MemoryStore) -> None:
    store.write(fact("tea", "drink"))
    store.write(Candidate("coffee", "preference", "drink", "user:1"))
    store.write(fact("milk", "drink", "user:2"))
    store.write(fact("water", "drink", session="s1"))
    assert sorted(texts(store)) == ["coffee", "tea"]
    assert sorted(texts(store, session="s1")) == ["coffee", "tea", "water"]
    assert texts(store, "user:2") == ["milk"]
    assert sorted(row.text for row in store.rows(None, session=None)) == [
        "coffee", "milk", "tea", "water",
    ]  # fmt: skip
    (milk,) = store.rows("user:2")
    with pytest.raises(UsageError):
        store.get(milk.id, "user:1")


def test_a_held_memory_waits_beside_the_current_one(store: MemoryStore) -> None:
    store.write(fact("is a customer", "status"))
    held = store.write(fact("is a VIP", "status", source="tool:crm"), held=True)
    assert held.outcome == "held"
    assert texts(store) == ["is a customer"]
    assert texts(store, states=(HELD,)) == ["is a VIP"]
    store.confirm(held.id, "ann")
    assert texts(store, states=(CURRENT, HELD)) == ["is a VIP"]
    assert [change.action for change in store.log()] == ["added", "held", "superseded", "confirmed"]
    assert store.confirm(held.id).outcome == "same"


def test_what_expires_is_not_read_and_then_not_there(store: MemoryStore) -> None:
    store.write(fact("on the way", "now", session="s1"), lifetime_s=86_400, at=NOW)
    store.write(fact("born in May", "birth"), at=NOW)
    late, later = NOW + timedelta(hours=23), NOW + timedelta(hours=25)
    assert len(store.rows("user:1", session="s1", at=late)) == 2
    assert [row.text for row in store.rows("user:1", session="s1", at=later)] == ["born in May"]
    assert len(store.expire(later)) == 1
    assert [row.text for row in store.rows(None, session=None)] == ["born in May"]


def test_deleting_leaves_nothing_but_the_fact_that_it_was_there(
    store: MemoryStore, address: str, tmp_path: Path
) -> None:
    store.write(fact("the secret garden", "place"))
    store.write(fact("the hidden orchard", "place"))
    other = store.write(fact("kept words", "other"))
    gone = store.forget([row for row in store.rows("user:1") if row.key == "place"], "ann")
    assert len(gone) == 1
    again = open_memory(address, tmp_path)  # another connection, as another process has
    assert again is not None
    assert [row.id for row in again.rows("user:1")] == [other.id]
    lines = again.log(memory_id=gone[0])
    assert [line.action for line in lines] == ["added", "changed", "forgotten"]
    assert {line.before + line.after for line in lines} == {""}
    assert lines[-1].by == "ann"
    again.close()
    for file in tmp_path.iterdir():
        data = file.read_bytes()
        assert b"garden" not in data
        assert b"orchard" not in data
    with pytest.raises(UsageError):
        store.get(gone[0])


def test_hits_and_complaints_are_counted_and_a_correction_clears_complaints(
    store: MemoryStore,
) -> None:
    name = store.write(fact("A is a NAS", "a")).id
    store.recalled([name])
    store.recalled([name])
    store.complain(name, "ann")
    row = store.get(name)
    assert (row.hits, row.bad) == (2, 1)
    store.correct(name, fact("A is a router"), "ann")
    row = store.get(name)
    assert (row.text, row.hits, row.bad, row.id) == ("A is a router", 2, 0, name)


def test_refusals_are_noted_without_their_text(store: MemoryStore) -> None:
    store.refused(fact("my code is 482913", "code"), "sensitive", "model")
    (line,) = store.log()
    assert (line.action, line.code, line.key, line.after) == ("refused", "sensitive", "", "")


def test_the_version_changes_with_every_change_of_the_subject(store: MemoryStore) -> None:
    seen = [store.version("user:1")]
    name = store.write(fact("x", "k")).id
    seen.append(store.version("user:1"))
    store.write(fact("y", "k", "user:2"))
    assert store.version("user:1") == seen[-1]
    store.forget([store.get(name)])
    seen.append(store.version("user:1"))
    assert seen == sorted(set(seen))


def test_many_writers_of_one_slot_leave_one_row(address: str, tmp_path: Path) -> None:
    failed: list[BaseException] = []

    def write(number: int) -> None:
        try:
            mine = open_memory(address, tmp_path)
            assert mine is not None
            for turn in range(5):
                mine.write(fact(f"value {number}.{turn}", "slot"))
            mine.close()
        except BaseException as error:  # noqa: BLE001  # whatever a thread met fails the test
            failed.append(error)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    store = open_memory(address, tmp_path)
    assert store is not None
    assert len(store.rows("user:1")) == 1
    assert len(store.log("user:1")) == 20
    store.close()


def test_texts_of_any_kind_come_back(store: MemoryStore) -> None:
    store.write(fact("订单 📦 \u202eעברית", "键 名"))
    store.write(fact("half \ud800 and nul \x00", "broken"))
    assert sorted(texts(store)) == ["half � and nul �", "订单 📦 \u202eעברית"]


def test_looking_makes_no_file(tmp_path: Path) -> None:
    assert open_memory("sqlite", tmp_path / "none", create=False) is None
    assert not (tmp_path / "none").exists()


def test_whoever_follows_the_changes_misses_none(address: str, tmp_path: Path) -> None:
    """Changes are numbered in the order in which they can be seen, whoever makes them."""
    opened = [open_memory(address, tmp_path) for _ in range(4)]
    stores = [store for store in opened if store is not None]
    assert len(stores) == 4
    *writers, reader = stores
    over, seen, version = threading.Event(), set[str](), 0

    def work(store: MemoryStore, name: str) -> None:
        for number in range(25):
            written = store.write(fact(f"{name} says {number}", f"{name} {number}"))
            store.keep_vectors("user:1", {written.id: ("hash", b"vector")})
            if number % 5 == 0:
                store.forget([store.get(written.id)])

    threads = [
        threading.Thread(target=work, args=(store, f"w{number}"))
        for number, store in enumerate(writers)
    ]
    for thread in threads:
        thread.start()
    while not over.is_set():
        if not any(thread.is_alive() for thread in threads):
            over.set()  # and look once more
        version, touched, _ = reader.changed("user:1", version)
        seen |= touched
    left = {row.id for row in reader.rows("user:1")}
    assert len(left) == 3 * 20
    assert len(seen) == 3 * 25
    assert set(reader.vectors(seen)) == left
    for store in stores:
        store.close()


def test_one_vector_written_by_many_stands_once(address: str, tmp_path: Path) -> None:
    stores = [open_memory(address, tmp_path) for _ in range(4)]
    name = stores[0].write(fact("dislikes star anise")).id if stores[0] else ""
    faults: list[Exception] = []

    def work(store: MemoryStore | None) -> None:
        try:
            for _ in range(10):
                assert store is not None
                store.keep_vectors("user:1", {name: ("hash", b"vector")})
        except Exception as error:  # noqa: BLE001  # whatever it is, the test tells it
            faults.append(error)

    threads = [threading.Thread(target=work, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    for store in stores:
        if store is not None:
            assert store.vectors([name]) == {name: ("hash", b"vector")}
            store.close()
