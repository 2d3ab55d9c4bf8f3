"""``contextctl profile``: the resolved profile, where each value was set, and what differs."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from contextctl.cli.output import Format, say, show, show_json
from contextctl.io.profile.load import load_profile
from contextctl.model.message import JsonObject
from contextctl.report.profile_text import (
    Difference,
    differences_text,
    profile_differences,
    profile_yaml,
    shown_profile,
)


class ShowFormat(StrEnum):
    """How a profile is printed."""

    yaml = "yaml"
    json = "json"


Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Put a value over the profile."),
]


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    group.command("show")(show_profile)
    group.command("diff")(diff_profiles)
    app.add_typer(group, name="profile", help="The resolved profile, and where it was set.")


def show_profile(
    profile: Annotated[str, typer.Argument(show_default=False)],
    sets: Sets = None,
    output: Annotated[ShowFormat, typer.Option("--format")] = ShowFormat.yaml,
    *,
    origin: Annotated[bool, typer.Option(help="Show the file:line that set each value.")] = False,
) -> None:
    """Print the resolved profile with its defaults; ${VAR} stays as it was written.

    Example:  contextctl profile show coding --origin
    """
    loaded = load_profile(profile, sets or ())
    if output is ShowFormat.yaml:
        show(profile_yaml(loaded, origins=origin))
        return
    value: JsonObject = {"digest": loaded.digest, "profile": shown_profile(loaded)}
    if origin:
        value["origins"] = {pointer: str(place) for pointer, place in loaded.origins.items()}
    show_json(value)


def diff_profiles(
    before: Annotated[str, typer.Argument(metavar="A", show_default=False)],
    after: Annotated[str, typer.Argument(metavar="B", show_default=False)],
    output: Annotated[Format, typer.Option("--format")] = Format.text,
) -> None:
    """Print every value that differs between two profiles, and where each was set.

    Example:  contextctl profile diff staging prod
    """
    differences = profile_differences(load_profile(before), load_profile(after))
    if output is Format.json:
        show_json({"differences": [_json(difference) for difference in differences]})
    elif differences:
        show(differences_text(differences))
    else:
        say(f"{before} and {after} resolve to the same profile")


def _json(difference: Difference) -> JsonObject:
    return {
        "key": difference.key,
        "before": difference.before,
        "before_origin": difference.before_origin,
        "after": difference.after,
        "after_origin": difference.after_origin,
    }
