"""How one tool result is to be shaped, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from contextctl.model.message import Json
from contextctl.model.tool_rules import Page, TextCut

if TYPE_CHECKING:
    from contextctl.model.profile import Profile


@dataclass(frozen=True, slots=True)
class ShapeRule:
    """A tool's ``result`` rule with the defaults of ``shaping`` filled in.

    ``fields`` None keeps every field; ``page`` None shows as many records as the cap allows.
    ``max_tokens`` is the hard cap of one result, ``text`` the characters kept around a cut.
    """

    fields: tuple[str, ...] | None = None
    page: Page | None = None
    aggregate: str | None = None
    max_tokens: int = 2500
    text: TextCut = field(default_factory=TextCut)
    disposable: bool = False

    @classmethod
    def of(cls, profile: Profile, tool: str) -> ShapeRule:
        """The rule that ``profile`` declares for results of ``tool``."""
        own = profile.result_rule(tool)
        return cls(
            fields=own.fields,
            page=own.page,
            aggregate=own.aggregate,
            max_tokens=profile.max_tokens_for(tool),
            text=profile.text_cut_for(tool),
            disposable=own.disposable,
        )


@dataclass(frozen=True, slots=True)
class ShapeCall:
    """What shaping may know of the call beside its rule.

    ``call_id`` and ``status`` (``ok``, ``error``) stand in for a disposable result; the whitelist
    does not touch an error. ``cursor`` asks for a later page. ``omitted_facts`` lists the
    identifiers of a text that is left out; the marker shows up to ``facts_tokens`` tokens of them.
    """

    call_id: str = ""
    status: str = "ok"
    cursor: Json = None
    omitted_facts: Callable[[str], Sequence[str]] | None = None
    facts_tokens: int = 200


@dataclass(frozen=True, slots=True)
class Shaped:
    """A tool result as the window shows it.

    ``kind`` is the content: ``json``, ``ndjson``, ``csv``, ``tsv``, ``html``, ``xml``, ``log``,
    ``text``, ``binary`` or ``empty``. ``returned``, ``total`` and ``omitted`` count records where
    it is a list of records, else characters. ``truncated`` says that something is missing;
    ``next_cursor`` is where the next part begins, None when there is none. ``lossless`` means that
    everything a reader would look for is in ``text``; otherwise the original belongs under the ref.
    ``media`` is the MIME type of the original.
    """

    text: str
    tokens: int
    kind: str
    returned: int
    total: int
    omitted: int = 0
    truncated: bool = False
    next_cursor: Json = None
    warnings: tuple[str, ...] = ()
    lossless: bool = True
    media: str = "text/plain"
