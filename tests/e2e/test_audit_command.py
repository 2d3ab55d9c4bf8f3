"""``contextctl audit`` on replayed runs, with SQLite and with a real PostgreSQL server."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli
from tests.servers.postgres import Postgres, running_postgres

PROFILE = """
version: 1
model: {name: openai/gpt-4.1-mini, window: 7000, reserve_output: 500}
tokenizer: o200k_base
compaction: {when: {every_steps: 8}, protect_steps: 2}
stores: {audit: "${AUDIT_URL:-sqlite}"}
"""
LISTING = "\n".join(f"row {n}: nothing that anybody asks for again, only filler" for n in range(60))


def trace(name: str = "t1", *, steps: int = 30) -> dict[str, Any]:
    """An agent that looks up one order after the other."""
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Check all orders. 只寄公司地址。"},
    ]
    for step in range(1, steps + 1):
        arguments = json.dumps({"order_id": f"A-{1000 + step}"})
        call = {"id": f"c{step}", "type": "function",
                "function": {"name": "get_order", "arguments": arguments}}  # fmt: skip
        said = f"Looking at the order number {step} now, as I was asked to."
        told = f"carrier: SF Express\nwaybill: {880_000 + step}\nchatter {step * 7919}\n{LISTING}"
        messages += [
            {"role": "assistant", "content": said, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{step}", "content": told},
        ]
    messages.append({"role": "assistant", "content": "All done."})
    return {"id": name, "messages": messages, "tools": []}


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with running_postgres() as found:
        yield found


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> str:
    if request.param == "sqlite":
        return "sqlite"
    found: Postgres = request.getfixturevalue("server")
    return found.url(request.node.name)


Replayed = Callable[..., Cli]


@pytest.fixture
def replayed(cli: Cli) -> Replayed:
    """Replays the trace into the folder ``RUN`` with the audit table at an address."""

    def replay(address: str, out: str = "RUN", profile: str = PROFILE, **changed: Any) -> Cli:
        (cli.cwd / "p.yaml").write_text(profile, encoding="utf-8")
        text = json.dumps(trace(**changed), ensure_ascii=False)
        (cli.cwd / "t.jsonl").write_text(text + "\n", encoding="utf-8")
        if address != "sqlite":
            cli.env["AUDIT_URL"] = address
        done = cli("replay", "p.yaml", "t.jsonl", "--out", out)
        assert done.code == 0, done.err
        return cli

    return replay


def rows(cli: Cli, run: str = "RUN") -> list[dict[str, Any]]:
    """The rows as the command lists them, newest first, less their time."""
    found: list[dict[str, Any]] = cli("audit", "ls", run, "--format", "json").json["compactions"]
    return [{k: v for k, v in row.items() if k != "created_at"} for row in found]


def test_rows_are_listed_shown_compared_and_true(replayed: Replayed, store: str) -> None:
    cli = replayed(store)
    found = rows(cli)
    assert len(found) >= 3
    assert {row["thread_id"] for row in found} == {"t1"}
    committed = [row for row in found if row["outcome"] == "committed"]
    assert all(0 < row["tokens_after"] < row["tokens_before"] for row in committed)
    checked = cli("audit", "verify", "RUN", "--format", "json")
    assert (checked.code, checked.json["verified"]) == (0, True)
    assert checked.json["rows"] == len(found)
    assert checked.json["events"] > 30
    name = found[0]["compaction_id"]
    shown = cli("audit", "show", "RUN", name)
    assert f"{name}  t1" in shown.out
    assert set(found[0]["summary"]) == {
        "done", "findings", "open_questions", "negatives", "entities"
    }  # fmt: skip
    newest, older = [row["compaction_id"] for row in committed[:2]]
    compared = cli("audit", "diff", "RUN", "--format", "json").json
    assert [compared[one]["compaction_id"] for one in ("first", "second")] == [older, newest]
    named = cli("audit", "diff", "RUN", older, newest, "--format", "json").json
    assert named == compared


def test_both_kinds_of_database_give_the_same_audit(replayed: Replayed, server: Postgres) -> None:
    cli = replayed("sqlite", "LITE")
    outputs = [_outputs(cli, "LITE", str(cli.cwd / "LITE" / "audit.db"))]
    url = server.url("same_audit")
    replayed(url, "PG")
    assert not (cli.cwd / "PG" / "audit.db").exists()
    outputs.append(_outputs(cli, "PG", url.replace("p%40ss%2Fword%3A1", "***")))
    assert outputs[0] == outputs[1]


def _outputs(cli: Cli, run: str, store: str) -> list[str]:
    """What every audit command prints about a run, less the store's name and the times."""
    listed = cli("audit", "ls", run, "--format", "json").json
    assert listed["store"].endswith(store.rpartition("/")[2])
    names = [row["compaction_id"] for row in listed["compactions"]]
    times = {row["created_at"] for row in listed["compactions"]}
    asked = [
        ("ls", run), ("ls", run, "--format", "json"), ("verify", run), ("diff", run),
        ("why", run, "waybill: 880003"), ("why", run, "880003", "--format", "json"),
        *(("show", run, name) for name in names),
    ]  # fmt: skip
    outputs = []
    for command in asked:
        done = cli("audit", *command)
        assert done.code == 0, done.err
        text = done.out.replace(run, "RUN").replace(listed["store"], "STORE")
        text = text.replace(listed["store"].replace(run, "RUN"), "STORE")
        for time in times:
            text = text.replace(time, "TIME")
        outputs.append(text)
    return outputs


