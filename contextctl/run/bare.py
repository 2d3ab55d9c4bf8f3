"""A trace without a profile: whose window it is measured against, with nothing left out of it."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from contextctl.errors import ProfileError, UsageError
from contextctl.io.models.map import model_facts, model_names
from contextctl.io.profile.load import profile_from_values
from contextctl.io.profile.windows import resolve_window, window_of
from contextctl.model.message import JsonObject
from contextctl.model.profile import Profile

OFF: JsonObject = dict.fromkeys(
    ("shape", "trim", "disclose", "offload", "isolate", "compact"), False
)


def bare_profile(
    model: str | None, named: Sequence[str], sets: Sequence[str], *, shown: str
) -> Profile:
    """Every default but the remedies: they are off. ``named`` are the models the trace names.

    Without ``model`` the last one of ``named`` whose window is known is taken. Raises
    ``UsageError`` that says how to name a window.
    """
    name = model or _known(named)
    if not name and named:
        last = named[-1]
        raise UsageError(
            f"'{shown}' names the model {_quoted(named)}, whose window is not known{_like(last)}"
            f"; say it: --model {last} --set model.window=200000"
        )
    if not name:
        raise UsageError(
            f"'{shown}' names no model; say whose window it is to be measured against: "
            "--model openai/gpt-4.1-mini (or --profile PROFILE)"
        )
    values: JsonObject = {
        "version": 1,
        "name": "no profile",
        "model": {"name": name},
        "workspace": {"tools": []},
        "remedies": OFF,
    }
    try:
        return resolve_window(profile_from_values(values, sets))
    except ProfileError as error:
        if any("not known" in problem.message for problem in error.problems):
            raise UsageError(
                f"the window of model '{name}' is not known{_like(name)}; name one that is, or say "
                f"it: --model {name} --set model.window=200000"
            ) from None
        raise


def _known(named: Sequence[str]) -> str:
    for name in reversed(named):
        if window_of(name):
            return name
        # Traces often name a model as a provider does; the map's names begin with its own.
        if model_facts(name.rpartition("/")[2]).window:
            return name.rpartition("/")[2]
    return ""


def _like(name: str) -> str:
    close = get_close_matches(name.rpartition("/")[2], model_names(), 3, 0.6)
    return f" (known: {', '.join(close)})" if close else ""


def _quoted(named: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in dict.fromkeys(named))
