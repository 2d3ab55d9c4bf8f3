"""Explain a step of a subject: walk it, look at two steps, try what would help."""

from __future__ import annotations

from contextctl.core.explain import explain_step
from contextctl.model.explanation import Explanation
from contextctl.run.inspect import Subject, pick


def explain_subject(subject: Subject, number: int | None) -> Explanation:
    """Explain step ``number`` (the fullest one by default)."""
    step, before, count = pick(subject.steps(), number, subject.task)
    return explain_step(
        subject.profile,
        step.assembly.ledger,
        before.assembly.ledger if before else None,
        steps=count,
        recorded_digest=step.recorded.digest if step.recorded else "",
    )