def test_runs_that_share_a_database_see_their_own_rows(
    replayed: Replayed, server: Postgres
) -> None:
    url = server.url("shared")
    cli = replayed(url, "ONE")
    first = rows(cli, "ONE")
    replayed(url, "AGAIN")
    assert rows(cli, "AGAIN") == first == rows(cli, "ONE")
    replayed(url, "OTHER", PROFILE.replace("every_steps: 8", "every_steps: 5"))
    replayed(url, "TASK", name="t2")
    assert {row["thread_id"] for row in rows(cli, "TASK")} == {"t2"}
    for run in ("ONE", "AGAIN", "TASK"):
        checked = cli("audit", "verify", run, "--format", "json").json
        assert checked["faults"] == []
        assert checked["rows"] == len(first)
    assert cli("audit", "verify", "OTHER").code == 0


def test_a_row_that_was_changed_or_removed_is_told(replayed: Replayed) -> None:
    cli = replayed("sqlite")
    names = [row["compaction_id"] for row in rows(cli)]
    with sqlite3.connect(cli.cwd / "RUN" / "audit.db") as connection:
        changed, removed = names[0], names[1]
        connection.execute(
            "UPDATE agent_compaction SET tokens_after = 1 WHERE compaction_id = ?", (changed,)
        )
        connection.execute("DELETE FROM agent_compaction WHERE compaction_id = ?", (removed,))
        connection.execute(
            "INSERT INTO agent_compaction SELECT 'invented', thread_id, raw_ref, summary, "
            "pinned_keys, tokens_before, tokens_after, created_at, generation, event_from, "
            "event_to, checks, details FROM agent_compaction WHERE compaction_id = ?",
            (names[2],),
        )
    done = cli("audit", "verify", "RUN", "--format", "json")
    faults = {fault["compaction_id"]: fault["kind"] for fault in done.json["faults"]}
    assert done.code == 1
    assert faults == {changed: "differs", removed: "missing", "invented": "unknown"}
    told = cli("audit", "verify", "RUN").out
    assert "tokens_after 1 in the row" in told


def test_a_raw_text_that_is_gone_is_told(replayed: Replayed) -> None:
    cli = replayed("sqlite")
    ref = rows(cli)[0]["raw_ref"]
    assert cli("workspace", "gc", "RUN", "--all").code == 0
    done = cli("audit", "verify", "RUN", "--format", "json")
    assert done.code == 1
    assert {fault["kind"] for fault in done.json["faults"]} == {"raw_gone"}
    assert any(ref in fault["message"] for fault in done.json["faults"])


