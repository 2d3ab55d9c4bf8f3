"""``contextctl explain``: why a step is as big as it is, and what would fit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextctl.cli.output import Format, say, show, show_json
from contextctl.io.traces import FORMATS
from contextctl.report.explain_text import explanation_text
from contextctl.run.explain import explain_subject
from contextctl.run.inspect import Asked, subject

if TYPE_CHECKING:
    from contextctl.model.explanation import Explanation

OVER_BUDGET = 1


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("explain")(explain)


def explain(
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
    *,
    patch: Annotated[bool, typer.Option(help="Print only the edit that makes it fit.")] = False,
) -> int:
    """Say where a step's tokens come from, what grew, what was left out and by which line.

    A trace without --profile is looked at as it was recorded, with nothing left out; --patch then
    makes a first profile. Exit code 1 when the step does not fit.

    Example:  contextctl explain trace.jsonl --model openai/gpt-4.1-mini
    """
    asked = Asked(Path.cwd(), source, task, model, profile, sets or (), from_)
    why = explain_subject(subject(asked), step)
    if output is Format.json:
        show_json(why.to_json())
    elif patch:
        _show_patch(why)
    else:
        show(explanation_text(why))
    return OVER_BUDGET if why.status == "overflow" else 0


def _show_patch(why: Explanation) -> None:
    """The patch alone on stdout, so that it can be piped into ``git apply``."""
    fix = why.fix
    if fix is None:
        fits = why.status != "overflow"
        say("this step fits: nothing to patch" if fits else "no rung of the ladder is enough")
    elif not fix.patch:
        say(f"the file could not be changed safely; set this in {fix.path or 'a profile'}:")
        say(fix.lines)
    else:
        show(fix.patch)
