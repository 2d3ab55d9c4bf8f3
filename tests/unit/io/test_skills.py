"""Skills on disk: what is indexed, what is reported, what may be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextctl.io.skills.index import read_skills, skill_file, skill_files
from contextctl.model.skill import Shelf, Skill


def write(folder: Path, text: str, name: str = "SKILL.md") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, "utf-8")
    return folder


def faults(shelf: Shelf) -> dict[tuple[str, int], str]:
    return {(Path(f.path).parent.name, f.line): f"{f.severity}: {f.reason}" for f in shelf.faults}


GOOD = "---\nname: {0}\ndescription: Does {0}\n---\nBody of {0}.\n"


def test_skills_are_found_at_any_depth_in_the_order_of_folders_and_names(tmp_path):
    for name in ("b", "a", "deep/er/c", ".hidden/d", "node_modules/e"):
        write(tmp_path / "one" / name, GOOD.format(name[-1]))
    write(tmp_path / "two", GOOD.format("two"))
    shelf = read_skills([tmp_path / "two", tmp_path / "one"])
    assert [skill.name for skill in shelf.skills] == ["two", "d", "a", "b", "c"]
    assert shelf.faults == ()


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("", 0, "error: the file is empty"),
        ("# Title\n", 1, "error: no frontmatter"),
        ("---\nname: x\n", 1, "error: the frontmatter that begins here has no closing"),
        ("---\nname: x\n---\nBody", 1, "error: no 'description'"),
        ("---\nname: x\ndescription:\n---\nBody", 3, "error: no 'description'"),
        ("---\nname: x\ndescription: [a\n---\nBody", 4, "error: the frontmatter is not YAML"),
        ("---\njust text\n---\nBody", 1, "error: the frontmatter is not YAML: no 'key: value'"),
        ("---\nname: x\ndescription: [a, b]\n---\nBody", 3, "error: 'description' must be text"),
        ("---\nname: x\ndescription: d\n---\n", 4, "warning: nothing stands below"),
        ("---\ndescription: d\n---\nBody", 1, "warning: no 'name': it is known by its folder's"),
        ("---\nname: X y\ndescription: d\n---\nBody", 2, "warning: the name 'X y' is not"),
        ("---\nname: x\nname: y\ndescription: d\n---\nB", 3, "warning: duplicate key 'name'"),
        (
            "---\nname: x\ndescription: d\ndisable-model-invocation: true\n---\nB",
            4,
            "note: 'disable-model-invocation' is set",
        ),
    ],
)
def test_what_is_wrong_is_told_at_its_line(tmp_path, text, line, says):
    write(tmp_path / "x", text)
    told = faults(read_skills([tmp_path]))["x", line]
    assert told.startswith(says)


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("\ufeff---\r\nname: x\r\ndescription: a b\r\n---\r\nBody", "a b"),
        ("\n\n---\nname: x\ndescription: Say: yes\n---\nBody", "Say: yes"),
        ("---\nname: x\ndescription: Ends with:\n---\nBody", "Ends with:"),
        ('---\nname: x\ndescription: "a: b"\n---\nBody', "a: b"),
        ("---\nname: x\ndescription: >\n  folded\n  text\n---\nBody", "folded text"),
        ("---\nname: x\ndescription: 2024-01-01\n---\nBody", "2024-01-01"),
        ("---\nname: x\ndescription: no\n---\nBody", "no"),
        ("---\nname: x\ndescription: 退款：超过七天时使用\n---\n正文", "退款：超过七天时使用"),
        ("---\nname: x\ndescription: d\n...\nBody", "d"),
    ],
)
def test_descriptions_are_taken_whole(tmp_path, text, about):
    write(tmp_path / "x", text)
    shelf = read_skills([tmp_path])
    assert [(skill.name, skill.about) for skill in shelf.skills] == [("x", about)]
    assert not [fault for fault in shelf.faults if fault.severity == "error"]


def test_bytes_that_are_no_utf8_are_told_with_their_line(tmp_path):
    (write(tmp_path / "x", "") / "SKILL.md").write_bytes(b"---\nname: \xff\n---\n")
    assert faults(read_skills([tmp_path]))["x", 2].startswith("error: not UTF-8 (byte 0xff)")


def test_of_two_with_one_name_the_first_folder_wins(tmp_path):
    write(tmp_path / "b" / "same", GOOD.format("same"))
    write(tmp_path / "a" / "same", GOOD.format("same").replace("Does", "Copies"))
    shelf = read_skills([tmp_path / "b", tmp_path / "a"])
    assert [skill.about for skill in shelf.skills] == ["Does same"]
    fault = shelf.faults[0]
    assert str(tmp_path / "a" / "same" / "SKILL.md") in str(fault)
    assert str(tmp_path / "b" / "same" / "SKILL.md") in fault.reason


def test_folders_that_lead_nowhere_are_told(tmp_path):
    (tmp_path / "empty").mkdir()
    write(tmp_path / "misnamed" / "x", GOOD.format("x"), "skill.md")
    shelf = read_skills([tmp_path / "gone", tmp_path / "empty", tmp_path / "misnamed"])
    told = [str(fault) for fault in shelf.faults]
    assert "this folder does not exist" in told[0]
    assert "no SKILL.md below this folder" in told[1]
    assert "name this file SKILL.md" in told[2]


def test_a_skill_inside_a_skill_is_a_file_of_it(tmp_path):
    write(tmp_path / "x", GOOD.format("x"))
    write(tmp_path / "x" / "inner", GOOD.format("inner"))
    shelf = read_skills([tmp_path])
    assert [skill.name for skill in shelf.skills] == ["x"]
    assert shelf.faults[0].severity == "note"
    assert skill_files(shelf.skills[0]) == ("SKILL.md", "inner/SKILL.md")


def test_links_in_circles_end(tmp_path):
    write(tmp_path / "x", GOOD.format("x"))
    (tmp_path / "again").symlink_to(tmp_path)
    assert len(read_skills([tmp_path]).skills) == 1


def test_files_that_cannot_be_shown_say_why(tmp_path):
    folder = write(tmp_path / "x", GOOD.format("x"))
    (folder / "font.ttf").write_bytes(b"\x00\x01\xff")
    (folder / "dump.txt").write_text("x" * 2_000_001, "utf-8")
    skill = Skill("x", "d", "", str(folder))
    assert skill_file(skill, "font.ttf").problem == "not_text"
    assert skill_file(skill, "dump.txt").problem == "too_large"
    assert skill_file(skill, "").problem == "not_found"
    assert skill_file(skill, "SKILL.md/x").problem == "not_found"


def test_every_published_skill_is_indexed(shared):
    shelf = read_skills([shared / "data/05_skills/anthropics-skills"])
    assert len(shelf.skills) == 8
    agents = read_skills([shared / "data/05_skills/openai-agents"])
    assert len(agents.skills) == 14
    assert not [f for f in (*shelf.faults, *agents.faults) if f.severity == "error"]
    for skill in (*shelf.skills, *agents.skills):
        assert skill.about
        assert skill_file(skill, "SKILL.md").text.startswith("---")


def test_every_invalid_fixture_is_reported_with_file_and_reason(shared):
    shelf = read_skills([shared / "data/05_skills/pi_bad_skill_fixtures/skills"])
    told = {Path(f.path).parent.name: f for f in shelf.faults if f.severity != "note"}
    lost = {Path(f.path).parent.name for f in shelf.faults if f.severity == "error"}
    assert lost == {"invalid-yaml", "missing-description", "no-frontmatter"}
    assert told.keys() - lost == {
        "consecutive-hyphens",
        "invalid-name-chars",
        "long-name",
        "name-mismatch",
        "root-skill-preferred",
    }
    assert all(fault.line and fault.reason for fault in told.values())
    assert [s.name for s in shelf.skills if s.name.startswith("valid")] == ["valid-skill"]
    collision = shared / "data/05_skills/pi_bad_skill_fixtures/skills-collision"
    assert [s.about for s in read_skills([collision]).skills] == ["First calendar skill."]
