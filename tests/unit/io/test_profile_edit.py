"""A value put into a profile's text: git applies the patch, and nothing else changes."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from contextctl.io.profile.edit import created_patch, edited_text, patch_for, settings_yaml
from contextctl.io.profile.load import load_profile
from contextctl.io.profile.patches import apply_command, created, difference
from contextctl.model.explanation import Edit

BLOCK = """\
version: 1
model:
  name: openai/gpt-4.1-mini   # the model
  window: 32768
tools:
  read_file:
    result:
      max_tokens: 800     # lines
  # about run_tests

shaping: {max_tokens: 2500}
prefix:
  - id: core
    text: |
      Work step by step.

      # not a comment
"""
CAP = Edit("/tools/run_tests/result/max_tokens", 1200)


def git(folder: Path, *args: str, patch: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", *args], cwd=folder, input=patch, text=True, capture_output=True, check=False
    )


@pytest.mark.parametrize(
    ("text", "edits", "holds"),
    [
        (BLOCK, [CAP], ["tools", "run_tests", "result", "max_tokens"]),
        (
            BLOCK,
            [Edit("/tools/read_file/result/max_tokens", 300)],
            ["tools", "read_file", "result"],
        ),
        (BLOCK, [Edit("/shaping/max_tokens", 300)], ["shaping", "max_tokens"]),
        (BLOCK, [Edit("/remedies/trim", True)], ["remedies", "trim"]),
        (BLOCK, [Edit("/tools/a.b/result/fields", ["id", "x[].y"])], ["tools", "a.b", "result"]),
        (BLOCK.replace("\n", "\r\n"), [CAP], ["tools", "run_tests"]),
        ("\ufeff" + BLOCK, [CAP], ["tools", "run_tests"]),
        ("version: 1\nmodel: {name: m}\ntools:\n", [CAP], ["tools", "run_tests"]),
        ("version: 1\nmodel: {name: m}\ntools: {a: {result: {}}}\n", [CAP], ["tools", "run_tests"]),
        ("version: 1\nmodel: {name: m}", [CAP], ["tools", "run_tests"]),
        ("{version: 1, model: {name: m}}", [CAP], ["tools", "run_tests"]),
    ],
)
def test_exactly_the_values_change(text: str, edits: list[Edit], holds: list[str]) -> None:
    after = edited_text(text, edits)
    assert after is not None
    old, new = yaml.safe_load(text), yaml.safe_load(after)
    here: Any = new
    for key in holds:
        here = here[key]
    for edit in edits:
        _remove(new, edit.pointer)
        _remove(old, edit.pointer)
    assert _pruned(old) == _pruned(new)
    comments = [line.partition("#")[2] for line in text.splitlines() if "#" in line]
    assert all(comment in after for comment in comments)
    assert ("\r\n" in text) == ("\r\n" in after)


def test_the_new_lines_stand_under_their_parent_and_not_behind_later_comments() -> None:
    after = edited_text(BLOCK, [CAP])
    assert after is not None
    lines = after.splitlines()
    at = lines.index("  run_tests:")
    assert lines[at - 1] == "      max_tokens: 800     # lines"
    assert lines[at + 1 : at + 4] == [
        "    result:",
        "      max_tokens: 1200",
        "  # about run_tests",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "version: 1\nmodel: &m {name: x}\ntools: *m\n",  # the value would appear at two places
        "version: 1\nmodel: {name: x}\ntools: [1]\n",
        BLOCK.rstrip("\n"),  # one more line would end the text above it with a line feed
        "- 1\n",
        "",
    ],
)
def test_what_cannot_be_edited_safely_is_refused(text: str) -> None:
    edit = Edit("/remedies/trim", True) if text.startswith(BLOCK[:40]) else CAP
    assert edited_text(text, [edit]) is None


def test_a_json_profile_stays_json() -> None:
    import json

    after = edited_text('{"version": 1, "model": {"name": "m"}}', [CAP], quoted=True)
    assert after is not None
    assert json.loads(after)["tools"]["run_tests"]["result"]["max_tokens"] == 1200


@pytest.mark.parametrize("where", ["", "sub/folder"])
@pytest.mark.parametrize("ending", ["\n", ""])
def test_git_applies_a_patch_from_anywhere_in_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, ending: str
) -> None:
    git(tmp_path, "init", "-q")
    path = tmp_path / "profiles" / "coder.yaml"
    path.parent.mkdir()
    text = "version: 1\nname: coder\nmodel: {name: openai/gpt-4.1-mini}" + ending
    path.write_bytes(text.encode())
    folder = tmp_path / where
    folder.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(folder)
    patch = patch_for(load_profile(path), [CAP])
    command = apply_command(path).split()[1:]
    assert command == (["apply"] if not where else ["-C", "../..", "apply"])
    applied = git(folder, *command, patch=patch)
    assert applied.returncode == 0, applied.stderr
    assert load_profile(path).max_tokens_for("run_tests") == 1200


def test_outside_a_repository_a_patch_goes_by_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yaml").write_text(BLOCK, encoding="utf-8")
    patch = patch_for(load_profile("p.yaml"), [CAP])
    assert patch.startswith("--- a/p.yaml\n+++ b/p.yaml\n")
    assert git(tmp_path, "apply", patch=patch).returncode == 0
    assert load_profile("p.yaml").max_tokens_for("run_tests") == 1200


def test_a_new_file_gets_a_free_name_and_git_makes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "-q")
    monkeypatch.chdir(tmp_path)
    text = settings_yaml([Edit("/version", 1), Edit("/model/name", "openai/gpt-4.1-mini"), CAP])
    assert git(tmp_path, "apply", patch=created_patch("profiles/a.yaml", text)).returncode == 0
    assert load_profile("profiles/a.yaml").max_tokens_for("run_tests") == 1200
    second = created(Path("profiles/a.yaml"), text)
    assert "b/profiles/a-2.yaml" in second
    assert git(tmp_path, "apply", patch=second).returncode == 0


def test_lines_without_a_last_newline_are_marked(tmp_path: Path) -> None:
    patch = difference(tmp_path / "x", "a\nb", "a\nc")
    assert patch.endswith("-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n")


@pytest.mark.parametrize(
    "value", ["no", "1:30", "a: b", "007", "#x", "", "[x]", "名前", True, 3, None, ["a", "b[].c"]]
)
def test_written_values_are_read_back_as_they_were(value: Any) -> None:
    from contextctl.io.profile.yaml_nodes import plain
    from contextctl.io.profile.yaml_positions import read_yaml

    text = settings_yaml([Edit("/a/b.c", value)])
    assert plain(read_yaml(text).root) == {"a": {"b.c": value}}
    assert yaml.safe_load(text) == {"a": {"b.c": value}}


def _remove(tree: Any, pointer: str) -> None:
    *parents, last = pointer.split("/")[1:]
    for key in parents:
        tree = tree.get(key) if isinstance(tree, dict) else None
    if isinstance(tree, dict):
        tree.pop(last, None)


def _pruned(tree: Any) -> Any:
    if not isinstance(tree, dict):
        return tree
    kept = {key: _pruned(value) for key, value in tree.items()}
    return {key: value for key, value in kept.items() if value not in ({}, None)}
