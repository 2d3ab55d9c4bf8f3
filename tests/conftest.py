"""What every test may ask for: the shared data, the installed command, Hypothesis at two depths."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

# Time limits per example say more about the machine than about a law.
_COMMON: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("dev", max_examples=50, **_COMMON)
settings.register_profile("ci", max_examples=500, derandomize=True, **_COMMON)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "dev")


@dataclass(frozen=True, slots=True)
class Ran:
    """One finished run of the command: exit code, stdout and stderr as text."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Stdout as one JSON value; fails the test when it is anything else."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Stdout as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines() if line.strip()]


@dataclass(slots=True)
class Cli:
    """Runs the installed ``contextctl`` in ``cwd``; ``env`` is added to a minimal environment."""

    cwd: Path
    env: dict[str, str] = field(default_factory=dict)

    def __call__(
        self,
        *args: object,
        stdin: str | bytes = "",
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
        timeout: float = 120,
    ) -> Ran:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            [*_command(), *map(str, args)],
            input=data,
            capture_output=True,
            cwd=cwd or self.cwd,
            env=self._environment(env or {}),
            timeout=timeout,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def _environment(self, extra: dict[str, str]) -> dict[str, str]:
        """No key, no proxy, no terminal: what a test does not set is not there."""
        kept = {key: os.environ[key] for key in ("PATH", "HOME", "TMPDIR") if key in os.environ}
        env = {"LANG": "C.UTF-8", "COLUMNS": "100", **kept, **self.env, **extra}
        if _installed() is None:
            env.setdefault("PYTHONPATH", str(ROOT))
        return env


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The installed command, started in the test's own folder."""
    return Cli(cwd=tmp_path)


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's folder."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The shared data: ``CONTEXTCTL_SHARED``, else ``../shared`` beside the project."""
    named = os.environ.get("CONTEXTCTL_SHARED")
    folder = Path(named).resolve() if named else ROOT.parent / "shared"
    if not (folder / "data").is_dir():
        pytest.skip(f"no shared data at '{folder}'; set CONTEXTCTL_SHARED to its folder")
    return folder


def _installed() -> Path | None:
    """The command beside this Python, when the package is installed there."""
    command = Path(sys.executable).with_name("contextctl")
    return command if command.exists() else None


def _command() -> list[str]:
    command = _installed()
    if command is not None:
        return [str(command)]
    return [sys.executable, "-c", "from contextctl.cli.app import main; main()"]
