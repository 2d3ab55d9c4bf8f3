"""A dry run: the windows of a task with no model, no network and no tool called.

A task that is only a question has one: its first. A task that is a recorded conversation is walked,
one window before each turn the agent took in it, and one more where the next turn would be.
Nothing is random here: the same profile and tasks give the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from contextlib import closing

from contextctl.core.assemble import Fold
from contextctl.core.count import Counter
from contextctl.core.measure.totals import Totals
from contextctl.io.runs.folder import TaskFolder
from contextctl.io.workspace.session import Workspace
from contextctl.model.profile import Profile
from contextctl.model.record import Event, MessageAdded, StepTaken
from contextctl.model.result import TaskResult
from contextctl.model.task import Task
from contextctl.run.journal import Audit, Journal, fresh
from contextctl.run.task import Ended

Opening = Callable[[tuple[str, str]], Iterable[Event]]
"""The facts a task begins with, given its session's name and key."""


def dry_task(
    profile: Profile,
    counter: Counter,
    task: Task,
    opening: Opening,
    workspace: Workspace,
    folder: TaskFolder,
    audit: Audit | None = None,
    *,
    windows: bool,
) -> Ended:
    """Assemble every window of ``task`` and write down what each holds."""
    key = hashlib.sha256(f"dry {task.id} {task.digest}".encode()).hexdigest()
    session = ("s" + key[:3], key)
    fresh(folder)
    store, secrets = workspace.for_session(*session), profile.secrets.values()
    with closing(Journal(folder, store, audit, windows=windows, secrets=secrets)) as journal:
        walk = _Walk(profile, Fold(profile, counter), journal, task.id)
        for event in opening(session):
            if isinstance(event, MessageAdded) and event.message.role == "assistant":
                walk.step()
            walk.take(event)
        if not task.asks_nothing:
            walk.step()
        walk.write()
    return Ended(_result(task, walk.totals), totals=walk.totals)


class _Walk:
    """The fold of one task and what is not written down yet."""

    def __init__(self, profile: Profile, fold: Fold, journal: Journal, task: str) -> None:
        self.totals = Totals()
        self._profile = profile
        self._fold = fold
        self._journal = journal
        self._task = task
        self._pending: list[Event] = []

    def take(self, event: Event) -> None:
        """Take in a fact; it is written with the next step."""
        self._fold.advance(event)
        self._pending.append(event)

    def step(self) -> None:
        """Assemble the next window, store what it leaves out, and write everything down."""
        assembly = self._fold.assemble()
        ledger = assembly.ledger
        self._journal.keep(assembly)
        name = self._profile.model.name
        self.take(StepTaken(ledger.step, self._profile.digest, ledger.digest, name))
        self.write()
        self._journal.window(self._task, assembly)
        self._journal.step(ledger)
        self.totals.add(ledger)

    def write(self) -> None:
        """Write the facts that wait."""
        self._journal.facts(self._pending)
        self._pending.clear()


def _result(task: Task, totals: Totals) -> TaskResult:
    over = totals.overflows
    return TaskResult(
        id=task.id,
        status="overflow" if over else "ok",
        steps=totals.steps,
        tokens=totals.tokens(),
        peak=totals.peak,
        actions=dict(sorted(totals.actions.items())),
        error=f"{over} of {totals.steps} steps do not fit" if over else "",
    )
