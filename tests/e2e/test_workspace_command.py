"""``contextctl workspace`` on the folder of a run, as a person uses it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from contextctl.core.reading.refs import content_hash, make_ref
from contextctl.io.runs.folder import RunFolder
from contextctl.io.runs.records import RecordWriter
from contextctl.io.workspace.session import Workspace
from contextctl.model.record import Opened

if TYPE_CHECKING:
    from tests.conftest import Cli

LOG = "".join(f"line {n} {'错误 ERROR' if n % 50 == 7 else 'ok'}\n" for n in range(3000))
ROWS = '{"rows": [{"id": 1234567890123456789}]}'


def put(workspace: Workspace, key: str, text: str, media: str = "text/plain") -> str:
    sha256 = content_hash(text)
    ref = make_ref(workspace.session, key, sha256)
    workspace.put(ref, sha256, text, media)
    return ref


@pytest.fixture
def refs(tmp_path: Path) -> dict[str, str]:
    """A run of two tasks; the second one's workspace session has the same content too."""
    run = RunFolder.create(None, "desk", tmp_path)
    run.write_run_json({"status": "ok", "profile": {"workspace": {"path": None}}})
    found: dict[str, str] = {}
    for task, session, key in (("t1", "s1", "aa"), ("任务/2", "s2", "bb")):
        with RecordWriter(run.task(task).record) as record:
            record.append((Opened(task, session, key),))
        workspace = Workspace.open(run.workspace, session, key, run=run.path.name)
        found[f"{task} log"] = put(workspace, key, LOG)
        found[f"{task} rows"] = put(workspace, key, ROWS, "application/json")
        workspace.label("build/log", found[f"{task} log"])
        workspace.close()
    return found


def test_ls_names_every_ref_its_task_and_its_names(cli: Cli, refs: dict[str, str]) -> None:
    listed = cli("workspace", "ls", "latest", "--format", "json")
    assert listed.code == 0
    rows = {row["ref"]: row for row in listed.json["refs"]}
    assert set(rows) == set(refs.values())
    assert rows[refs["t1 log"]]["task"] == "t1"
    assert rows[refs["t1 log"]]["names"] == ["build/log"]
    assert rows[refs["t1 log"]]["lines"] == 3000
    text = cli("workspace", "ls", "latest")
    assert all(ref in text.out for ref in refs.values())
    assert "4 refs" in text.err


def test_read_prints_the_whole_content_or_a_part(cli: Cli, refs: dict[str, str]) -> None:
    assert cli("workspace", "read", "latest", refs["t1 log"]).out == LOG
    part = cli("workspace", "read", "latest", refs["t1 log"], "--start", "7", "--limit", "1")
    assert part.out == "line 7 错误 ERROR\n"
    shown = cli("workspace", "read", "latest", refs["t1 rows"], "--format", "json").json
    assert (shown["text"], shown["truncated"]) == (ROWS, False)


def test_a_name_that_two_tasks_gave_asks_which(cli: Cli, refs: dict[str, str]) -> None:
    asked = cli("workspace", "read", "latest", "build/log")
    assert asked.code == 2
    assert refs["t1 log"] in asked.err
    assert refs["任务/2 log"] in asked.err
    assert asked.out == ""


def test_search_says_ref_and_line(cli: Cli, refs: dict[str, str]) -> None:
    found = cli("workspace", "search", "latest", "错误 E", "--ref", refs["t1 log"], "--limit", "2")
    assert found.out.splitlines() == [
        f"{refs['t1 log']}:7: line 7 错误 ERROR",
        f"{refs['t1 log']}:57: line 57 错误 ERROR",
    ]
    assert "2 of 60 matches" in found.err
    all_refs = cli("workspace", "search", "latest", "1234567890123456789", "--format", "json").json
    assert {row["ref"] for row in all_refs["refs"]} == {refs["t1 rows"], refs["任务/2 rows"]}


