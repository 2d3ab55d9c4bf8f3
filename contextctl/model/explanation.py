"""The answer to 'why is this step as big as it is': one value, rendered as text or JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import cast

from contextctl.model.ledger import Action
from contextctl.model.message import Json, JsonObject


@dataclass(frozen=True, slots=True)
class BucketRow:
    """One bucket beside the step before. ``limit`` is its declared cap in tokens, if it has one.

    ``raw`` is what it would be had nothing been left out, ``saved`` = ``now`` − ``raw`` (≤ 0).
    """

    bucket: str
    limit: int | None
    previous: int
    raw: int
    saved: int
    now: int
    delta: int
    over: int = 0


@dataclass(frozen=True, slots=True)
class Growth:
    """A message that entered, left or changed size since the step before."""

    delta: int
    bucket: str
    event: str
    what: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Rung:
    """One remedy tried on the same record. ``total`` is the step under it, re-assembled exactly.

    ``saves`` is against the step as it was; ``enough`` says whether it fits on its own; ``prefix``
    is where the provider's cache would break. ``change`` is the profile edit.
    """

    number: int
    remedy: str
    change: str
    total: int | None
    saves: int
    enough: bool
    prefix: str = ""
    pointer: str = ""
    value: Json = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything ``explain`` shows about one step."""

    task: str
    step: int
    steps: int
    status: str
    model: str
    zone: str
    ratio: float
    total: int
    usable: int
    window: int
    reserve_output: int
    profile: str
    tokenizer: str
    exact: bool
    digest: str
    matches: bool | None
    rows: tuple[BucketRow, ...]
    largest: tuple[Growth, ...]
    grew: tuple[Growth, ...]
    did: tuple[Action, ...]
    did_more: int
    rungs: tuple[Rung, ...]
    advice: tuple[str, ...]
    prefix: str
    patch: str = ""
    reported: str = ""

    @property
    def over(self) -> int:
        """Tokens that do not fit; negative when there is room."""
        return self.total - self.usable

    def to_json(self) -> JsonObject:
        """The same value as JSON."""
        out = cast("JsonObject", asdict(self))
        out["over"] = self.over
        return out
