"""OFF-01 and OFF-03: what left the window is read back whole, and nothing outside is ever reached.

The cases' own replies are adapted: refs are opaque here, so the model's reads use the ref it was
given, and OFF-03's file names stand for the names a model gives to ``write_workspace``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from contextctl.core.assemble import Fold
from contextctl.core.reading.refs import content_hash, make_ref
from contextctl.io.models.vocab import counter_for
from contextctl.io.profile.load import load_profile
from contextctl.io.workspace.session import Workspace
from contextctl.model.assembly import Assembly
from contextctl.model.message import Message, ToolCall
from contextctl.model.record import Event, MessageAdded, Opened, Record, ResultArrived, StepTaken
from contextctl.run.workspace_calls import WorkspaceCalls, is_error

KEY = "5f" * 16


class Session:
    """One session over a folder, with the calls a model makes."""

    def __init__(self, folder: Path, name: str = "s1", key: str = KEY) -> None:
        self.workspace = Workspace.open(folder, name, key)
        self.record: Record = ()
        self.calls = WorkspaceCalls(self.workspace, key, lambda: self.record)

    def __call__(self, tool: str, **arguments: object) -> Any:
        answer = self.calls.execute(tool, json.dumps(arguments, ensure_ascii=False))
        value = json.loads(answer)
        assert is_error(answer) == ("error" in value)
        return value


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path / "W")


@pytest.fixture
def report(shared: Path) -> str:
    path = shared / "cases" / "inputs" / "OFF-01" / "report.txt"
    return path.read_text(encoding="utf-8")


def test_off_01_a_report_of_long_lines_is_read_part_by_part_to_its_end(
    session: Session, report: str
) -> None:
    sha256 = content_hash(report)
    ref = make_ref("s1", KEY, sha256)
    session.workspace.put(ref, sha256, report)
    folder = session.workspace.store.folder
    assert folder is not None
    files = sorted(path for path in folder.rglob("*.val"))
    parts: list[str] = []
    following: dict[str, int] = {"start": 0}
    while True:
        answer = session("read_workspace", ref=ref, **following)
        assert answer["ref"] == ref, "content, never another ref"
        assert answer["total_lines"] == 5
        assert len(answer["text"].encode()) <= 6000
        parts.append(answer["text"])
        if answer["next"] is None:
            break
        assert answer["truncated"] is True
        following = answer["next"]
        assert len(parts) < 30
    assert "".join(parts) == report
    assert any("MID-77" in part for part in parts), "not torn between two parts"
    assert "line 5 end" in parts[-1]
    assert sorted(path for path in folder.rglob("*.val")) == files
    assert len(session.workspace.refs()) == 1


def test_off_01_the_marker_is_found_and_read_where_the_search_says(
    session: Session, report: str
) -> None:
    written = session("write_workspace", name="report", content=report)
    assert (written["lines"], written["chars"]) == (5, len(report))
    assert written["head"] == report[:200]
    found = session("search_workspace", ref=written["ref"], pattern=r"MID-\d+")
    assert found["total"] == 1
    (match,) = found["matches"]
    assert match["line"] == 2
    at = session("read_workspace", ref="report", start=match["line"], offset=match["offset"])
    assert at["text"].startswith(match["text"])


def test_off_01_in_a_window_the_read_is_content_and_never_another_ref(
    session: Session, report: str, tmp_path: Path
) -> None:
    """The whole loop: the result leaves the window for a ref, the model reads it to its end."""
    path = tmp_path / "profile.yaml"
    path.write_text(
        "version: 1\n"
        "model: {name: openai/gpt-4.1-mini, window: 16000, reserve_output: 1000}\n"
        "shaping: {max_tokens: 2000}\n"
        "workspace: {offload_over: 2000}\n",
        encoding="utf-8",
    )
    profile = load_profile(str(path))
    fold = Fold(profile, counter_for(profile.tokenizer, profile.model.name))
    record: list[Event] = []

    def take(*events: Event) -> Assembly:
        for event in events:
            fold.advance(event)
            record.append(event)
        session.record = tuple(record)
        assembly = fold.assemble()
        assert assembly.ledger.status == "ok"
        session.workspace.put_many(assembly.offloads)
        fold.advance(StepTaken(assembly.ledger.step, digest=assembly.ledger.digest))
        return assembly

    def called(number: int, tool: str, arguments: str) -> MessageAdded:
        call = ToolCall(f"c{number}", tool, arguments)
        return MessageAdded(Message("assistant", tool_calls=(call,)))

    take(Opened("off-01", "s1", KEY), MessageAdded(Message("user", "Read the report to its end.")))
    take(called(0, "big_report", "{}"), ResultArrived("c0", "big_report", report))
    (stored,) = session.workspace.refs()
    parts: list[str] = []
    following: dict[str, int] = {}
    while len(parts) < 40:
        number = len(parts) + 1
        arguments = json.dumps({"ref": stored.ref, **following})
        answer = session.calls.execute("read_workspace", arguments)
        result = ResultArrived(f"c{number}", "read_workspace", answer)
        assembly = take(called(number, "read_workspace", arguments), result)
        assert assembly.messages[assembly.stable - 1]["content"] == answer, "shown as it came"
        assert counter_for("o200k_base", "").text(answer) <= 2000
        value = json.loads(answer)
        parts.append(value["text"])
        if value["next"] is None:
            break
        following = value["next"]
    assert "".join(parts) == report
    whole = [row for row in session.workspace.refs() if row.sha256 == stored.sha256]
    assert len(whole) == 1, "one content for that report"


def refs(shared: Path) -> list[dict[str, str]]:
    path = shared / "cases" / "inputs" / "OFF-03" / "refs.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def off_03(tmp_path: Path) -> Session:
    (tmp_path / "outside.txt").write_text("SECRET-OUT")
    session = Session(tmp_path / "W")
    assert "ref" in session("write_workspace", name="notes/a..b.txt", content="inside")
    (tmp_path / "W" / "link").symlink_to("../outside.txt")
    return session


def test_off_03_every_name_of_the_table_read(off_03: Session, shared: Path) -> None:
    table = refs(shared)
    assert len(table) == 10
    unknown = off_03("read_workspace", ref="never-was")
    for row in table:
        answer = off_03("read_workspace", ref=row["ref"])
        if row["verdict"].startswith("allow"):
            assert answer["text"] == "inside"
        else:
            assert answer == {**unknown, "ref": row["ref"]}, "exactly like an unknown name"
        assert "SECRET" not in json.dumps(answer)


def test_off_03_every_name_of_the_table_written(
    off_03: Session, shared: Path, tmp_path: Path
) -> None:
    before = {path for path in tmp_path.rglob("*") if "W" not in path.parts[len(tmp_path.parts) :]}
    for row in refs(shared):
        answer = off_03("write_workspace", name=row["ref"], content="overwritten")
        if row["verdict"].startswith("allow"):
            assert off_03("read_workspace", ref=answer["ref"])["text"] == "overwritten"
        else:
            assert answer["error"] == "name_refused"
            assert answer["name"] == row["ref"]
            assert set(answer) == {"error", "name", "hint"}
    after = {path for path in tmp_path.rglob("*") if "W" not in path.parts[len(tmp_path.parts) :]}
    assert after == before
    assert (tmp_path / "outside.txt").read_text() == "SECRET-OUT"
    assert off_03("read_workspace", ref="./notes/a..b.txt")["text"] == "overwritten"
    assert not Path("/etc/hostname").read_text().startswith("overwritten")


def test_off_03_a_ref_of_another_session_is_like_an_unknown_one(
    off_03: Session, tmp_path: Path
) -> None:
    ref = off_03("write_workspace", name="mine", content='{"a": 1}')["ref"]
    other = Session(tmp_path / "W", "s2", "77" * 16)
    for tool in ("read_workspace", "search_workspace", "fetch"):
        known = other(tool, ref=ref, pattern="a", fields="a")
        unknown = other(tool, ref="s2-qqqqqqqqqq", pattern="a", fields="a")
        assert {**known, "ref": ""} == {**unknown, "ref": ""}
        assert known["error"] == "not_found"


def test_an_earlier_call_is_viewed_raw_by_its_id(session: Session) -> None:
    call = ToolCall("call_7", "list_orders", '{"status":"open"}')
    raw = '{"rows": [1.10, 1234567890123456789]}'
    session.record = (
        MessageAdded(Message("assistant", tool_calls=(call,))),
        ResultArrived("call_7", "list_orders", raw),
    )
    answer = session("view_tool_call", call_id="call_7")
    assert (answer["name"], answer["arguments"], answer["text"]) == (
        "list_orders",
        '{"status":"open"}',
        raw,
    )
    assert session("view_tool_call", call_id="call_8")["error"] == "not_found"


@pytest.mark.parametrize("arguments", ["", "null", "[]", "{", '{"ref": null}', "\ud800"])
def test_broken_arguments_are_answered_and_the_run_goes_on(
    session: Session, arguments: str
) -> None:
    answer = json.loads(session.calls.execute("read_workspace", arguments))
    assert answer["error"] == "bad_arguments"


def test_json_that_was_written_is_fetched_by_field_with_its_digits(session: Session) -> None:
    rows = '[{"id": 1234567890123456789, "total": 1.10}, {"id": 2, "total": 3.00}]'
    ref = session("write_workspace", name="orders.json", content=rows)["ref"]
    answer = session.calls.execute("fetch", {"ref": ref, "fields": ["id", "total"]})
    assert '"id":[1234567890123456789,2],"total":[1.10,3.00]' in answer
