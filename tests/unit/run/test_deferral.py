"""A profile whose deferral gains little is told so, by lists that were recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextctl.io.mcp.recorded import keep_lists
from contextctl.model.message import ToolSpec
from contextctl.model.profile import Profile, profile_from_mapping
from contextctl.run.deferral import deferral_notes


def profile(window: int, **defer: str) -> Profile:
    model = {"name": "scripted/x", "window": window, "reserve_output": 1_000}
    servers = {"desk": {"command": ["desk"]}}
    mapping = {"version": 1, "model": model, "mcp": servers, "tokenizer": "o200k_base"}
    return profile_from_mapping({**mapping, **({"defer": defer} if defer else {})})


def tools(count: int) -> list[ToolSpec]:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    return [ToolSpec(f"tool_{n}", "What it does.", schema, "desk") for n in range(count)]


def told(rules: Profile, base: Path) -> list[str]:
    return [str(problem) for problem in deferral_notes(rules, base)]


def test_schemas_under_a_tenth_are_told_of(tmp_path):
    keep_lists(profile(100_000), tools(12), tmp_path)
    (note,) = told(profile(100_000), tmp_path)
    assert "12 tools are deferred" in note
    assert "of 99,000 usable tokens" in note
    assert "defer.via: off" in note


@pytest.mark.parametrize(
    ("window", "count", "defer"),
    [(5_000, 12, {}), (100_000, 6, {}), (100_000, 12, {"via": "off"})],
)
def test_nothing_is_said_where_it_gains_or_nothing_is_deferred(tmp_path, window, count, defer):
    keep_lists(profile(window), tools(count), tmp_path)
    assert told(profile(window, **defer), tmp_path) == []


def test_nothing_is_said_of_servers_that_were_never_listed(tmp_path):
    assert told(profile(100_000), tmp_path) == []
