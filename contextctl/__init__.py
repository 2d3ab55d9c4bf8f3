"""contextctl: an agent's context window as a budget that is declared, measured and explained.

    from contextctl import load_profile, Session
    session = Session(load_profile("profiles/prod.yaml"), task="…")

Public names are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextctl.version import __version__

__all__ = [
    "ContextOverflow",
    "ContextctlError",
    "ProfileError",
    "Session",
    "UsageError",
    "__version__",
    "assemble",
    "errors",
    "load_profile",
    "record",
]

if TYPE_CHECKING:
    from contextctl import errors
    from contextctl.core.assemble import assemble
    from contextctl.errors import ContextctlError, ContextOverflow, ProfileError, UsageError
    from contextctl.io.profile.load import load_profile
    from contextctl.io.recorder.record import record
    from contextctl.session import Session

_HOME = {
    "ContextOverflow": "contextctl.errors",
    "ContextctlError": "contextctl.errors",
    "ProfileError": "contextctl.errors",
    "Session": "contextctl.session",
    "UsageError": "contextctl.errors",
    "assemble": "contextctl.core.assemble",
    "load_profile": "contextctl.io.profile.load",
    "record": "contextctl.io.recorder.record",
}


def __getattr__(name: str) -> object:
    """Load a public name from where it lives."""
    from importlib import import_module

    if name == "errors":
        return import_module("contextctl.errors")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'contextctl' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted({*globals(), *__all__})
