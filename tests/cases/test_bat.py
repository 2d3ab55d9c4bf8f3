"""BAT-01 and BAT-03: a batch is continued by id and content, whatever its files went through."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

PROFILE = "version: 1\nmodel: {name: scripted/replies.jsonl, window: 8192, reserve_output: 512}\n"


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def put_tasks(path: Path, source: Path) -> None:
    """The case's tasks, with the name that a task's text has here."""
    path.write_text(source.read_text("utf-8").replace('"prompt"', '"input"'), "utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "profile.yaml").write_text(PROFILE)
    (tmp_path / "replies.jsonl").write_text('{"content": "完成", "repeat": true}\n')
    return tmp_path


def resumed(cli: Any, tasks: str = "tasks.jsonl") -> Any:
    return cli("run", "profile.yaml", tasks, "--out", "run", "--resume", "--format", "json")


class TestTornResults:
    """BAT-01."""

    @pytest.fixture
    def damaged(self, folder: Path, shared: Path) -> Any:
        case = shared / "cases/inputs/BAT-01"
        put_tasks(folder / "tasks.jsonl", case / "tasks.jsonl")

        def damage(kind: str) -> bytes:
            data = (case / f"results_{kind}.jsonl").read_bytes().replace(b'"output"', b'"answer"')
            (folder / "run").mkdir()
            (folder / "run/results.jsonl").write_bytes(data)
            return data

        return damage

    @pytest.mark.parametrize(
        ("kind", "runs"),
        [("torn", ["t3", "t4", "t5"]), ("nonl", ["t4", "t5"]), ("mid", ["t2", "t4", "t5"])],
    )
    def test_what_is_whole_is_kept_and_the_rest_runs(self, cli, folder, damaged, kind, runs):
        before = damaged(kind)
        done = resumed(cli)
        assert done.code == 0, done.err
        assert [result["id"] for result in done.json["results"]] == runs
        lines = lines_of(folder / "run/results.jsonl")
        assert sorted(line["id"] for line in lines) == ["t1", "t2", "t3", "t4", "t5"]
        whole = [line for line in before.split(b"\n") if line.endswith(b"}")]
        after = (folder / "run/results.jsonl").read_bytes().split(b"\n")
        assert after[: len(whole)] == whole
        assert "Traceback" not in done.err
        if kind != "nonl":
            number = {"torn": 3, "mid": 2}[kind]
            assert f"results.jsonl:{number}:" in done.err
            broken = next(line for line in before.split(b"\n") if not line.endswith(b"}"))
            assert broken in (folder / "run/results.jsonl.torn").read_bytes()
        again = resumed(cli)
        assert (again.code, again.json["results"]) == (0, [])
        assert (folder / "run/results.jsonl").read_bytes().split(b"\n") == after


class TestEditedTasks:
    """BAT-03."""

    def test_by_id_and_content_never_by_place(self, cli, folder, shared):
        case = shared / "cases/inputs/BAT-03"
        put_tasks(folder / "v1.jsonl", case / "tasks_v1.jsonl")
        put_tasks(folder / "v2.jsonl", case / "tasks_v2.jsonl")
        script = folder / "replies.jsonl"
        refusal = '{"error": {"status": 400, "message": "HTTP 500"}, "task": "t2"}\n'
        script.write_text(refusal + '{"content": "1", "repeat": true}\n')
        first = cli("run", "profile.yaml", "v1.jsonl", "--out", "run", "--limit", "3")
        assert first.code == 1, first.err
        before = lines_of(folder / "run/results.jsonl")
        assert [(line["id"], line["status"]) for line in before] == [
            ("t1", "ok"),
            ("t2", "failed"),
            ("t3", "ok"),
        ]
        script.write_text('{"content": "2", "repeat": true}\n')
        done = resumed(cli, "v2.jsonl")
        assert done.code == 0, done.err
        ran = [result["id"] for result in done.json["results"]]
        assert ran[:5] == ["t0", "t2", "t3", "t4", "t6"]
        assert len(ran) == 6
        assert ran[5].startswith("t-")
        assert done.json["totals"]["skipped"] == 1
        assert "'t3' has changed" in done.err
        after = {line["id"]: line for line in lines_of(folder / "run/results.jsonl")}
        assert sorted(after) == sorted(["t1", *ran])
        assert after["t1"] == before[0]
        assert after["t3"]["answer"] == "2"
        assert (after["t4"]["status"], after["t6"]["status"]) == ("ok", "ok")
        old = folder / "run/tasks/t3/record.1.old.jsonl"
        assert "do 3" in old.read_text("utf-8")
        again = resumed(cli, "v2.jsonl")
        assert (again.code, again.json["results"]) == (0, [])

    def test_results_that_do_not_name_their_input_are_taken_as_done_and_named(
        self, cli, folder, shared
    ):
        case = shared / "cases/inputs/BAT-03"
        put_tasks(folder / "v2.jsonl", case / "tasks_v2.jsonl")
        (folder / "run").mkdir()
        data = (case / "results.jsonl").read_bytes().replace(b'"output"', b'"answer"')
        (folder / "run/results.jsonl").write_bytes(data)
        done = resumed(cli, "v2.jsonl")
        assert done.code == 0, done.err
        assert {"t0", "t2", "t4", "t6"} < {result["id"] for result in done.json["results"]}
        assert "'t1', 't3'" in done.err

    def test_an_id_that_occurs_twice_is_refused_before_any_call(self, cli, folder, shared):
        put_tasks(folder / "dup.jsonl", shared / "cases/inputs/BAT-03/tasks_dup.jsonl")
        done = cli("run", "profile.yaml", "dup.jsonl", "--out", "run")
        assert done.code == 2
        assert "dup.jsonl:3: the id 'q1' stands on line 1 already" in done.err
        assert not (folder / "run").exists()
