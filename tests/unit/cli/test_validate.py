"""``contextctl validate``: formats, exit codes, strictness, quiet about secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Cli

GOOD = "version: 1\nmodel: {name: scripted/x}\n"
WARNS = GOOD + "prefix: [{id: e, environment: [date]}, {id: core, text: a}]\n"
BAD = GOOD + "budgt: {}\n"


@pytest.fixture(autouse=True)
def _profiles(cli: Cli) -> None:
    for name, text in (("good", GOOD), ("warns", WARNS), ("bad", BAD)):
        (cli.cwd / f"{name}.yaml").write_text(text, encoding="utf-8")


def test_exit_codes_tell_valid_invalid_and_missing_apart(cli: Cli) -> None:
    codes = {name: cli("validate", f"{name}.yaml").code for name in ("good", "warns", "bad", "no")}
    assert codes == {"good": 0, "warns": 0, "bad": 1, "no": 2}


def test_a_missing_profile_does_not_hide_the_problems_of_another(cli: Cli) -> None:
    ran = cli("validate", "no.yaml", "bad.yaml")
    assert ran.code == 2
    assert "no profile 'no.yaml'" in ran.err
    assert "bad.yaml:3:1: error: budgt" in ran.out
    assert cli("validate", "no.yaml", "--format", "json").json == {
        "status": "unusable",
        "problems": [],
    }


def test_strict_counts_warnings_and_refuses_estimates(cli: Cli) -> None:
    assert cli("validate", "--strict", "good.yaml").code == 0
    assert cli("validate", "--strict", "warns.yaml").code == 1
    approx = ("validate", "good.yaml", "--set", "tokenizer=approx")
    assert cli(*approx).code == 0
    ran = cli(*approx, "--strict")
    assert ran.code == 1
    assert "--set tokenizer: error: tokenizer: 'approx' is refused by --strict" in ran.out


def test_json_is_one_value_with_all_problems_of_all_profiles(cli: Cli) -> None:
    ran = cli("validate", "good.yaml", "bad.yaml", "--format", "json")
    assert ran.code == 1
    assert ran.json == {
        "status": "invalid",
        "problems": [
            {
                "path": "bad.yaml",
                "line": 3,
                "column": 1,
                "key": "budgt",
                "severity": "error",
                "message": "unknown key 'budgt'",
                "suggestion": "did you mean 'budget'?",
            }
        ],
    }
    assert cli("validate", "good.yaml", "--format", "json").json == {
        "status": "valid",
        "problems": [],
    }


def test_github_annotates_the_line(cli: Cli) -> None:
    ran = cli("validate", "bad.yaml", "--format", "github")
    assert ran.out == (
        "::error file=bad.yaml,line=3,col=1,title=budgt::"
        "unknown key 'budgt' (did you mean 'budget'?)\n"
    )


def test_no_secret_is_printed_by_any_command(cli: Cli) -> None:
    text = (
        "version: 1\nmodel: {name: scripted/x, retries: '${KEY}', api_base: 'http://${KEY}'}\n"
        "limits: {done_when: '${KEY}'}\n"
    )
    (cli.cwd / "s.yaml").write_text(text, encoding="utf-8")
    fine = text.replace("retries: '${KEY}', ", "").partition("limits")[0]
    (cli.cwd / "fine.yaml").write_text(fine, encoding="utf-8")
    env = {"KEY": "s3cret-value"}
    for args in (
        ("validate", "s.yaml"),
        ("validate", "s.yaml", "--format", "json"),
        ("profile", "show", "s.yaml"),
        ("profile", "show", "fine.yaml", "--origin"),
        ("profile", "show", "fine.yaml", "--origin", "--format", "json"),
    ):
        ran = cli(*args, env=env)
        assert "s3cret" not in ran.out + ran.err, args
    assert 'api_base: "http://${KEY}"' in cli("profile", "show", "fine.yaml", env=env).out


def test_profile_show_origin_names_file_and_line(cli: Cli) -> None:
    (cli.cwd / "child.yaml").write_text("extends: good.yaml\nname: child\n", encoding="utf-8")
    out = cli("profile", "show", "child.yaml", "--origin", "--set", "pins=[task]").out
    lines = {
        line.split("#")[0].strip(): line.split("#")[1].strip()
        for line in out.splitlines()
        if "#" in line
    }
    assert lines["name: child"] == "child.yaml:2"
    assert lines["name: scripted/x"] == "good.yaml:2"
    assert lines["pins: [task]"] == "--set pins"
    assert lines["tokenizer: auto"] == "default"


def test_profile_diff_shows_both_values_with_their_origins(cli: Cli) -> None:
    (cli.cwd / "child.yaml").write_text(
        "extends: good.yaml\nlimits: {max_steps: 7}\n", encoding="utf-8"
    )
    assert cli("profile", "diff", "good.yaml", "child.yaml").out == (
        "limits.max_steps\n  - 50  # default\n  + 7  # child.yaml:2\n"
    )
    assert cli("profile", "diff", "good.yaml", "good.yaml").out == ""


def test_schema_prints_the_schema_or_what_a_key_means(cli: Cli) -> None:
    assert cli("schema", "profile").json["title"] == "contextctl profile"
    out = cli("schema", "profile", "budget.reduce.trigger").out
    assert out == (
        "budget.reduce.trigger\n  A batch starts above this ratio.\n  type: a number\n"
        "  default: 0.65\n  range: greater than 0, at most 1\n"
    )
    assert "disposable" in cli("schema", "profile", "tools.any.result").out
    assert cli("schema", "record", "result.status").out == (
        "result.status\n  How the call ended.\n  type: ok | error | unknown\n"
    )
    ran = cli("schema", "profile", "budget.reduce.triger")
    assert (ran.code, ran.out) == (2, "")
    assert "did you mean 'trigger'?" in ran.err
