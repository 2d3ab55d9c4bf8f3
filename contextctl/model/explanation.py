"""The answer to 'why is this step as big as it is': one value, rendered as text or JSON.

All sizes are tokens by the provider's measure: our counts times the factor of the step.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import cast

from contextctl.model.ledger import Action
from contextctl.model.message import Json, JsonObject

STAGES = ("select", "assemble", "budget", "recover")
"""The order in which a symptom is looked into: what was chosen, how the window was built from it,
what it may cost, and whether what left can be read back."""


@dataclass(frozen=True, slots=True)
class BucketRow:
    """One bucket beside the step before. ``limit`` is its declared cap in tokens, if it has one.

    ``raw`` is what it would be had nothing been left out, ``saved`` = ``now`` − ``raw`` (≤ 0).
    A row with a dot in its name is one part of a bucket that has a cap of its own.
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
    """Messages that entered, left or changed size since the step before; they sum to the delta."""

    delta: int
    bucket: str
    event: str
    what: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Root:
    """The message that fills the window most, however many steps back it entered.

    ``raw`` is its size before any rule, ``now`` its size in this window. ``call`` is what was
    asked, ``rule`` what shaped it, or that nothing did. ``decides`` says that the step would fit
    without it.
    """

    event: str
    what: str
    step: int
    steps_back: int
    raw: int
    now: int
    call: str
    rule: str
    decides: bool


@dataclass(frozen=True, slots=True)
class Source:
    """All messages of one origin (the results of a tool, the agent's own calls) in this window."""

    name: str
    bucket: str
    messages: int
    tokens: int
    largest: str


@dataclass(frozen=True, slots=True)
class Edit:
    """One value to set in a profile. ``pointer`` is a JSON pointer."""

    pointer: str
    value: Json


@dataclass(frozen=True, slots=True)
class Rung:
    """One remedy tried on the same record, assembled again.

    ``alone`` is what it saves by itself and ``enough`` whether the step then fits; ``adds`` what
    it saves on top of the rungs above it and ``total`` the step with all of them. ``prefix`` is
    where the window stops being that of the step before: ``kept`` or ``cut@e04``. ``edits`` is
    empty where the rung is no matter of the profile (``booked`` then says what was assumed).
    """

    number: int
    remedy: str
    change: str
    alone: int
    enough: bool
    adds: int
    total: int
    prefix: str
    edits: tuple[Edit, ...] = ()
    booked: str = ""


@dataclass(frozen=True, slots=True)
class Advice:
    """A symptom that this step shows. ``stage`` is one of ``STAGES``, ``remedy`` the number of
    the rung it calls for (0: none of them), ``evidence`` what was seen and where, ``do`` the next
    edit."""

    stage: str
    symptom: str
    evidence: str
    do: str
    remedy: int = 0


@dataclass(frozen=True, slots=True)
class Fix:
    """The edit that makes the step fit. ``patch`` is what ``git apply`` takes, empty when the
    profile has no file that could be changed safely; ``lines`` is the same as YAML.
    ``spare`` tokens are then left (negative: it does not fit yet, and ``instead``
    names a rung that is enough and no matter of the profile alone)."""

    why: str
    total: int
    spare: int
    lines: str
    patch: str = ""
    path: str = ""
    instead: str = ""


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
    factor: float
    digest: str
    matches: bool | None
    record: str
    rows: tuple[BucketRow, ...]
    grew: tuple[Growth, ...]
    root: Root | None
    sources: tuple[Source, ...]
    did: tuple[Action, ...]
    did_more: int
    did_rest: int
    rungs: tuple[Rung, ...]
    look_first: str
    advice: tuple[Advice, ...]
    prefix: str
    fix: Fix | None = None
    reported: str = ""
    notes: tuple[str, ...] = ()
    next: tuple[str, ...] = ()

    @property
    def over(self) -> int:
        """Tokens that do not fit; negative when there is room."""
        return self.total - self.usable

    def to_json(self) -> JsonObject:
        """The same value as JSON."""
        out = cast("JsonObject", asdict(self))
        out["over"] = self.over
        return out
