"""DEF-03: no skill is lost in silence, and the index keeps its budget."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from contextctl.io.models.vocab import counter_for

PROFILE = """version: 1
model: {name: scripted/replies.jsonl, window: 8192, reserve_output: 512}
prefix:
  - {id: skills, index: skills}
disclosure: {skills: [skills/], index: {total_tokens: %d}}
"""


@pytest.fixture
def folder(shared: Path, tmp_path: Path) -> Path:
    shutil.copytree(shared / "cases/inputs/DEF-03/skills", tmp_path / "skills")
    (tmp_path / "p.yaml").write_text(PROFILE % 400, "utf-8")
    (tmp_path / "tasks.jsonl").write_text('{"id": "t1", "input": "Pack it"}\n', "utf-8")
    (tmp_path / "replies.jsonl").write_text('{"content": "done"}\n', "utf-8")
    return tmp_path


def index_of(cli, folder: Path) -> list[str]:
    """The lines of the index layer in the window of a run."""
    done = cli("run", "p.yaml", "tasks.jsonl", "--out", "run", "--windows")
    assert done.code == 0, done.err
    line = json.loads((folder / "run/tasks/t1/windows.jsonl").read_text("utf-8"))
    text: str = line["messages"][0]["content"]
    return text.split("\n")


def test_the_index_holds_every_skill_that_can_be_read(cli, folder):
    heading, *lines = index_of(cli, folder)
    assert "view_skill" in heading
    names = [line.removeprefix("- ").partition(":")[0] for line in lines]
    assert names == ["bom", "colon", "crlf", "long", "plain"]
    assert lines[1] == "- colon: Use when a parcel is late: ask the carrier first"
    assert lines[4] == "- plain: Pack a parcel"  # not 'Another plain'
    assert lines[3].startswith("- long: Ledger ledger margin")
    assert lines[3].endswith("…")


@pytest.mark.parametrize("budget", [400, 80, 45])
def test_the_index_keeps_its_budget_and_every_name(cli, folder, budget):
    (folder / "p.yaml").write_text(PROFILE % budget, "utf-8")
    lines = index_of(cli, folder)
    counter = counter_for("o200k_base", "gpt-4o")
    assert counter.text("\n".join(lines)) <= budget
    assert [line.split()[1].rstrip(":") for line in lines[1:]] == [
        "bom",
        "colon",
        "crlf",
        "long",
        "plain",
    ]


def test_validate_names_file_line_and_reason(cli, folder):
    done = cli("validate", "p.yaml", "--format", "json")
    assert done.code == 1
    faults = {(p["severity"], p["path"], p["line"]): p["message"] for p in done.json["problems"]}
    assert ("error", "skills/broken/SKILL.md", 1) in faults
    assert "closing '---'" in faults["error", "skills/broken/SKILL.md", 1]
    twin = faults["error", "skills/twin/SKILL.md", 2]
    assert "skills/plain/SKILL.md" in twin
    assert "wins" in twin
    assert "': ' without quotes" in faults["warning", "skills/colon/SKILL.md", 3]
    assert "5,196 characters" in faults["warning", "skills/long/SKILL.md", 3]
    assert not [path for _, path, _ in faults if "/bom/" in path or "/crlf/" in path]


def test_a_run_goes_on_and_tells(cli, folder):
    done = cli("run", "p.yaml", "tasks.jsonl", "--out", "run")
    assert done.code == 0
    assert "skill not indexed: skills/broken/SKILL.md:1:" in done.err
    assert "skill not indexed: skills/twin/SKILL.md:2:" in done.err
    record = (folder / "run/tasks/t1/record.jsonl").read_text("utf-8")
    notes = [json.loads(line) for line in record.splitlines() if "discovery_failure" in line]
    assert [note["body"]["failure"] for note in notes] == ["discovery.index"] * 2


def test_valid_skills_leave_validate_content(cli, folder):
    for name in ("broken", "twin", "colon", "long"):
        shutil.rmtree(folder / "skills" / name)
    assert cli("validate", "p.yaml", "--strict").code == 0
