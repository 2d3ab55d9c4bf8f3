"""What all tasks of a run share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from contextctl.core.count import Counter
from contextctl.io.mcp.missing import Missing
from contextctl.io.stores.leases import Leases
from contextctl.io.stores.snapshots import Snapshots
from contextctl.io.workspace.session import Workspace
from contextctl.model.message import Message, ToolSpec
from contextctl.model.outcome import ToolOutcome
from contextctl.model.profile import Profile
from contextctl.model.reply import Reply, Request
from contextctl.run.extract import Extractor
from contextctl.run.journal import Audit
from contextctl.run.meter import Meter
from contextctl.run.own_tools import OwnTools
from contextctl.run.summarize import Summariser
from contextctl.run.task_state import TaskState


class Tools(Protocol):
    """The tools a task may call."""

    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model may call."""

    def call(self, name: str, arguments: str, call_id: str = "", task: str = "") -> ToolOutcome:
        """Run one call to its end; whatever goes wrong is an error result."""

    def has_effects(self, name: str) -> bool:
        """Whether a call must not be repeated, where no rule of the profile says so."""

    def missing(self) -> tuple[Missing, ...]:
        """What should be offered and is not."""

    def close(self) -> None:
        """End what is running."""


class Model(Protocol):
    """The models of a profile; ``names`` in the order they are tried."""

    @property
    def names(self) -> tuple[str, ...]:
        """The first model, then its fallbacks."""

    def complete(self, request: Request) -> Reply:
        """Answer a request, or raise ``ModelError``."""

    def continued(self, task: str, said: Sequence[Message]) -> None:
        """``task`` goes on after these answers."""


@dataclass(frozen=True)
class Setting:
    """One run's profile (its windows resolved) and the doors to everything outside.

    ``counter_of`` gives the counter for a model's name, ``workspace`` is opened anew for each
    task's session, and a set ``stop`` ends every task at its next step. ``own`` is what contextctl
    itself offers beside the profile's tools, ``state`` a task's plan and memory,
    ``summariser`` the model that writes summaries, ``snapshots`` those it wrote before,
    ``extractor`` the one that proposes memories.
    """

    profile: Profile
    counter_of: Callable[[str], Counter]
    model: Model
    tools: Tools
    workspace: Workspace
    audit: Audit | None = None
    meter: Meter = field(default_factory=Meter)
    stop: threading.Event = field(default_factory=threading.Event)
    windows: bool = False
    own: OwnTools | None = None
    state: TaskState | None = None
    leases: Leases | None = None
    summariser: Summariser | None = None
    snapshots: Snapshots | None = None
    extractor: Extractor | None = None
