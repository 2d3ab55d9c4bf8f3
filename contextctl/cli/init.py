"""``contextctl init``: a folder that runs at once, or a profile drafted from a trace."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from contextctl.cli.output import Format, say, show, show_json
from contextctl.cli.progress import progress
from contextctl.errors import UsageError
from contextctl.io.profile.draft_file import draft_text
from contextctl.io.profile.load import check_profile
from contextctl.io.profile.templates import copy_template, write_new
from contextctl.io.runs.folder import safe_name
from contextctl.io.traces import FORMATS, read_traces
from contextctl.report.draft_text import draft_summary
from contextctl.run.draft import draft_profile

if TYPE_CHECKING:
    from contextctl.model.draft import Draft
    from contextctl.model.message import JsonObject


class Template(StrEnum):
    """What ``init`` can make."""

    minimal = "minimal"
    agent = "agent"
    batch = "batch"


_RUNS = {"minimal": "profile.yaml", "agent": "profile.yaml", "batch": "dev"}


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("init")(init)


def init(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Default: this folder.")] = Path(),
    template: Annotated[
        Template | None, typer.Option(help="Default: minimal.", show_default=False)
    ] = None,
    trace: Annotated[
        Path | None, typer.Option("--from", metavar="TRACE", help="Draft a profile from a trace.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="With --from: the model it is for.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="With --from: the profile's name.")] = None,
    window: Annotated[
        int | None, typer.Option(min=1024, metavar="TOKENS", help="With --from: its window.")
    ] = None,
    *,
    reserve: Annotated[
        int | None, typer.Option(min=1, metavar="TOKENS", help="With --from: for the answer.")
    ] = None,
    format_: Annotated[
        str, typer.Option("--trace-format", metavar="FORMAT", help=f"auto, {', '.join(FORMATS)}")
    ] = "auto",
    output: Annotated[Format, typer.Option("--format")] = Format.text,
) -> int:
    """Make a working profile, task file and prompt in DIR; or draft a profile from a trace.

    A template runs at once with a scripted model: no key, no network. --from looks at what a trace
    holds, tries a few settings on it, and writes profiles/NAME.yaml with its reasons. Nothing is
    ever overwritten.

    Example:  contextctl init desk --template agent
    """
    if trace is None:
        given = [n for n, v in (("--model", model), ("--name", name), ("--window", window)) if v]
        if given:
            raise UsageError(f"{given[0]} belongs to --from TRACE: a template names its own")
        return _template((template or Template.minimal).value, folder, output)
    if template is not None:
        raise UsageError("--template and --from exclude each other: one copies, the other drafts")
    traces = list(read_traces(trace, format_))
    title = name or safe_name(trace.name.partition(".")[0])
    path = folder / "profiles" / f"{safe_name(title)}.yaml"
    if path.exists():  # told before the work, not after it
        write_new(path, "")
    with progress("trying settings") as tick:
        draft = draft_profile(
            traces,
            name=title,
            source=trace.name,
            model=model,
            window=window,
            reserve_output=reserve,
            progress=tick,
        )
    write_new(path, draft_text(draft))
    _show_draft(draft, path, _next(path, trace, folder), output)
    return 0


def _template(name: str, folder: Path, output: Format) -> int:
    written = copy_template(name, folder)
    go = "" if folder.resolve() == Path.cwd() else f"cd {quote(str(folder))} && "
    command = f"{go}contextctl run {_RUNS[name]} tasks.jsonl"
    if output is Format.json:
        show_json({"written": [str(path) for path in written], "next": command})
    else:
        for path in written:
            show(f"wrote    {path}")
        show(f"next     {command}")
    return 0


def _show_draft(draft: Draft, path: Path, steps: list[str], output: Format) -> None:
    _, problems = check_profile(path)
    for problem in problems:
        if problem.severity == "error":
            say(f"{problem.severity}: {problem}")
    if output is Format.json:
        show_json(_json(draft, path, steps))
    else:
        show(draft_summary(draft, str(path), steps))


def _next(path: Path, trace: Path, folder: Path) -> list[str]:
    shown = path.stem if folder.resolve() == Path.cwd() else str(path)
    return [
        f"contextctl replay {quote(shown)} {quote(str(trace))}",
        f"contextctl explain {quote(str(trace))} --profile {quote(shown)}",
    ]


def _json(draft: Draft, path: Path, steps: list[str]) -> JsonObject:
    return {
        "written": [str(path)],
        "model": draft.model,
        "window": draft.window,
        "settings": draft.menu,
        "largest_trace": draft.largest,
        "draft": draft.with_draft.to_json(),
        "default": draft.with_default.to_json(),
        "next": [*steps],
    }