def test_why_tells_the_cases_apart(replayed: Replayed) -> None:
    cli = replayed("sqlite")
    never = cli("audit", "why", "RUN", "gift wrapping please")
    assert never.out.startswith("never_said: ")
    there = cli("audit", "why", "RUN", "只寄公司地址")
    assert there.out.startswith("in_window: ")
    assert "turn 1, e02 by user" in there.out
    dropped = cli("audit", "why", "RUN", "only filler", "--format", "json").json
    assert dropped["said"]
    gone = cli("audit", "why", "RUN", "as I was asked to", "--task", "t1", "--format", "json").json
    assert gone["verdict"] == "in_window"  # the protected steps say it again


def test_what_a_summary_dropped_names_it_and_where_it_can_be_read(replayed: Replayed) -> None:
    cli = replayed("sqlite")
    text = f"chatter {7919 * 3}\nrow 0: nothing"
    answer = cli("audit", "why", "RUN", text, "--format", "json").json
    assert answer["verdict"] == "dropped_by_summary"
    name = answer["by"]
    covering = [one for one in answer["covered"] if one["compaction_id"] == name]
    assert [one["in_summary"] for one in covering] == [False]
    assert answer["last_step"] < answer["step"]
    (ref, *_) = answer["refs"]
    assert "chatter 23757" in cli("workspace", "read", "RUN", ref).out
    shown = cli("audit", "why", text, "RUN")
    assert shown.out.startswith(f"dropped_by_summary: compaction {name} ")


def test_a_run_without_compactions_has_no_rows_and_no_file(replayed: Replayed) -> None:
    cli = replayed("sqlite", steps=2)
    assert not (cli.cwd / "RUN" / "audit.db").exists()
    assert cli("audit", "ls").out.startswith("no compaction in ")
    assert cli("audit", "verify", "latest").code == 0
    assert cli("audit", "show", "RUN", "c1").code == 2
    assert cli("audit", "diff", "RUN").code == 2


def test_a_server_that_is_not_there_ends_a_run_before_it_begins(cli: Cli) -> None:
    (cli.cwd / "p.yaml").write_text(PROFILE, encoding="utf-8")
    (cli.cwd / "t.jsonl").write_text(json.dumps(trace()) + "\n", encoding="utf-8")
    url = "postgresql+psycopg://me:hunter22@127.0.0.1:9/audit"
    done = cli("replay", "p.yaml", "t.jsonl", "--out", "RUN", env={"AUDIT_URL": url})
    assert done.code == 4
    assert "127.0.0.1:9/audit" in done.err
    written = "".join(p.read_text("utf-8", "replace") for p in cli.cwd.rglob("*") if p.is_file())
    assert "hunter22" not in done.err + done.out + written


def test_wrong_names_are_told_with_what_there_is(replayed: Replayed, cli: Cli) -> None:
    replayed("sqlite")
    assert "it holds: t1" in cli("audit", "ls", "RUN", "--task", "t9").err
    missing = cli("audit", "show", "RUN", "nothing-like-it")
    assert (missing.code, "there is no compaction 'nothing-like-it'" in missing.err) == (2, True)
    assert cli("audit", "ls", "NOWHERE").code == 2
    assert cli("audit", "why", "RUN", "  ").code == 2


def test_no_password_of_a_url_is_shown(replayed: Replayed, server: Postgres) -> None:
    cli = replayed(server.url("secret"))
    shown = [cli("audit", *command) for command in (("ls", "RUN", "--format", "json"), ("verify",))]
    files = [p for p in (cli.cwd / "RUN").rglob("*") if p.is_file()]
    texts = [one.out + one.err for one in shown] + [p.read_text("utf-8", "replace") for p in files]
    assert all("p%40ss" not in text and "p@ss" not in text for text in texts)
    assert Path(cli.cwd / "RUN" / "run.json") in files
