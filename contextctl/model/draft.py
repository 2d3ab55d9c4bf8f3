"""A profile drafted from recorded traces: what was seen, what was chosen, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from contextctl.model.message import Json, JsonObject


@dataclass(frozen=True, slots=True)
class ToolSeen:
    """A tool as its results show it. Sizes are tokens.

    ``largest_list`` is the longest list of records; ``page`` a page rule that its results call
    for. ``kept`` are fields with the step they were used at (empty: they only name the record),
    ``unused`` those that occur in nothing said or called later, ``unused_share`` their part of
    the text; both are empty where there is too little evidence.
    """

    name: str
    results: int
    median: int
    largest: int
    total: int
    largest_list: int = 0
    page: Mapping[str, Json] | None = None
    kept: tuple[tuple[str, str], ...] = ()
    unused: tuple[str, ...] = ()
    unused_share: float = 0.0


@dataclass(frozen=True, slots=True)
class Kept:
    """How a profile did on a trace: the share of needed values in the window, and billed input.

    ``needed`` counts the values; ``unfit`` the steps that did not fit. ``billed`` are tokens, those
    in a held prefix counted a tenth.
    """

    needed: int
    in_window: int
    recoverable: int
    billed: int
    steps: int
    unfit: int

    @property
    def share(self) -> float:
        """Values in the window, of those needed; 1.0 when none was."""
        return self.in_window / self.needed if self.needed else 1.0

    @property
    def worth(self) -> float:
        """The share in the window for each million billed tokens, the steps that fit counted."""
        fit = 1 - self.unfit / self.steps if self.steps else 1.0
        return 1e6 * self.share * fit / self.billed if self.billed else 0.0

    def to_json(self) -> JsonObject:
        """The counts, and the two numbers made of them."""
        return {**asdict(self), "share": round(self.share, 5), "worth": round(self.worth, 3)}


@dataclass(frozen=True, slots=True)
class Draft:
    """A drafted profile. ``settings`` are its sections beside model and tools, by key.

    ``largest`` is the size of the largest trace with nothing left out; ``model_window`` what the
    model takes, None where that is not known. ``menu`` is the name of the settings chosen;
    ``with_draft`` and ``with_default`` what both profiles keep of the same traces.
    """

    name: str
    source: str
    model: str
    window: int
    reserve_output: int
    model_window: int | None
    largest: int
    traces: int
    steps: int
    menu: str
    settings: JsonObject
    tools: tuple[ToolSeen, ...]
    with_draft: Kept
    with_default: Kept
