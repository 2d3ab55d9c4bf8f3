"""Where text goes: results to stdout, everything else to stderr."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextctl.model.message import Json


class Format(StrEnum):
    """How a command prints its result."""

    text = "text"
    json = "json"


# What tools and models wrote must not drive a terminal: there control characters are shown as
# signs. A file or a pipe gets what it is.
_CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"}
_CONTROLS |= dict.fromkeys(range(0x7F, 0xA0), 0xFFFD)


def show(text: str) -> None:
    """Print a result: one or more whole lines on stdout."""
    text = text.translate(_CONTROLS) if sys.stdout.isatty() else text
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def show_json(value: Json) -> None:
    """Print a result as JSON on stdout, and nothing else."""
    show(json.dumps(value, ensure_ascii=False, indent=2))


def say(text: str) -> None:
    """Tell a person something on stderr."""
    text = text.translate(_CONTROLS) if sys.stderr.isatty() else text
    sys.stdout.flush()
    sys.stderr.write(text if text.endswith("\n") else text + "\n")
