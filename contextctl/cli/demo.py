"""``contextctl demo``: the main job on a shipped trace, from the wheel alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from contextctl.cli.output import Format, show, show_json
from contextctl.report.demo_text import demo_text
from contextctl.run.demo import demonstrate


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("demo")(demo)


def demo(
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="The run's folder.")] = None,
    output: Annotated[Format, typer.Option("--format")] = Format.text,
) -> int:
    """Replay a shipped trace whose window fills, with no key and no network, and show what it did.

    Example:  contextctl demo
    """
    shown = demonstrate(out)
    if output is Format.json:
        show_json(shown.to_json())
    else:
        show(demo_text(shown))
    return 0
