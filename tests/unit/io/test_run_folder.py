"""The folder of a run: made once, found again, never two tasks in one place."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextctl.errors import RecordError, UsageError
from contextctl.io.runs.folder import RunFolder, safe_name


def test_a_run_without_out_gets_a_folder_of_its_own(tmp_path: Path) -> None:
    first = RunFolder.create(None, "order desk", tmp_path)
    second = RunFolder.create(None, "order desk", tmp_path)
    assert first.path != second.path
    assert first.path.parent == tmp_path / ".contextctl" / "runs"
    assert re.match(r"\d{8}-\d{6}-order_desk", first.path.name)
    assert (tmp_path / ".contextctl" / ".gitignore").read_text() == "*\n"


def test_latest_is_the_last_run_wherever_it_is(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no run found"):
        RunFolder.open("latest", tmp_path)
    RunFolder.create(None, "a", tmp_path).write_run_json({})
    out = RunFolder.create(tmp_path / "elsewhere", "b", tmp_path)
    out.write_run_json({})
    assert RunFolder.open("latest", tmp_path).path == out.path
    assert RunFolder.open("elsewhere", tmp_path).path == out.path


def test_a_folder_that_holds_a_run_is_not_written_over(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "r", "a", tmp_path)
    run.write_run_json({"name": "a"})
    with pytest.raises(UsageError, match="--resume"):
        RunFolder.create(tmp_path / "r", "a", tmp_path)
    assert RunFolder.create(tmp_path / "r", "a", tmp_path, resume=True) == run


def test_what_is_no_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no run at"):
        RunFolder.open("nothing", tmp_path)
    (tmp_path / "plain").mkdir()
    with pytest.raises(UsageError, match=r"neither run\.json nor tasks/"):
        RunFolder.open("plain", tmp_path)


def test_run_json_comes_back_and_a_broken_one_is_an_error(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "r", "a", tmp_path)
    run.write_run_json({"profile": {"name": "订单", "key": "${KEY}"}})
    assert run.read_run_json() == {"profile": {"name": "订单", "key": "${KEY}"}}
    assert "订单" in run.run_json.read_text(encoding="utf-8")
    run.run_json.write_text("{")
    with pytest.raises(RecordError, match="cannot read"):
        run.read_run_json()


@pytest.mark.parametrize(
    ("task", "name"),
    [("t1", "t1"), ("astroid-1333", "astroid-1333"), ("任务一", "任务一"), ("a.b_c", "a.b_c")],
)
def test_a_usual_id_is_the_name_of_its_folder(tmp_path: Path, task: str, name: str) -> None:
    assert RunFolder(tmp_path).task(task).record == tmp_path / "tasks" / name / "record.jsonl"


@given(st.lists(st.text(max_size=200), unique=True, max_size=12))
def test_ids_make_safe_and_different_names(tasks: list[str]) -> None:
    names = [safe_name(task) for task in tasks]
    assert len(set(names)) == len(names)
    for name in names:
        assert name
        assert not name.startswith(".")
        assert "/" not in name
        assert "\0" not in name
        assert len(os.fsencode(name)) <= 100


def test_ids_that_look_alike_when_made_safe_stay_apart() -> None:
    names = {safe_name(task) for task in ("a/b", "a_b", "a:b", "a b", "../a_b", "a_b/")}
    assert len(names) == 6
