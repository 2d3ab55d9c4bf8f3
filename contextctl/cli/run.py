"""``contextctl run``: tasks through a profile, with a model or dry."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from contextctl.cli.output import Format, say, show, show_json
from contextctl.cli.progress import progress
from contextctl.errors import UsageError
from contextctl.io.models.stdout_guard import descriptor_to_stderr
from contextctl.io.profile.load import load_profile
from contextctl.io.profile.notyet import not_yet
from contextctl.io.profile.windows import resolve_window
from contextctl.io.runs.folder import RunFolder
from contextctl.io.runs.tasks import read_tasks
from contextctl.model.message import JsonObject
from contextctl.model.profile import Profile
from contextctl.model.result import TaskResult
from contextctl.model.task import Task
from contextctl.report.summary import summary_text
from contextctl.run.run_tasks import Order, run_tasks


class Zone(StrEnum):
    """How full a window may not get."""

    warn = "warn"
    danger = "danger"
    overflow = "overflow"


class Executor(StrEnum):
    """Where tasks run."""

    local = "local"
    ray = "ray"


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("run")(run)


def run(
    profile: Annotated[str, typer.Argument(help="A profile: a path or a name.")],
    tasks: Annotated[str, typer.Argument(metavar="TASKS", help="A JSONL file; - is stdin.")],
    *,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="The run's folder.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Tasks that run at once.")] = 1,
    only: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Run this task; may be repeated.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Run the first N tasks.")
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Put a value over the profile."),
    ] = None,
    fail_on: Annotated[
        Zone | None, typer.Option(help="Exit code 1 when a window gets as full as this.")
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(min=0.0, metavar="USD", help="Stop the run at this cost.")
    ] = None,
    executor: Annotated[Executor, typer.Option(help="Where tasks run.")] = Executor.local,
    output: Annotated[Format, typer.Option("--format")] = Format.text,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Assemble only: no model, no network, no tool.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue a run: the --out one, else the latest.")
    ] = False,
    windows: Annotated[
        bool, typer.Option("--windows", help="Keep the exact window of every step.")
    ] = False,
) -> int:
    """Run tasks through a profile: one result line and one ledger line per step for each.

    Exit code: 0 all tasks ok, 1 some failed or hit a limit, 4 none could be run because something
    outside failed, 5 a window overflowed, 130 interrupted. --resume does what is left.

    Example:  contextctl run profiles/agent.yaml tasks.jsonl --concurrency 4
    """
    if executor is Executor.ray:
        raise UsageError("--executor ray: not yet; leave it out, and use --concurrency")
    loaded = resolve_window(load_profile(profile, sets or ()))
    chosen = _chosen(read_tasks(tasks), only or [], limit)
    for line in _unused(loaded):
        say(line)
    name = "stdin" if tasks == "-" else Path(tasks).stem
    arguments: JsonObject = {
        "profile": profile, "tasks": tasks, "concurrency": concurrency, "only": [*(only or [])],
        "limit": limit, "set": [*(sets or [])], "fail_on": fail_on.value if fail_on else None,
        "max_cost": max_cost, "dry_run": dry_run, "resume": resume, "windows": windows,
    }  # fmt: skip
    order = Order(
        profile=loaded,
        tasks=chosen,
        folder=partial(_folder, out, name, resume=resume),
        concurrency=concurrency,
        max_cost=max_cost,
        fail_on=fail_on.value if fail_on else "",
        dry_run=dry_run,
        resume=resume,
        windows=windows,
        inputs=(tasks,),
        arguments=arguments,
    )
    with descriptor_to_stderr(), _terminated(), _ticking(len(chosen)) as tick:
        summary, code = run_tasks(order, tick)
    for warning in summary.warnings:
        say(f"warning: {warning}")
    for result in summary.results:
        for warning in result.warnings:
            say(f"warning: task '{result.id}': {warning}")
    for result in [one for one in summary.results if one.status != "ok"][:20]:
        say(f"{result.status}: task '{result.id}': {result.error}")
    if output is Format.json:
        show_json({**summary.to_json(), "exit_code": code})
    else:
        show(summary_text(summary, _shown(Path(summary.run))))
    return code


def _chosen(tasks: tuple[Task, ...], only: list[str], limit: int | None) -> tuple[Task, ...]:
    """The tasks that ``--only`` and ``--limit`` leave."""
    ids = {task.id for task in tasks}
    unknown = [name for name in only if name not in ids]
    if unknown:
        have = ", ".join(f"'{task.id}'" for task in tasks[:8])
        raise UsageError(f"--only: there is no task '{unknown[0]}'; the file holds: {have}")
    chosen = tuple(task for task in tasks if not only or task.id in only)
    return chosen[:limit]


def _unused(profile: Profile) -> Iterator[str]:
    """What is declared and not acted on yet, said before anything is run."""
    for found in not_yet(profile):
        origin = profile.origin(found.pointer)
        key = found.pointer.strip("/").replace("/", ".")
        yield f"note: {origin + ': ' if origin else ''}{key}: {found.message}"


def _folder(out: Path | None, name: str, *, resume: bool) -> RunFolder:
    """The run's folder: a new one, or the one to continue."""
    if resume and out is None:
        return RunFolder.open("latest", Path.cwd())
    return RunFolder.create(out, name, Path.cwd(), resume=resume)


@contextmanager
def _terminated() -> Iterator[None]:
    """Being asked to terminate is taken as Ctrl-C: the run stops where it can be continued."""

    def stop(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _ticking(total: int) -> Iterator[Callable[[TaskResult], None]]:
    """The progress of a batch, where there is a terminal."""
    done = 0
    with progress("run") as tick:

        def ended(result: TaskResult) -> None:
            nonlocal done
            done += 1
            tick(f"{done} of {total} tasks, last {result.id}", result.steps)

        yield ended


def _shown(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
