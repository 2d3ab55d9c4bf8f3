"""The parts of a profile that govern tools: where they run and how their results are shown.

The same rules hold as in ``profile_parts``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from contextctl.model.message import Json


@dataclass(frozen=True, slots=True)
class ZoneModes:
    """How a new result is shown, by the zone before it arrived: ``full`` or ``ref``."""

    safe: str = "full"
    warn: str = "ref"
    danger: str = "ref"

    def at(self, zone: str) -> str:
        """The mode for ``zone``."""
        return self.safe if zone == "safe" else self.warn if zone == "warn" else self.danger


@dataclass(frozen=True, slots=True)
class TextCut:
    """Characters kept at the head and the tail of a text that is cut in the middle."""

    head: int = 2000
    tail: int = 500


@dataclass(frozen=True, slots=True)
class Page:
    """At most ``limit`` records at once. ``cursor`` and ``total`` are paths; None: not given."""

    limit: int = 20
    cursor: str | None = None
    total: str | None = None


@dataclass(frozen=True, slots=True)
class ResultRule:
    """How one tool's results are shaped. None for ``max_tokens`` and ``text``: as in ``shaping``.

    ``fields`` None keeps every field. ``pin`` maps a pin (``confirmed_slots.order_id``) to a
    JMESPath over the raw result, ``remind`` a reminder slot.
    """

    fields: tuple[str, ...] | None = None
    page: Page | None = None
    aggregate: str | None = None
    max_tokens: int | None = None
    text: TextCut | None = None
    disposable: bool = False
    pin: Mapping[str, str] = field(default_factory=dict)
    remind: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HttpCall:
    """A tool behind HTTP. Its arguments are sent as JSON, or as the query of a GET."""

    url: str
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class ToolRule:
    """One tool: where it runs and how its results are shaped.

    Without ``python``, ``command`` and ``http`` it is only a rule for a tool that MCP or a trace
    provides. ``description`` and ``parameters`` (JSON Schema) say what the model sees; for a Python
    function both default to its docstring and signature.
    """

    python: str | None = None
    command: tuple[str, ...] = ()
    http: HttpCall | None = None
    description: str = ""
    parameters: Mapping[str, Json] | None = None
    result: ResultRule = ResultRule()
    permission: str = "allow"
    side_effects: bool = False
    timeout_s: float = 30

    @property
    def kind(self) -> str:
        """``python``, ``command``, ``http`` or ``none``."""
        if self.python is not None:
            return "python"
        if self.command:
            return "command"
        return "none" if self.http is None else "http"


@dataclass(frozen=True, slots=True)
class Shaping:
    """Defaults for all tool results. ``locale`` is the language of hints: ``en`` or ``zh``."""

    by_zone: ZoneModes = ZoneModes()
    max_tokens: int = 2500
    text: TextCut = TextCut()
    locale: str = "en"


@dataclass(frozen=True, slots=True)
class McpServer:
    """One MCP server, over stdio (``command``) or HTTP (``url``); ``include`` are name patterns.

    A ``required`` server that cannot start is a failure before any model call.
    """

    command: tuple[str, ...] = ()
    url: str | None = None
    include: tuple[str, ...] = ("*",)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    required: bool = True
    timeout_s: float = 30


@dataclass(frozen=True, slots=True)
class Defer:
    """When tool schemas leave the array, counted in tools, and how they are found again.

    ``embeddings``: a search goes by meaning as well as by words.
    """

    per_server: int = 10
    total: int = 30
    via: str = "auto"
    top_k: int = 5
    always: tuple[str, ...] = ()
    activation: str = "array"
    embeddings: bool = False
