"""``contextctl show``: what the model saw at a step, omissions marked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from contextctl.cli.output import Format, show, show_json
from contextctl.report.window_text import window_text
from contextctl.run.inspect import pick, subject


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("show")(show_window)


def show_window(
    source: Annotated[
        str | None, typer.Argument(metavar="[RUN|TRACE]", help="Default: the latest run.")
    ] = None,
    task: Annotated[str | None, typer.Argument(help="Default: the one with the worst step.")] = None,
    step: Annotated[int | None, typer.Option(help="Default: the fullest step.")] = None,
    model: Annotated[str | None, typer.Option(help="For a bare trace: whose window.")] = None,
    profile: Annotated[str | None, typer.Option(help="Look at it under this profile.")] = None,
    output: Annotated[Format, typer.Option("--format")] = Format.text,
) -> None:
    """Print the window of a step, message by message: owner, size, and what was left out.

    Example:  contextctl show latest --step 14
    """
    looked = subject(source, task, model=model, profile=profile, base=Path.cwd())
    assembly = pick(looked.steps(), step, looked.task)[0].assembly
    if output is Format.json:
        show_json({"messages": [*assembly.messages], "tools": [*assembly.tools]})
    else:
        show(window_text(assembly))
