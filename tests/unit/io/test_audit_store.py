"""Audit rows in SQLite and in a real PostgreSQL server: the same tests, the same answers."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from contextctl.errors import StoreError
from contextctl.io.stores.audit import AuditStore, find_audit, open_audit
from contextctl.io.stores.engine import open_database
from contextctl.model.audit import Compaction, PinKept
from tests.servers.postgres import Postgres, running_postgres

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
# The published table, before contextctl added to it.
PUBLISHED = """
CREATE TABLE agent_compaction (
    compaction_id  TEXT PRIMARY KEY,
    thread_id      TEXT NOT NULL,
    raw_ref        TEXT NOT NULL,
    summary        {json} NOT NULL,
    pinned_keys    {texts} NOT NULL,
    tokens_before  INT NOT NULL,
    tokens_after   INT NOT NULL,
    created_at     {time} NOT NULL
)"""


def compaction(name: str, thread: str = "订单-7", **changed: object) -> Compaction:
    values: dict[str, object] = {
        "step": 12,
        "trigger": "ratio",
        "outcome": "committed",
        "raw_ref": "s1-abcdefghij",
        "summary": {
            "done": ["looked up order 1234567890123456789", "查了物流"],
            "findings": [],
            "open_questions": [],
            "negatives": ["不要寄到家里"],
            "entities": {"zeta": "1.10", "address": "公司"},
        },
        "pinned_keys": ("task", "constraints.1"),
        "tokens_before": 4_000,
        "tokens_after": 900,
        "generation": 2,
        "event_from": 3,
        "event_to": 31,
        "failed": (),
        "repaired": ("d2",),
        "pins": (PinKept("constraints.1", "仅寄公司地址", "ab" * 32, "task"),),
        "usage": {"prompt_tokens": 10, "cost_usd": 0.5},
    }
    return Compaction(compaction_id=name, thread_id=thread, **{**values, **changed})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with running_postgres() as found:
        yield found


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest) -> str:
    if request.param == "sqlite":
        return "sqlite"
    server: Postgres = request.getfixturevalue("server")
    return server.url(request.node.name)


@pytest.fixture
def opened(address: str, tmp_path: Path) -> Iterator[Callable[[], AuditStore]]:
    """Opens the store of the test, as often as asked."""
    stores: list[AuditStore] = []

    def open_one() -> AuditStore:
        store = open_audit(address, tmp_path)
        stores.append(store)
        return store

    yield open_one
    for store in stores:
        store.close()


def test_a_row_comes_back_as_it_was_written(opened: Callable[[], AuditStore]) -> None:
    written = compaction("c1")
    assert opened().add([written], NOON) == 1
    (row,) = opened().rows()
    assert row.compaction == written
    assert row.created_at == "2026-11-30T12:00:00.000000Z"
    summary = row.compaction.summary
    assert list(summary) == ["done", "findings", "open_questions", "negatives", "entities"]
    entities = summary["entities"]
    assert isinstance(entities, dict)
    assert list(entities) == ["address", "zeta"]


def test_adding_a_row_again_changes_nothing(opened: Callable[[], AuditStore]) -> None:
    store = opened()
    assert store.add([compaction("c1"), compaction("c2")], NOON) == 2
    later = NOON + timedelta(hours=1)
    again = [compaction("c1", tokens_after=1), compaction("c3")]
    assert store.add(again, later) == 1
    rows = {row.compaction.compaction_id: row for row in store.rows()}
    assert set(rows) == {"c1", "c2", "c3"}
    assert rows["c1"].compaction.tokens_after == 900
    assert rows["c1"].created_at == "2026-11-30T12:00:00.000000Z"


def test_rows_are_newest_first_and_by_thread(opened: Callable[[], AuditStore]) -> None:
    store = opened()
    for minute, (name, thread) in enumerate([("a", "t1"), ("B", "t2"), ("_c", "t1"), ("d", "T1")]):
        store.add([compaction(name, thread)], NOON + timedelta(minutes=minute))
    assert [row.compaction.compaction_id for row in store.rows()] == ["d", "_c", "B", "a"]
    assert [row.compaction.compaction_id for row in store.rows(["t1"])] == ["_c", "a"]
    many = [f"t{n}" for n in range(40_000)]
    assert [row.compaction.compaction_id for row in store.rows(many)] == ["_c", "B", "a"]
    assert store.rows([]) == ()


def test_rows_of_one_moment_have_one_order_in_both(opened: Callable[[], AuditStore]) -> None:
    store = opened()
    names = ["b", "A", "_", "a", "中", "é"]
    store.add([compaction(name) for name in names], NOON)
    store.add([compaction("later", event_to=99)], NOON)
    found = [row.compaction.compaction_id for row in store.rows()]
    assert found == ["later", "中", "é", "b", "a", "_", "A"]


def test_what_no_database_holds_becomes_a_sign(opened: Callable[[], AuditStore]) -> None:
    opened().add([compaction("c1", summary={"done": ["a\0b", "half \ud83d"]}, thread="t\0")], NOON)
    (row,) = opened().rows(["t\0"])
    assert row.compaction.summary == {"done": ["a␀b", "half \ufffd"]}


def test_many_writers_lose_no_row_and_add_none_twice(
    opened: Callable[[], AuditStore], tmp_path: Path, address: str
) -> None:
    """Processes that open a store nobody has opened yet, all at once, with rows in common."""
    script = (
        "import sys\nfrom pathlib import Path\n"
        "from contextctl.io.stores.audit import open_audit\n"
        "from tests.unit.io.test_audit_store import compaction\n"
        "folder, address, me = sys.argv[1:]\n"
        "store = open_audit(address, Path(folder))\n"
        "print(sum(store.add([compaction(f'own-{me}-{n}'), compaction(f'shared-{n}')]) "
        "for n in range(20)))\n"
    )
    root = Path(__file__).resolve().parents[3]
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path), address, str(me)],
            stdout=subprocess.PIPE, text=True, cwd=root,
        )
        for me in range(4)
    ]  # fmt: skip
    added = [int(writer.communicate(timeout=120)[0]) for writer in writers]
    assert sum(added) == 4 * 20 + 20
    rows = opened().rows()
    assert len({row.compaction.compaction_id for row in rows}) == len(rows) == 100


def test_threads_share_one_open_store(opened: Callable[[], AuditStore]) -> None:
    store = opened()
    added: list[int] = []

    def work(me: int) -> None:
        added.extend(store.add([compaction(f"{me}-{n}")]) for n in range(10))

    threads = [threading.Thread(target=work, args=(me,)) for me in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert added == [1] * 40
    assert len(store.rows()) == 40


def test_the_published_table_is_taken_over(
    opened: Callable[[], AuditStore], address: str, tmp_path: Path
) -> None:
    before = open_database(address, tmp_path / "audit.db")
    kinds = {"json": "JSONB", "texts": "TEXT[]", "time": "TIMESTAMPTZ"}
    if address == "sqlite":
        kinds = dict.fromkeys(kinds, "TEXT")
    keys = "ARRAY['task']" if before.is_postgres else """'["task"]'"""
    with before.writing("set up") as connection:
        connection.exec_driver_sql(PUBLISHED.format(**kinds))
        connection.exec_driver_sql(
            "INSERT INTO agent_compaction VALUES ('old', 't', 's-a', "
            f"""'{{"done": ["x"]}}', {keys}, 10, 5, '2026-11-30T11:00:00.000000Z')"""
        )
    before.close()
    store = opened()
    store.add([compaction("new", "t")], NOON)
    new, old = store.rows(["t"])
    assert (new.compaction.generation, old.compaction.generation) == (2, 1)
    assert old.compaction.summary == {"done": ["x"]}
    assert old.compaction.pinned_keys == ("task",)
    assert (old.compaction.ratio, old.created_at) == (0.5, "2026-11-30T11:00:00.000000Z")


def test_a_store_of_a_newer_contextctl_is_refused(
    opened: Callable[[], AuditStore], address: str, tmp_path: Path
) -> None:
    opened()
    newer = open_database(address, tmp_path / "audit.db")
    with newer.writing("pretend") as connection:
        connection.exec_driver_sql("UPDATE contextctl_schema SET version = 99")
    newer.close()
    with pytest.raises(StoreError, match="version 99, written by a newer contextctl"):
        opened()


def test_the_index_of_a_thread_by_time_is_there(server: Postgres, tmp_path: Path) -> None:
    url = server.url("index_there")
    store = open_audit(url, tmp_path)
    store.close()
    database = open_database(url, tmp_path)
    with database.reading("look") as connection:
        definition = connection.exec_driver_sql(
            "SELECT indexdef FROM pg_indexes WHERE indexname = 'agent_compaction_thread_time'"
        ).scalar_one()
        columns = connection.exec_driver_sql(
            "SELECT column_name, udt_name FROM information_schema.columns "
            "WHERE table_name = 'agent_compaction'"
        )
        kinds = {str(name): str(kind) for name, kind in columns}
    database.close()
    assert "(thread_id, created_at DESC)" in definition
    assert (kinds["summary"], kinds["pinned_keys"]) == ("jsonb", "_text")


def test_an_account_that_may_only_read_and_add_is_enough(server: Postgres, tmp_path: Path) -> None:
    url = server.url("few_rights")
    first = open_audit(url, tmp_path)
    first.close()
    owner = open_database(url, tmp_path)
    with owner.writing("grant") as connection:
        connection.exec_driver_sql("CREATE ROLE clerk LOGIN PASSWORD 'clerk'")
        connection.exec_driver_sql("GRANT SELECT, INSERT ON agent_compaction TO clerk")
        connection.exec_driver_sql("GRANT SELECT ON contextctl_schema TO clerk")
    owner.close()
    clerk = open_audit(url.replace("ctx:p%40ss%2Fword%3A1@", "clerk:clerk@"), tmp_path)
    assert clerk.add([compaction("c1")]) == 1
    clerk.close()


def test_looking_makes_no_file(tmp_path: Path) -> None:
    assert find_audit("sqlite", tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "audit.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError, match=r"audit\.db.*not a database"):
        open_audit("sqlite", tmp_path)


def test_a_server_that_is_not_there_is_told_without_its_password(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        open_audit("postgresql+psycopg://me:hunter22@127.0.0.1:9/audit", tmp_path)
    assert "127.0.0.1:9/audit" in str(caught.value)
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize(
    "address", ["postgresql+psycopg://me:hunter22@[bad", "mysql://a:hunter22@b/c"]
)
def test_an_address_of_another_kind_is_refused_without_its_password(
    address: str, tmp_path: Path
) -> None:
    with pytest.raises(StoreError) as caught:
        open_audit(address, tmp_path)
    assert "hunter22" not in str(caught.value)


def test_a_writer_that_is_killed_leaves_whole_rows(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom pathlib import Path\n"
        "from contextctl.io.stores.audit import open_audit\n"
        "from tests.unit.io.test_audit_store import compaction\n"
        "store = open_audit('sqlite', Path(sys.argv[1]))\n"
        "for n in range(100_000):\n"
        "    store.add([compaction(f'{n}-a'), compaction(f'{n}-b')])\n"
        "    print(n, flush=True)\n"
    )
    root = Path(__file__).resolve().parents[3]
    for _ in range(3):
        writer = subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=root,
        )
        assert writer.stdout is not None
        seen = [int(writer.stdout.readline()) for _ in range(15)]
        writer.kill()
        writer.wait()
        store = open_audit("sqlite", tmp_path)
        names = {row.compaction.compaction_id for row in store.rows()}
        store.close()
        assert {f"{n}-{half}" for n in seen for half in "ab"} <= names
        assert len([n for n in names if n.endswith("-a")]) * 2 == len(names)
    with sqlite3.connect(tmp_path / "audit.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
