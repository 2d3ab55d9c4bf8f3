"""What a profile says of skills, documents and subagents, checked together with what it names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from contextctl.io.profile.load import check_profile
from contextctl.io.profile.related import related_problems

MODEL = {"name": "gpt-4o"}


def found(folder: Path, **sections: Any) -> list[str]:
    """``severity key: message`` of every problem of a profile."""
    path = folder / "p.yaml"
    path.write_text(json.dumps({"version": 1, "model": MODEL, **sections}), "utf-8")
    return [f"{p.severity} {p.key}: {p.message}" for p in check_profile(path)[1]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "skills" / "pack").mkdir(parents=True)
    text = "---\nname: pack\ndescription: Pack it\n---\nBody.\n"
    (tmp_path / "skills" / "pack" / "SKILL.md").write_text(text, "utf-8")
    (tmp_path / "kb").mkdir()
    (tmp_path / "sub.yaml").write_text(json.dumps({"version": 1, "model": MODEL}), "utf-8")
    return tmp_path


def test_an_index_and_its_layer_belong_together(folder):
    skills: dict[str, Any] = {"disclosure": {"skills": ["skills/"]}}
    layer: dict[str, Any] = {"prefix": [{"id": "s", "index": "skills"}]}
    assert found(folder, **skills, **layer) == []
    assert "warning disclosure.skills: no layer shows the index" in found(folder, **skills)[0]
    assert [one for one in found(folder, **layer) if "this layer stays empty" in one]


def test_a_bank_says_what_is_in_it(folder):
    told = found(folder, disclosure={"knowledge": {"kb": {"path": "kb/"}}})
    says = "'kb' has no description: the model sees only its name"
    assert told == [f"note disclosure.knowledge.kb: {says}"]


@pytest.mark.parametrize(
    ("name", "more", "says"),
    [
        ("look up", {}, "error subagents.look up: 'look up' is not a tool name"),
        ("view_skill", {}, "'view_skill' is contextctl's own tool already"),
        ("look", {"tools": {"look": {"command": ["cat"]}}}, "'look' is the profile's tool already"),
        ("look", {"limits": {"max_depth": 0}}, "at this depth no subagent is offered"),
    ],
)
def test_subagents_are_tools_by_their_names(folder, name, more, says):
    rule = {name: {"profile": "sub.yaml", "description": "Looks."}}
    assert any(says in one for one in found(folder, subagents=rule, **more))
    assert found(folder, subagents={"look": {"profile": "sub.yaml", "description": "x"}}) == []
    bare = found(folder, subagents={"look": {"profile": "sub.yaml"}})
    assert "the model cannot tell when to delegate to it" in bare[0]


def test_the_profiles_of_subagents_are_looked_at_too_and_end(folder):
    below = {"subagents": {"again": {"profile": "sub.yaml", "description": "x"}}}
    broken = {"version": 1, "model": MODEL, "limits": {"max_stepps": 3}, **below}
    (folder / "sub.yaml").write_text(json.dumps(broken, indent=1), "utf-8")
    found(folder, subagents={"look": {"profile": "sub.yaml", "description": "x"}})
    profile, _ = check_profile(folder / "p.yaml")
    assert profile is not None
    told = [str(problem) for problem in related_problems(profile)]
    assert len(told) == 1
    assert "sub.yaml:7" in told[0]
    assert "max_steps" in told[0]


def test_a_missing_profile_of_a_subagent_is_an_error_of_its_key(folder):
    told = found(folder, subagents={"look": {"profile": "none.yaml", "description": "x"}})
    assert told == ["error subagents.look.profile: the file 'none.yaml' does not exist"]
