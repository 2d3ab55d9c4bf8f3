"""A walk: every step of a record or a trace assembled again, with nothing written anywhere.

``explain``, ``show``, ``verify`` and what-if all look at steps this way, so what they say is what
the run did.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from contextctl.core.assemble import Fold
from contextctl.core.count import Counter
from contextctl.model.assembly import Assembly
from contextctl.model.profile import Profile
from contextctl.model.record import Event, MessageAdded, StepTaken


@dataclass(frozen=True, slots=True)
class Walked:
    """One step. ``recorded`` is the fact that a run left of it; None when a trace is walked."""

    assembly: Assembly
    recorded: StepTaken | None
    events: int


def walk(profile: Profile, counter: Counter, events: Iterable[Event]) -> Iterator[Walked]:
    """Assemble each step of ``events``: where a step was recorded, or before an assistant turn
    that has none. A record that ends before its next step (a task that failed there) ends with it.
    """
    fold, fresh = Fold(profile, counter), False
    for seen, event in enumerate(events):
        if isinstance(event, StepTaken):
            yield Walked(fold.assemble(), event, seen)
            fresh = True
        elif isinstance(event, MessageAdded) and event.message.role == "assistant":
            if not fresh:
                assembly = fold.assemble()
                yield Walked(assembly, None, seen)
                fold.advance(StepTaken(assembly.ledger.step))
            fresh = False
        fold.advance(event)
