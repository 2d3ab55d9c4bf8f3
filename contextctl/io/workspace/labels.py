"""The names a model gives to what it stores: labels inside the workspace, never paths outside."""

from __future__ import annotations

import unicodedata

_NAME_CHARS = 200


class LabelError(ValueError):
    """A name that cannot be a label; the message says what a name may look like."""


def clean_label(name: str) -> str:
    """The one spelling of a label: ``./notes//a..b.txt`` and ``notes/a..b.txt`` are the same.

    Raises ``LabelError`` for what could point elsewhere if it ever met a file system: an
    absolute path, ``..`` as a step, a backslash, a drive, a NUL or another control character;
    and for the empty name. ``a..b`` is a usual name.
    """
    normal = unicodedata.normalize("NFC", name)
    steps = [step for step in normal.split("/") if step not in ("", ".")]
    refused = (
        not steps
        or len(normal) > _NAME_CHARS
        or normal.startswith(("/", "~"))
        or normal[1:2] == ":"
        or "\\" in normal
        or ".." in steps
        or any(unicodedata.category(char) in ("Cc", "Cs") for char in normal)
    )
    if refused:
        raise LabelError("a name is a plain relative one, such as 'notes/plan.md'")
    return "/".join(steps)
