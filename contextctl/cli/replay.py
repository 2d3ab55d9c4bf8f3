"""``contextctl replay``: recorded traces through a profile, offline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from contextctl.cli.output import Format, say, show, show_json
from contextctl.cli.progress import progress
from contextctl.errors import UsageError
from contextctl.io.models.vocab import counter_for
from contextctl.io.profile.load import load_profile
from contextctl.io.profile.windows import resolve_window
from contextctl.io.runs.folder import RunFolder
from contextctl.io.traces import FORMATS, detect
from contextctl.report.replay_text import replay_text
from contextctl.run.replay_files import replay_files


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("replay")(replay)


def replay(
    profile: Annotated[str | None, typer.Argument(help="A profile: a path or a name.")] = None,
    traces: Annotated[list[Path] | None, typer.Argument(metavar="TRACE…")] = None,
    verify: Annotated[
        str | None, typer.Option(metavar="RUN", help="Re-assemble a recorded run and compare.")
    ] = None,
    source: Annotated[
        str, typer.Option("--from", metavar="FORMAT", help=f"auto, {', '.join(FORMATS)}")
    ] = "auto",
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="The run's folder.")] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Put a value over the profile."),
    ] = None,
    output: Annotated[Format, typer.Option("--format")] = Format.text,
    *,
    windows: Annotated[bool, typer.Option(help="Keep the exact window of every step.")] = False,
) -> int:
    """Walk recorded traces step by step through a profile. No model is called, no network used.

    Every step leaves a line in the run's ledger: where its tokens came from, what was left out and
    by which line of the profile. An infeasible step is a line with status overflow.

    Example:  contextctl replay profiles/coding.yaml trace.jsonl --set model.window=16384
    """
    if verify is not None:
        return _verify(verify, profile, output)
    if not profile or not traces:
        raise UsageError(
            "replay needs a profile and at least one trace: contextctl replay PROFILE TRACE…"
        )
    loaded = resolve_window(load_profile(profile, sets or ()))
    counter = counter_for(loaded.tokenizer, loaded.model.name)
    if source == "auto":
        for trace in traces:  # before anything is written: a run without a trace is no run
            detect(trace)
    folder = RunFolder.create(out, loaded.name or Path(profile).stem, Path.cwd())
    with progress("replay") as tick:
        outcome = replay_files(
            loaded, counter, traces, folder, format_name=source, windows=windows, progress=tick
        )
    for warning in outcome.warnings:
        say(f"warning: {warning}")
    if output is Format.json:
        run = folder.read_run_json()
        show_json({"run": str(folder.path), "status": run["status"], "totals": run["totals"]})
    else:
        show(replay_text(outcome, _shown(folder.path)))
    return 0


def _verify(run: str, profile: str | None, output: Format) -> int:
    from contextctl.cli.verify import verify

    return verify(run, profile, output)


def _shown(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
