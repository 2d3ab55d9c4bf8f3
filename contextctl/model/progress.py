"""How far a task is: its plan, what it produced, and how it stands, for people."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import cast

from contextctl.model.message import JsonObject
from contextctl.model.record import OutputSaved, Todo


@dataclass(frozen=True, slots=True)
class TaskProgress:
    """One task of a run as its record and its result tell it.

    ``status`` is that of its result; ``running`` while another process has it, ``unfinished`` when
    nobody has and there is no result. ``line`` is the plan in one line, ``now`` the id of the item
    being worked on. ``uncertain`` are calls (``name call_id``) that had started and have no result.
    """

    task: str
    status: str
    steps: int = 0
    line: str = ""
    now: str = ""
    items: tuple[Todo, ...] = ()
    outputs: tuple[OutputSaved, ...] = ()
    briefs: tuple[str, ...] = ()
    uncertain: tuple[str, ...] = ()
    error: str = ""

    def to_json(self) -> JsonObject:
        """The progress as a JSON object."""
        return cast("JsonObject", asdict(self))
