"""PRF: what a profile's words mean, and what its mistakes are told as."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextctl.io.profile.load import load_profile

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Cli

PLAIN = """\
version: 1
model: {name: scripted/x}
reminders: {regions: NO}
tools:
  get_row:
    command: [cat, row.json]
    result: {fields: [id, no, on, name]}
  off: {}
"""
QUOTED = PLAIN.replace("[id, no, on, name]", '[id, "no", "on", name]').replace(
    "regions: NO", 'regions: "NO"'
)
MISSPELT = """\
version: 1
name: demo
model: {name: scripted/x}
budgt:
  tokens: 4000
history:
  pin: [drafts only]
tools:
  one: {python: "json.tool:main"}
  two:
    # a number where a command line is meant
    command: 7
"""
PIN = (
    "p.yaml:7:3: error: history.pin: unknown key 'pin' "
    "(did you mean 'pins', which stands at the top level?)"
)
COMMAND = (
    "p.yaml:12:14: error: tools.two.command: must be a string or a list of strings, got integer 7"
)


def test_prf_01_words_that_yaml_1_1_takes_for_booleans_stay_words(tmp_path: Path) -> None:
    for name, text in (("plain", PLAIN), ("quoted", QUOTED)):
        path = tmp_path / f"{name}.yaml"
        path.write_text(text, encoding="utf-8")
        profile = load_profile(path)
        assert profile.tools["get_row"].result.fields == ("id", "no", "on", "name")
        assert profile.reminders == {"regions": "NO"}
        assert list(profile.tools) == ["get_row", "off"]


def test_prf_01_the_resolved_profile_quotes_them(cli: Cli) -> None:
    (cli.cwd / "p.yaml").write_text(PLAIN, encoding="utf-8")
    ran = cli("profile", "show", "p.yaml")
    assert ran.code == 0
    assert '      fields: [id, "no", "on", name]' in ran.out
    assert 'regions: "NO"' in ran.out


def test_prf_03_three_mistakes_are_told_at_once_each_at_its_place(cli: Cli) -> None:
    (cli.cwd / "p.yaml").write_text(MISSPELT, encoding="utf-8")
    ran = cli("validate", "p.yaml")
    assert ran.code == 1
    errors = [line for line in ran.out.splitlines() if ": error: " in line]
    assert errors == [
        "p.yaml:4:1: error: budgt: unknown key 'budgt' (did you mean 'budget'?)",
        PIN,
        COMMAND,
    ]
    assert "Traceback" not in ran.err
    assert len(ran.out.splitlines()) < 8  # no dump of a schema or of the other branches
