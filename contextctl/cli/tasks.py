"""``contextctl tasks``: how far the tasks of a run are, and going on with them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from contextctl.cli.output import Format, show, show_json
from contextctl.cli.run import run as run_command
from contextctl.errors import UsageError
from contextctl.io.runs.folder import RunFolder
from contextctl.model.message import Json
from contextctl.report.progress_text import progress_list_text, progress_text
from contextctl.report.steps_text import steps_text
from contextctl.run.progress import run_progress, task_progress, task_steps

Run = Annotated[str, typer.Argument(metavar="[RUN]", help="A run's folder, or 'latest'.")]
As = Annotated[Format, typer.Option("--format")]
TaskName = Annotated[
    str | None, typer.Argument(metavar="[TASK]", help="Default: one that is not ended.")
]


def register(app: typer.Typer) -> None:
    """Add the group of commands to ``app``."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    group.command("ls")(ls)
    group.command("show")(show_task)
    group.command("steps")(steps)
    group.command("resume")(resume)
    app.add_typer(group, name="tasks", help="How far the tasks of a run are.")


def ls(run: Run = "latest", output: As = Format.text) -> int:
    """List the tasks of a run that were begun: status, steps, plan.

    Example:  contextctl tasks ls latest
    """
    tasks = run_progress(RunFolder.open(run, Path.cwd()))
    if output is Format.json:
        listed: list[Json] = [task.to_json() for task in tasks]
        show_json({"tasks": listed})
    else:
        show(progress_list_text(tasks))
    return 0


def show_task(
    run: Run = "latest",
    task: TaskName = None,
    output: As = Format.text,
) -> int:
    """Print a task's progress report.

    Its plan, its outputs, calls of which the outcome is uncertain, and the last briefs.

    Example:  contextctl tasks show latest t1
    """
    found = task_progress(RunFolder.open(run, Path.cwd()), task)
    if output is Format.json:
        show_json(found.to_json())
    else:
        show(progress_text(found))
    return 0


def steps(
    run: Run = "latest",
    task: TaskName = None,
    output: As = Format.text,
) -> int:
    """Print a task's ledger, a line a step.

    What a cache could reuse, which layer changed (*), where the prefix broke, how large the tail
    was, and what was done.

    Example:  contextctl tasks steps latest t1
    """
    lines = task_steps(RunFolder.open(run, Path.cwd()), task)
    if output is Format.json:
        listed: list[Json] = [*lines]
        show_json({"steps": listed})
    else:
        show(steps_text(lines))
    return 0


def resume(run: Run = "latest", output: As = Format.text) -> int:
    """Go on with a run where it was left.

    As run --resume does, with the run's own arguments.

    Example:  contextctl tasks resume latest
    """
    folder = RunFolder.open(run, Path.cwd())
    given = folder.read_run_json().get("arguments")
    if not isinstance(given, dict) or not isinstance(given.get("profile"), str):
        raise UsageError(f"'{folder.run_json}' does not say how the run was started")
    if given.get("tasks") == "-":
        raise UsageError("its tasks came from stdin: give them again to 'run --resume --out DIR'")
    sets, only = given.get("set"), given.get("only")
    concurrency, cost = given.get("concurrency"), given.get("max_cost")
    return run_command(
        str(given["profile"]),
        str(given["tasks"]),
        out=folder.path,
        concurrency=concurrency if isinstance(concurrency, int) else 1,
        only=[*map(str, only)] if isinstance(only, list) else None,
        sets=[*map(str, sets)] if isinstance(sets, list) else None,
        max_cost=float(cost) if isinstance(cost, (int, float)) else None,
        windows=given.get("windows") is True,
        output=output,
        resume=True,
    )
