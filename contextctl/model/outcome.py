"""How a tool call ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from contextctl.model.message import Json


@dataclass(frozen=True, slots=True)
class Attachment:
    """Bytes that came with a result: an image, a sound, a file.

    ``place`` is the character of the result's content where its description belongs; ``about``
    says what the bytes tell of themselves (``256x256``).
    """

    media: str
    data: bytes = field(repr=False)
    place: int
    about: str = ""


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The raw result of one call, before any shaping.

    ``status`` is ``ok`` or ``error``. ``content`` is text for the model, possibly empty. For a
    binary result it is a one-line description, ``media`` the MIME type and ``data`` the bytes.
    ``extra`` holds facts beside the text: ``exit_code``, ``http_status``, ``stderr`` …
    ``failure`` says what kind of failure an error is (``model/failure.py``).
    """

    content: str
    status: str = "ok"
    media: str = ""
    data: bytes | None = field(default=None, repr=False)
    extra: Mapping[str, Json] = field(default_factory=dict)
    attachments: tuple[Attachment, ...] = ()
    failure: str = ""