def test_export_writes_the_originals(cli: Cli, refs: dict[str, str], tmp_path: Path) -> None:
    assert cli("workspace", "export", "latest", "--out", "out").code == 0
    names = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert names == {
        f"{refs['t1 log']}.txt": LOG.encode(),
        f"{refs['任务/2 log']}.txt": LOG.encode(),
        f"{refs['t1 rows']}.json": ROWS.encode(),
        f"{refs['任务/2 rows']}.json": ROWS.encode(),
    }


def test_gc_removes_only_what_it_is_told_to(cli: Cli, refs: dict[str, str]) -> None:
    def collected(*options: str) -> dict[str, object]:
        return dict(cli("workspace", "gc", "latest", *options, "--format", "json").json)

    assert collected() == {"dry_run": False, "refs": 0, "blobs": 0, "files": 0}
    assert collected("--older-than", "1h")["refs"] == 0
    assert collected("--all", "--dry-run") == {"dry_run": True, "refs": 4, "blobs": 0, "files": 0}
    assert collected("--all") == {"dry_run": False, "refs": 4, "blobs": 2, "files": 0}
    assert cli("workspace", "ls", "latest", "--format", "json").json["refs"] == []


def test_a_workspace_shared_by_runs_shows_and_collects_one_run(cli: Cli, tmp_path: Path) -> None:
    place = tmp_path / "shared-workspace"
    refs = {}
    for name, key in (("one", "aa"), ("two", "bb")):
        run = RunFolder.create(tmp_path / name, name, tmp_path)
        run.write_run_json({"profile": {"workspace": {"path": str(place)}}})
        with RecordWriter(run.task("t").record) as record:
            record.append((Opened("t", name, key),))
        refs[name] = put(Workspace.open(place, name, key), key, LOG)
    listed = cli("workspace", "ls", "one", "--format", "json").json
    assert [row["ref"] for row in listed["refs"]] == [refs["one"]]
    assert len(cli("workspace", "ls", place, "--format", "json").json["refs"]) == 2
    assert cli("workspace", "gc", "one", "--all", "--format", "json").json["refs"] == 1
    assert cli("workspace", "read", "two", refs["two"]).out == LOG


@pytest.mark.parametrize(
    ("args", "code", "complaint"),
    [
        (("ls", "nowhere"), 2, "no run at"),
        (("ls", "latest"), 2, "no run found"),
        (("read", "latest", "x"), 2, "no run found"),
        (("gc", "latest", "--all", "--older-than", "1d"), 2, "not both"),
        (("gc", "latest", "--older-than", "soon"), 2, "'soon' is no age"),
        (("search", "latest", ""), 2, "must not be empty"),
    ],
)
def test_wrong_use_is_one_clear_line(
    cli: Cli, args: tuple[str, ...], code: int, complaint: str
) -> None:
    done = cli("workspace", *args)
    assert (done.code, done.out) == (code, "")
    assert complaint in done.err
    assert "Traceback" not in done.err


def test_a_run_that_stored_nothing_has_an_empty_list(cli: Cli, tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "r", "a", tmp_path)
    run.write_run_json({})
    assert cli("workspace", "ls", "r", "--format", "json").json["refs"] == []
    assert cli("workspace", "export", "r", "--out", "out").code == 0
    assert not (tmp_path / "r" / "workspace").exists(), "looking makes nothing"


def test_damaged_content_is_named_and_the_rest_is_exported(
    cli: Cli, refs: dict[str, str], tmp_path: Path
) -> None:
    (run,) = (tmp_path / ".contextctl" / "runs").iterdir()
    big = Workspace.open(run / "workspace", "s1", "aa")
    ref = put(big, "aa", "".join(chr(0x4E00 + n * 7919 % 20000) for n in range(60_000)))
    (file,) = (run / "workspace").rglob("*.val")
    file.write_bytes(file.read_bytes()[:100])
    done = cli("workspace", "export", "latest", "--out", "out", "--format", "json")
    assert (done.code, done.json["written"], done.json["damaged"]) == (1, 4, [ref])
    gone = cli("workspace", "read", "latest", ref)
    assert gone.code == 4
    assert "damaged or gone" in gone.err
    json.loads(cli("workspace", "ls", "latest", "--format", "json").out)
