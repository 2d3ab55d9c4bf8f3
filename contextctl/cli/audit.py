"""``contextctl audit``: what was compacted in a run, whether the audit is true, what was lost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from contextctl.cli.output import Format, show, show_json
from contextctl.core.audit.ratios import diff as diff_rows
from contextctl.errors import UsageError
from contextctl.io.runs.folder import RunFolder
from contextctl.report.audit_text import (
    audit_checked_text,
    audit_diff_text,
    audit_list_text,
    audit_row_text,
)
from contextctl.report.why_text import why_text
from contextctl.run.audit import (
    audited_run,
    find_row,
    last_two,
    list_audit,
    why_forgotten,
)
from contextctl.run.audit_verify import verify_audit

FINDING = 1

Run = Annotated[str, typer.Argument(metavar="[RUN]", help="A run's folder, or 'latest'.")]
Task = Annotated[str | None, typer.Option(metavar="TASK", help="Only this task.")]
As = Annotated[Format, typer.Option("--format")]


def register(app: typer.Typer) -> None:
    """Add the group of commands to ``app``."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    for command in (ls, verify, diff, why):
        group.command(command.__name__)(command)
    group.command("show")(show_row)
    app.add_typer(group, name="audit", help="What was compacted in a run, and what was lost.")


def ls(
    run: Run = "latest",
    task: Task = None,
    limit: Annotated[int | None, typer.Option(help="Rows shown, newest first.", min=1)] = None,
    output: As = Format.text,
) -> int:
    """List the compactions of a run, and how much they shrink what they replace.

    Example:  contextctl audit ls latest
    """
    listed = list_audit(audited_run(run, Path.cwd()), task, limit)
    if output is Format.json:
        show_json(listed.to_json())
    else:
        show(audit_list_text(listed))
    return 0


def show_row(
    run: Annotated[str, typer.Argument(metavar="[RUN]", help="A run's folder, or 'latest'.")],
    compaction: Annotated[
        str | None, typer.Argument(metavar="ID", help="A compaction, or how its id begins.")
    ] = None,
    output: As = Format.text,
) -> int:
    """Show one compaction whole: what it replaced, its summary, its pins, its checks.

    Example:  contextctl audit show latest c-kqh
    """
    run, compaction = ("latest", run) if compaction is None else (run, compaction)
    row = find_row(audited_run(run, Path.cwd()), compaction)
    if output is Format.json:
        show_json(row.to_json())
    else:
        show(audit_row_text(row))
    return 0


def verify(run: Run = "latest", output: As = Format.text) -> int:
    """Fold the records again and compare every row; read every raw text back.

    Example:  contextctl audit verify latest
    """
    checked = verify_audit(audited_run(run, Path.cwd()))
    if output is Format.json:
        show_json(checked.to_json())
    else:
        show(audit_checked_text(checked))
    return FINDING if checked.faults else 0


def diff(
    run: Run = "latest",
    first: Annotated[str | None, typer.Argument(metavar="[ID", help="The older one.")] = None,
    second: Annotated[str | None, typer.Argument(metavar="ID]", help="The newer one.")] = None,
    task: Task = None,
    output: As = Format.text,
) -> int:
    """Compare two summaries entry by entry; by default the last two of a task.

    Example:  contextctl audit diff latest
    """
    found = audited_run(run, Path.cwd())
    if first is None:
        pair = last_two(found, task)
    elif second is None:
        raise UsageError("give two compactions, or none for the last two")
    else:
        pair = find_row(found, first), find_row(found, second)
    difference = diff_rows(*pair)
    if output is Format.json:
        show_json(difference.to_json())
    else:
        show(audit_diff_text(difference))
    return 0


def why(
    run: Annotated[str, typer.Argument(metavar="[RUN]", help="A run's folder, or 'latest'.")],
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="What was forgotten.")] = None,
    task: Task = None,
    step: Annotated[int | None, typer.Option(help="By this step; default: the last.")] = None,
    output: As = Format.text,
) -> int:
    """Say why TEXT was forgotten: never said, dropped by a summary, or not pinned.

    Example:  contextctl audit why latest "special invoice"
    """
    base = Path.cwd()
    name, wanted = ("latest", run) if text is None else (run, text)
    if text is not None and not _is_run(run, base) and _is_run(text, base):
        name, wanted = text, run  # "why TEXT RUN" is said as easily
    answer = why_forgotten(audited_run(name, base), wanted, task, step)
    if output is Format.json:
        show_json(answer.to_json())
    else:
        show(why_text(answer, name))
    return 0


def _is_run(name: str, base: Path) -> bool:
    try:
        RunFolder.open(name, base)
    except (UsageError, OSError):
        return False
    return True
