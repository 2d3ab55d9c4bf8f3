"""The command line's frame: exit codes, streams, laziness."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from contextctl import __version__
from contextctl.cli.app import COMMANDS

if TYPE_CHECKING:
    from tests.conftest import Cli

# A command file as anyone would add it, ending in the way its argument says.
PROBE = '''
import os, signal
from contextctl.errors import *
from contextctl.errors import Problem
from contextctl.cli.output import show

def probe(how: str) -> int:
    """Ends as told."""
    if how == "overflow":
        raise type("Full", (ContextctlError,), {"exit_code": 5})("too large")
    if how == "profile":
        bad, worse = Problem("a.yaml", 1, 2, "k", "bad"), Problem("a.yaml", 3, 1, "", "worse")
        raise ProfileError((bad, worse))
    if how in ERRORS:
        raise ERRORS[how]("it failed")
    if how == "interrupt":
        os.kill(os.getpid(), signal.SIGINT)
    if how == "bug":
        raise KeyError("lost")
    if how == "lines":
        for _ in range(100_000):
            show("a line")
    return int(how) if how.isdecimal() else 0

ERRORS = {"finding": Finding, "usage": UsageError, "model": ModelError}

def register(app):
    app.command("probe")(probe)
'''
RUN = """
import contextctl.cli.app as app
app.COMMANDS["probe"] = ("probe_command:register", "Ends as told.")
app.main()
"""


def _probe(tmp_path: Path, how: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "probe_command.py").write_text(PROBE, encoding="utf-8")
    root = Path(__file__).resolve().parents[3]
    return subprocess.run(
        [sys.executable, "-c", RUN, "probe", how],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{root}", "TMPDIR": str(tmp_path)},
    )


def test_each_ending_has_its_exit_code_and_one_line_on_stderr(tmp_path: Path) -> None:
    endings = {"finding": 1, "usage": 2, "model": 4, "overflow": 5, "interrupt": 130}
    for how, code in endings.items():
        ran = _probe(tmp_path, how)
        assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (code, "", 1), how
        assert "Traceback" not in ran.stderr


def test_a_commands_number_is_its_exit_code(tmp_path: Path) -> None:
    assert [_probe(tmp_path, how).returncode for how in ("0", "1", "5", "fine")] == [0, 1, 5, 0]


def test_all_problems_of_a_profile_are_told(tmp_path: Path) -> None:
    ran = _probe(tmp_path, "profile")
    assert ran.returncode == 2
    assert ran.stderr == "error: a.yaml:1:2: k: bad\nerror: a.yaml:3:1: worse\n"


def test_a_bug_is_one_line_and_a_log(tmp_path: Path) -> None:
    ran = _probe(tmp_path, "bug")
    assert ran.returncode == 3
    assert ran.stderr.count("\n") == 1
    assert "KeyError: 'lost'" in ran.stderr
    (log,) = tmp_path.glob("contextctl-*.log")
    assert str(log) in ran.stderr
    assert "Traceback" in log.read_text(encoding="utf-8")


def test_a_reader_that_has_enough_ends_the_command_quietly(tmp_path: Path) -> None:
    (tmp_path / "probe_command.py").write_text(PROBE, encoding="utf-8")
    root = Path(__file__).resolve().parents[3]
    with subprocess.Popen(
        [sys.executable, "-c", RUN, "probe", "lines"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0
    assert process.returncode != -signal.SIGPIPE


def test_help_loads_no_command_and_nothing_slow(tmp_path: Path) -> None:
    code = (
        "import sys, contextctl.cli.app as app\n"
        "try: app.main()\n"
        "except SystemExit: pass\n"
        "slow = {'jsonschema', 'litellm', 'tiktoken', 'yaml', 'rich', 'mcp', 'contextctl.io'}\n"
        "commands = {m for m in sys.modules if m.startswith('contextctl.cli.')}\n"
        "print(sorted(slow & set(sys.modules)), sorted(commands), file=sys.stderr)\n"
    )
    root = Path(__file__).resolve().parents[3]
    ran = subprocess.run(
        [sys.executable, "-c", code, "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert ran.stderr == "[] ['contextctl.cli.app', 'contextctl.cli.output']\n"
    for name, (_, line) in COMMANDS.items():
        assert f"  {name} " in ran.stdout
        assert line.split()[0] in ran.stdout


def test_every_command_in_the_table_can_be_loaded(cli: Cli) -> None:
    for name in COMMANDS:
        ran = cli(name, "--help")
        assert ran.code == 0, ran.err
        assert ran.out.startswith(f"Usage: contextctl {name} ")


def test_version_and_a_misspelt_command(cli: Cli) -> None:
    assert cli("--version").out == f"contextctl {__version__}\n"
    ran = cli("valdate")
    assert ran.code == 2
    assert "validate" in ran.err


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_closed_is_no_bug(tmp_path: Path, closed: str) -> None:
    ran = _probe_in_shell(tmp_path, "lines", closed)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert not list(tmp_path.glob("contextctl-*.log"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("arguments", ["lines", "--help", "--version"])
def test_output_that_finds_no_room_is_a_failure_outside(tmp_path: Path, arguments: str) -> None:
    ran = _probe_in_shell(tmp_path, arguments, "> /dev/full")
    assert ran.returncode == 4
    assert ran.stderr.count("\n") == 1
    assert "No space left on device" in ran.stderr
    assert "Traceback" not in ran.stderr


def _probe_in_shell(
    tmp_path: Path, arguments: str, redirected: str
) -> subprocess.CompletedProcess[str]:
    (tmp_path / "probe_command.py").write_text(PROBE, encoding="utf-8")
    words = arguments if arguments.startswith("-") else f"probe {arguments}"
    root = Path(__file__).resolve().parents[3]
    return subprocess.run(
        ["bash", "-c", f'"{sys.executable}" -c "$RUN" {words} {redirected}'],
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "RUN": RUN,
            "PYTHONPATH": f"{tmp_path}{os.pathsep}{root}",
            "TMPDIR": str(tmp_path),
        },
    )
