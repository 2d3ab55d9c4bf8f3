"""``contextctl shape``: what a profile's rule does to one tool result."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from contextctl.cli.output import Format, say, show, show_json
from contextctl.core.digest.facts import omitted_names
from contextctl.core.reading.refs import content_hash, make_ref
from contextctl.core.shaping import ShapeCall, Shaped, ShapeRule, shape_result, unwrapped
from contextctl.io.models.vocab import counter_for
from contextctl.io.profile.load import load_profile
from contextctl.io.tools.result_text import outcome_of_bytes
from contextctl.model.tool_rules import ResultRule

if TYPE_CHECKING:
    from contextctl.model.profile import Profile

# Nothing is stored by this command: the ref only shows where one would stand.
_SESSION, _KEY = "preview", "00"


class Mode(StrEnum):
    """How a new result is shown; a profile's ``shaping.by_zone`` decides it in a run."""

    full = "full"
    ref = "ref"


class Status(StrEnum):
    """How the call ended; the whitelist does not touch an error."""

    ok = "ok"
    error = "error"


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("shape")(shape)


def shape(
    profile: Annotated[str, typer.Argument(metavar="PROFILE", show_default=False)],
    tool: Annotated[str, typer.Argument(metavar="TOOL", show_default=False)],
    mode: Annotated[Mode, typer.Option(help="Whole, or as a reference.")] = Mode.full,
    cursor: Annotated[str | None, typer.Option(help="Show the page that begins here.")] = None,
    status: Annotated[Status, typer.Option(help="How the call ended.")] = Status.ok,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Put a value over the profile."),
    ] = None,
    output: Annotated[Format, typer.Option("--format")] = Format.text,
) -> int:
    """Shape one tool result from stdin as PROFILE says for TOOL.

    Stdout is exactly what a model would see; stderr tells tokens, rule and warnings.

    Example:  contextctl shape profiles/prod.yaml list_orders < result.json
    """
    loaded = load_profile(profile, sets or ())
    raw = outcome_of_bytes(sys.stdin.buffer.read()).content
    counter = counter_for(loaded.tokenizer, loaded.model.name)
    shaped = shape_result(
        raw,
        ShapeRule.of(loaded, tool),
        mode.value,
        counter,
        make_ref(_SESSION, _KEY, content_hash(unwrapped(raw))),
        loaded.shaping.locale,
        ShapeCall("call_1", status.value, cursor, omitted_facts=omitted_names),
    )
    before = counter.text(raw)
    if output is Format.json:
        show_json(
            {
                "text": shaped.text,
                "kind": shaped.kind,
                "tokens_before": before,
                "tokens_after": shaped.tokens,
                "tokenizer": {"name": counter.name, "exact": counter.exact},
                "returned": shaped.returned,
                "total": shaped.total,
                "omitted": shaped.omitted,
                "truncated": shaped.truncated,
                "next_cursor": shaped.next_cursor,
                "lossless": shaped.lossless,
                "rule": _rule(loaded, tool),
                "origin": loaded.origin(_rule(loaded, tool)),
                "warnings": list(shaped.warnings),
            }
        )
    else:
        show(shaped.text)
    _tell(loaded, tool, shaped, before, counter.name)
    return 0


def _rule(profile: Profile, tool: str) -> str:
    declared = profile.result_rule(tool) != ResultRule()
    return f"/tools/{tool}/result" if declared else "/shaping"


def _tell(profile: Profile, tool: str, shaped: Shaped, before: int, tokenizer: str) -> None:
    saved = before - shaped.tokens
    say(f"{before:,} -> {shaped.tokens:,} tokens ({-saved:+,}) by {tokenizer}, {shaped.kind}")
    if shaped.omitted:
        say(f"returned {shaped.returned:,} of {shaped.total:,}, omitted {shaped.omitted:,}")
    rule = _rule(profile, tool)
    say(f"rule {rule}: {profile.origin(rule) or 'defaults'}")
    if tool not in profile.tools:
        known = ", ".join(f"'{name}'" for name in profile.tools) or "none"
        say(f"note: no rule for '{tool}' in '{profile.path}'; tools with one: {known}")
    for warning in shaped.warnings:
        say(f"warning: {warning}")
