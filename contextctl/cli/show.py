"""``contextctl show``: what the model saw at a step, omissions marked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from contextctl.cli.output import Format, show, show_json
from contextctl.io.traces import FORMATS
from contextctl.report.window_text import window_text
from contextctl.run.inspect import Asked, look_at, subject


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("show")(show_window)


def show_window(
    source: Annotated[
        str | None, typer.Argument(metavar="[RUN|TRACE]", help="Default: the latest run.")
    ] = None,
    task: Annotated[
        str | None, typer.Argument(help="Default: the one with the worst step.")
    ] = None,
    step: Annotated[int | None, typer.Option(help="Default: the worst step.")] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="For a bare trace: whose window.")
    ] = None,
    profile: Annotated[str | None, typer.Option(help="Look at it under this profile.")] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Put a value over the profile."),
    ] = None,
    from_: Annotated[
        str, typer.Option("--from", metavar="FORMAT", help=f"auto, {', '.join(FORMATS)}")
    ] = "auto",
    output: Annotated[Format, typer.Option("--format")] = Format.text,
) -> None:
    """Print the window of a step, message by message: owner, size, and what was left out.

    Example:  contextctl show trace.jsonl --profile coding --step 14
    """
    asked = Asked(Path.cwd(), source, task, model, profile, sets or (), from_)
    assembly = look_at(subject(asked), step).step.assembly
    if output is Format.json:
        show_json({"messages": [*assembly.messages], "tools": [*assembly.tools]})
    else:
        show(window_text(assembly))
