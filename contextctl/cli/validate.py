"""``contextctl validate``: all problems of profiles, at file:line:column."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from contextctl.cli.output import say, show, show_json
from contextctl.errors import Problem, UsageError
from contextctl.io.profile.load import check_profile
from contextctl.io.profile.related import related_problems
from contextctl.model.message import JsonObject
from contextctl.model.profile import Profile

FINDING = 1


class ProblemFormat(StrEnum):
    """How problems are printed; ``github`` annotates the lines of a pull request."""

    text = "text"
    json = "json"
    github = "github"


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("validate")(validate)


def validate(
    profiles: Annotated[list[str], typer.Argument(metavar="PROFILE…", show_default=False)],
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Put a value over the profile."),
    ] = None,
    output: Annotated[ProblemFormat, typer.Option("--format")] = ProblemFormat.text,
    *,
    strict: Annotated[
        bool, typer.Option(help="Warnings count as findings, and estimated token counts too.")
    ] = False,
) -> int:
    """All problems of profiles at once. Exit code 1 when there is one to fix, 2 when a
    profile is not there.

    PROFILE is a path, or the name of a file in profiles/ or of a shipped profile.

    Example:  contextctl validate profiles/prod.yaml --strict
    """
    problems: list[Problem] = []
    unusable = 0
    for name in profiles:
        try:
            profile, found = check_profile(name, sets or ())
        except UsageError as error:  # the others are looked at all the same
            say(f"error: {error}")
            unusable = error.exit_code
            continue
        if profile is not None:
            found = (*found, *related_problems(profile), *_deferral(profile))
        problems += (_strict(problem) for problem in found) if strict else found
    failed = [problem for problem in problems if _counts(problem, strict=strict)]
    if output is ProblemFormat.json:
        entries: list[JsonObject] = [_json(problem) for problem in problems]
        status = "unusable" if unusable else "invalid" if failed else "valid"
        show_json({"status": status, "problems": [*entries]})
    else:
        for problem in problems:
            show(_annotation(problem) if output is ProblemFormat.github else _line(problem))
        if not unusable:
            say(_summary(profiles, problems))
    return unusable or (FINDING if failed else 0)


def _deferral(profile: Profile) -> tuple[Problem, ...]:
    """Notes that need windows assembled: only profiles with servers pay for them."""
    if not profile.mcp:
        return ()
    from contextctl.run.deferral import deferral_notes

    return tuple(deferral_notes(profile, Path.cwd()))


def _counts(problem: Problem, *, strict: bool) -> bool:
    return problem.severity == "error" or (strict and problem.severity == "warning")


def _strict(problem: Problem) -> Problem:
    """Under ``--strict`` an estimate of tokens is refused (L2)."""
    if problem.key != "tokenizer" or problem.severity != "note":
        return problem
    return Problem(
        problem.path,
        problem.line,
        problem.column,
        problem.key,
        f"'approx' is refused by --strict: {problem.message}",
        problem.suggestion,
    )


def _line(problem: Problem) -> str:
    place = str(problem).removesuffix(_rest(problem))
    return f"{place}{problem.severity}: {_rest(problem)}"


def _rest(problem: Problem) -> str:
    return str(Problem("", 0, 0, problem.key, problem.message, problem.suggestion))[2:]


def _annotation(problem: Problem) -> str:
    """A workflow command of GitHub Actions, with its escapes."""
    level = {"note": "notice"}.get(problem.severity, problem.severity)
    place = f"file={_property(problem.path)},line={problem.line or 1},col={problem.column or 1}"
    return f"::{level} {place},title={_property(problem.key or 'profile')}::{_data(problem)}"


def _data(problem: Problem) -> str:
    text = problem.message + (f" ({problem.suggestion})" if problem.suggestion else "")
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return escaped.replace(":", "%3A").replace(",", "%2C")


def _json(problem: Problem) -> JsonObject:
    return {
        "path": problem.path,
        "line": problem.line,
        "column": problem.column,
        "key": problem.key,
        "severity": problem.severity,
        "message": problem.message,
        "suggestion": problem.suggestion,
    }


def _summary(profiles: list[str], problems: list[Problem]) -> str:
    count = {
        kind: sum(problem.severity == kind for problem in problems)
        for kind in ("error", "warning", "note")
    }
    words = [f"{n} {kind}{'s' if n > 1 else ''}" for kind, n in count.items() if n]
    what = profiles[0] if len(profiles) == 1 else f"{len(profiles)} profiles"
    return f"{what}: {', '.join(words) or 'valid'}"
