"""Readings of the environment, the ones a profile's environment layer can name."""

from __future__ import annotations

import os
import platform
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def read_environment(names: Iterable[str]) -> dict[str, str]:
    """The readings named, in that order; a name nobody knows is left out.

    ``date`` is today's local date, ``timezone`` the zone's name where the system tells it, else its
    offset, ``platform`` the system and its machine, ``workspace`` the working directory.
    """
    return {name: _READINGS[name]() for name in names if name in _READINGS}


def _date() -> str:
    return datetime.now().astimezone().strftime("%Y-%m-%d")


def _timezone() -> str:
    offset = datetime.now().astimezone().strftime("UTC%z")
    offset = f"{offset[:6]}:{offset[6:8]}"
    name = os.environ.get("TZ", "").lstrip(":") or _system_zone()
    return f"{name} ({offset})" if name else offset


def _system_zone() -> str:
    """``Asia/Shanghai``, from where the system's link leads; empty where there is none."""
    try:
        target = Path("/etc/localtime").resolve().as_posix()
    except OSError:
        return ""
    _, found, name = target.partition("zoneinfo/")
    return name if found else ""


def _platform() -> str:
    return f"{platform.system()} {platform.release()} {platform.machine()}".strip()


def _workspace() -> str:
    return str(Path.cwd())


_READINGS: dict[str, Callable[[], str]] = {
    "date": _date,
    "timezone": _timezone,
    "platform": _platform,
    "workspace": _workspace,
}
