"""``contextctl demo`` works from any folder, with no key and no network, and shows what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Cli

# Any request that left this machine would have to go through a proxy that is not there.
NOWHERE = {"HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9"}


def test_the_demo_shows_a_window_that_would_overflow(cli: Cli, tmp_path: Path) -> None:
    ran = cli("demo", env=NOWHERE)
    assert ran.code == 0, ran.err
    assert "As recorded it overflows at step 18" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 100
    run = next((tmp_path / ".contextctl" / "runs").glob("*-demo"))
    assert (run / "tasks" / "inv-20931" / "windows.jsonl").is_file()
    assert f"contextctl explain .contextctl/runs/{run.name}" in ran.out


def test_late_steps_still_know_what_was_said_early(cli: Cli) -> None:
    ran = cli("demo", "--format", "json")
    shown = ran.json
    assert shown["first_overflow"] == 18
    assert len(shown["steps"]) == 31
    assert all(step["total"] <= step["usable"] == 14_336 for step in shown["steps"])
    assert {need["value"]: need["in_window"] for need in shown["needed_late"]} == {
        "7c41e9b2d0": True,
        "VAT-EU-17": True,
        "release/2026.11-hotfix-3": True,
    }


def test_the_demo_s_next_commands_work(cli: Cli) -> None:
    ran = cli("demo", "--out", "shown")
    lines = [line.split("contextctl ")[1] for line in ran.out.splitlines() if "contextctl " in line]
    commands = [line.split() for line in lines if line.startswith(("explain", "show"))]
    assert len(commands) == 2
    for command in commands:
        again = cli(*command)
        assert again.code == 0, again.err
        assert again.out
