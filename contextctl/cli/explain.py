"""``contextctl explain``: why a step is as big as it is, and what would fit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from contextctl.cli.output import Format, show, show_json
from contextctl.report.explain_text import explanation_text
from contextctl.run.explain import explain_subject
from contextctl.run.inspect import subject

OVER_BUDGET = 1


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("explain")(explain)


def explain(
    source: Annotated[
        str | None, typer.Argument(metavar="[RUN|TRACE]", help="Default: the latest run.")
    ] = None,
    task: Annotated[str | None, typer.Argument(help="Default: the one with the worst step.")] = None,
    step: Annotated[int | None, typer.Option(help="Default: the fullest step.")] = None,
    model: Annotated[str | None, typer.Option(help="For a bare trace: whose window.")] = None,
    profile: Annotated[str | None, typer.Option(help="Look at it under this profile.")] = None,
    output: Annotated[Format, typer.Option("--format")] = Format.text,
    *,
    patch: Annotated[bool, typer.Option(help="Print only the edit that makes it fit.")] = False,
) -> int:
    """Say where a step's tokens come from, what grew, what was left out and by which line.

    Exit code 1 when the step does not fit.

    Example:  contextctl explain trace.jsonl --model openai/gpt-4.1-mini --step 14
    """
    looked = subject(source, task, model=model, profile=profile, base=Path.cwd())
    why = explain_subject(looked, step)
    if patch:
        show(why.patch)
    elif output is Format.json:
        show_json(why.to_json())
    else:
        show(explanation_text(why))
    return OVER_BUDGET if why.status == "overflow" else 0
