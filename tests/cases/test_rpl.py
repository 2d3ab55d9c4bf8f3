"""RPL-01: a recorded run is replayed from its own facts, and every difference has a name."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

PROFILE = """\
version: 1
model: {name: scripted/replies.jsonl, window: 8192, reserve_output: 512}
prefix: [{id: rules, text: "Rules v1.", stability: static}]
tools: {lookup: {python: "tools_mod:lookup"}}
"""
REPLIES = """\
{"tool_calls": [{"id": "r1", "name": "lookup", "arguments": {"id": "000417"}}]}
{"content": "Order 000417 is fine."}
"""


@pytest.fixture
def folder(cli, tmp_path: Path, shared: Path) -> Path:
    """The two steps, recorded; then the model and the tool are gone."""
    shutil.copy(shared / "cases/inputs/RPL-01/tools_mod.py", tmp_path / "tools_mod.py")
    (tmp_path / "profile.yaml").write_text(PROFILE)
    (tmp_path / "replies.jsonl").write_text(REPLIES)
    (tmp_path / "tasks.jsonl").write_text('{"id": "t1", "input": "Check 000417"}\n')
    done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", "--windows")
    assert done.code == 0, done.err
    (tmp_path / "replies.jsonl").unlink()
    (tmp_path / "tools_mod.py").unlink()
    return tmp_path


def test_as_it_is_it_passes_twice_with_the_same_bytes(cli, folder):
    first = cli("replay", "--verify", "run", "--format", "json")
    assert (first.code, first.json) == (0, {"status": "verified", "differences": []})
    assert cli("replay", "--verify", "run", "--format", "json").out == first.out


def test_a_changed_layer_is_a_difference_of_step_1(cli, folder):
    (folder / "edited.yaml").write_text(PROFILE.replace("Rules v1.", "Rules v2 are new."))
    done = cli("replay", "edited.yaml", "--verify", "run", "--format", "json")
    assert done.code == 1
    (difference,) = done.json["differences"]
    assert (difference["task"], difference["step"]) == ("t1", 1)
    assert difference["where"] == "layer:rules"
    assert (difference["recorded"], difference["now"]) == ("Rules v1.", "Rules v2 are new.")
    assert difference["tokens"] == 2  # "Rules v1." is 4 tokens of o200k_base, the other one 6


def test_a_run_whose_profile_was_edited_names_the_layer(cli, folder):
    path = folder / "run/run.json"
    path.write_text(path.read_text("utf-8").replace("Rules v1.", "Rules v2."))
    done = cli("replay", "--verify", "run")
    assert done.code == 1
    assert done.out.startswith("t1 step 1: layer:rules: ")


def test_another_result_is_a_difference_of_the_step_that_reads_it(cli, folder):
    path = folder / "run/tasks/t1/record.jsonl"
    path.write_text(path.read_text("utf-8").replace("fine, ticket ", "lost, ticket "))
    done = cli("replay", "--verify", "run", "--format", "json")
    assert done.code == 1
    (difference,) = done.json["differences"]
    assert (difference["step"], difference["where"]) == (2, "message:3")
    assert difference["recorded"].startswith("fine, ticket ")
    assert difference["now"].startswith("lost, ticket ")


@pytest.mark.parametrize("kept", ["first", "last"])
def test_a_missing_step_is_an_error_that_names_the_nearest_one(cli, folder, kept):
    path = folder / "run/tasks/t1/record.jsonl"
    lines = path.read_text("utf-8").splitlines(keepends=True)
    steps = [place for place, line in enumerate(lines) if '"kind":"step"' in line]
    assert len(steps) == 2
    gone = steps[1] if kept == "first" else steps[0]
    path.write_text("".join(line for place, line in enumerate(lines) if place != gone))
    done = cli("replay", "--verify", "run", "--format", "json")
    assert done.code == 2
    (difference,) = done.json["differences"]
    assert difference["where"] == "record"
    missing, near = (2, "nearest recorded: step 1") if kept == "first" else (1, "none is recorded")
    assert difference["step"] == missing
    assert near in difference["message"]


def test_a_record_cut_off_after_step_1_misses_step_2(cli, folder):
    path = folder / "run/tasks/t1/record.jsonl"
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:-2]))
    done = cli("replay", "--verify", "run")
    assert done.code == 2
    assert "the record of step 2 is missing; nearest recorded: step 1" in done.out


@pytest.mark.parametrize("how", ["emptied", "removed", "with its folder"])
def test_a_record_that_is_gone_is_not_verified(cli, folder, how):
    task = folder / "run/tasks/t1"
    if how == "emptied":
        (task / "record.jsonl").write_text("")
    elif how == "removed":
        (task / "record.jsonl").unlink()
    else:
        shutil.rmtree(task)
    done = cli("replay", "--verify", "run", "--format", "json")
    assert done.code == 2
    (difference,) = done.json["differences"]
    assert (difference["task"], difference["step"], difference["where"]) == ("t1", 1, "record")
