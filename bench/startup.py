"""How long the command takes to start, against an empty Typer app in the same run.

    python bench/startup.py [--data DIR] [--json]

``help`` is ``contextctl --help`` (aim: at most 1.6 times the bare app's), ``validate`` is
``contextctl validate`` of a small profile (aim: at most 3 times). Figures are the best of several
alternating runs, in milliseconds of wall time. ``bare_plain`` is the same app without rich, which
contextctl's own ``--help`` does not load either.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

BARE = """\
import typer
app = typer.Typer()
@app.command()
def run(path: str, limit: int = 3, verbose: bool = False) -> None:
    "Run it."
@app.command()
def show(path: str) -> None:
    "Show it."
app()
"""
PROFILE = """\
version: 1
name: start
model: {name: openai/gpt-4.1-mini, window: 32768}
tools:
  list_orders: {result: {fields: [id, status], page: {limit: 20}}}
"""
HEAVY = ("litellm", "mcp", "tiktoken", "diskcache")


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; 1 when a command failed to run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="taken like every bench does; not used")
    parser.add_argument("--repeats", type=int, default=7, help="runs of each command")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    args = parser.parse_args(argv)
    result = measure(args.repeats)
    print(json.dumps(result) if args.json else "\n".join(f"{k}: {v}" for k, v in result.items()))
    return 0


def measure(repeats: int) -> dict[str, Any]:
    """Best times of the bare app, of ``--help`` and of ``validate``, and their ratios."""
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare.py"
        bare.write_text(BARE, encoding="utf-8")
        plain = Path(folder) / "plain.py"
        plain.write_text(BARE.replace("Typer()", "Typer(rich_markup_mode=None)"), encoding="utf-8")
        profile = Path(folder) / "profile.yaml"
        profile.write_text(PROFILE, encoding="utf-8")
        ours = [sys.executable, "-c", "from contextctl.cli.app import main; main()"]
        commands = {
            "bare": [sys.executable, str(bare), "--help"],
            "bare_plain": [sys.executable, str(plain), "--help"],
            "help": [*ours, "--help"],
            "validate": [*ours, "validate", str(profile)],
        }
        best = dict.fromkeys(commands, float("inf"))
        for _ in range(repeats + 1):  # the first round also writes the byte code
            for name, command in commands.items():
                best[name] = min(best[name], _milliseconds(command))
    return {
        **{f"{name}_ms": round(value, 1) for name, value in best.items()},
        "help_over_bare_plain": round(best["help"] / best["bare_plain"], 2),
        "validate_over_bare_plain": round(best["validate"] / best["bare_plain"], 2),
        "help_over_bare": round(best["help"] / best["bare"], 2),
        "validate_over_bare": round(best["validate"] / best["bare"], 2),
        "imported_by_help": _heavy_imports([*ours, "--help"]),
        "aims": {"help_over_bare": 1.6, "validate_over_bare": 3.0},
    }


def _milliseconds(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return 1000 * (time.perf_counter() - started)


def _heavy_imports(command: list[str]) -> list[str]:
    """Which heavy packages the command imports (there should be none)."""
    timed = [command[0], "-X", "importtime", *command[1:]]
    stderr = subprocess.run(timed, check=True, capture_output=True, text=True).stderr
    names = {line.rpartition("|")[2].strip().partition(".")[0] for line in stderr.splitlines()}
    return sorted(names & set(HEAVY))


if __name__ == "__main__":
    raise SystemExit(main())
