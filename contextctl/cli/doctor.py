"""``contextctl doctor``: what works here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from contextctl.cli.output import Format, say, show, show_json
from contextctl.io import doctor as look
from contextctl.io.profile.load import load_profile
from contextctl.io.profile.windows import resolve_window
from contextctl.model.check import Check
from contextctl.report.check_text import checks_text
from contextctl.run.server_checks import server_checks

FOUND = 1


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("doctor")(doctor)


def doctor(
    profile: Annotated[
        str | None, typer.Argument(metavar="[PROFILE]", help="Also what this profile needs.")
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Put a value over the profile."),
    ] = None,
    output: Annotated[Format, typer.Option("--format")] = Format.text,
) -> int:
    """Check tokenizer, keys, servers and stores; exit code 1 when something does not work.

    Without a profile nothing leaves this machine. With one, only the addresses that it names are
    tried: a connection is opened and closed, nothing is sent. Its MCP servers are started, asked
    for their tools and ended, within 30 seconds. Keys are named, never shown.

    Example:  contextctl doctor profile.yaml
    """
    checks = list(_checks(profile, sets or []))
    failed = [check for check in checks if check.ok is False]
    if output is Format.json:
        show_json({"checks": [check.to_json() for check in checks], "failed": len(failed)})
    else:
        show(checks_text(checks))
    if failed:
        say(f"{len(failed)} of {len(checks)} checks failed")
    return FOUND if failed else 0


def _checks(profile: str | None, sets: list[str]) -> Iterator[Check]:
    yield from look.installation()
    yield from look.stores()
    if profile is None:
        return
    loaded = resolve_window(load_profile(profile, sets))
    yield Check(f"profile {loaded.path}", True, f"valid, window {loaded.model.window or 0:,}")
    yield from look.model(loaded, os.environ)
    yield from look.tools(loaded)
    yield from server_checks(loaded, Path.cwd())
    yield from look.named_stores(loaded)
