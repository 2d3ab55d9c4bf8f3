"""Explain a step of a subject: walk it, look at two steps, try what would help."""

from __future__ import annotations

from contextctl.core.explain import explain_step
from contextctl.core.whatif import first_enough, rungs
from contextctl.io.profile_edit import patch_for, setting
from contextctl.model.explanation import Explanation, Rung
from contextctl.run.inspect import Subject, pick


def explain_subject(subject: Subject, number: int | None) -> Explanation:
    """Explain step ``number`` (the fullest one by default)."""
    step, before, count = pick(subject.steps(), number, subject.task)
    ledger = step.assembly.ledger
    found = rungs(subject.profile, subject.counter, subject.events, ledger)
    best = first_enough(found)
    return explain_step(
        subject.profile,
        ledger,
        before.assembly.ledger if before else None,
        steps=count,
        recorded_digest=step.recorded.digest if step.recorded else "",
        rungs=found,
        patch="" if best is None else _edit(subject, best),
    )


def _edit(subject: Subject, rung: Rung) -> str:
    """A patch of the profile's file, or the lines to put into a profile."""
    patch = patch_for(subject.profile, rung.pointer, rung.value)
    return patch or setting(rung.pointer, rung.value)
