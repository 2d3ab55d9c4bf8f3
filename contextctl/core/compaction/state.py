"""What the fold remembers about compactions: what starts the next one, and what was tried."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from contextctl.model.audit import Compaction
from contextctl.model.ledger import Action
from contextctl.model.message import Json


@dataclass(slots=True)
class Compacting:
    """``last_step`` is the step of the last compaction, ``poor`` how many in a row saved little.

    ``paused_at`` is the size of the window when tries were paused, 0 when they are not; ``pause``
    is then the action that says so. ``repaired`` are calls closed without a result, id and tool,
    since the last compaction. ``tried`` and ``usage`` belong to the step being assembled.
    """

    stage_ended: bool = False
    last_step: int = 0
    poor: int = 0
    paused_at: int = 0
    pause: Action | None = None
    repaired: list[tuple[str, str]] = field(default_factory=list)
    tried: list[Compaction] = field(default_factory=list)
    usage: dict[str, Json] = field(default_factory=dict)

    def copy(self) -> Compacting:
        """The same, which later changes do not reach."""
        return replace(
            self, repaired=list(self.repaired), tried=list(self.tried), usage=dict(self.usage)
        )
