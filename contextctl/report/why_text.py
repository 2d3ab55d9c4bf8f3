"""Why something was forgotten, as text: the verdict, its evidence, and what to change."""

from __future__ import annotations

from collections.abc import Iterator

from contextctl.model.why import Covered, Said, Why


def why_text(answer: Why, run: str) -> str:
    """The verdict first, then where it was said, what took it, where it is now, what to do.

    ``run`` is the run's folder as a person would type it.
    """
    return "\n".join(_lines(answer, run)) + "\n"


def _lines(answer: Why, run: str) -> Iterator[str]:
    yield f"{answer.verdict}: {_verdict(answer)}"
    for one in answer.said:
        yield f"  said      {_place(one)}"
    for one in answer.closest:
        yield f"  closest   {_place(one)}"
    if answer.said and answer.verdict != "in_window":
        yield f"  window    {_window(answer)}"
    for row in answer.covered:
        held = [f"its {name}" for name, has in _held(row) if has]
        yield (
            f"  compacted {row.compaction_id} (generation {row.generation}, e{row.event_from:02d}-"
            f"e{row.event_to:02d}): in {' and '.join(held) or 'neither its summary nor its pins'}; "
            f"raw {row.raw_ref}"
        )
    if answer.refs:
        yield f"  readable  {', '.join(answer.refs[:6])}"
    yield f"  next      {_advice(answer, run)}"


def _held(row: Covered) -> tuple[tuple[str, bool], ...]:
    return ("summary", row.in_summary), ("pins", row.in_pins)


def _verdict(answer: Why) -> str:
    where = f"in task '{answer.task}'" if answer.task else "in any task"
    if answer.verdict == "never_said":
        return f"nothing in the record says this {where}"
    if answer.verdict == "in_window":
        return f"step {answer.step} {where} had it: the model did not use what it saw"
    if answer.verdict == "dropped_by_summary":
        return f"compaction {answer.by} {where} took it, and its summary does not have it"
    if answer.pin:
        return f"it was given as pin '{answer.pin}' {where}, and no pin holds it now"
    return f"it left the window {where}, and no pin held it"


def _window(answer: Why) -> str:
    by = f", gone with {answer.by}" if answer.by else ""
    if not answer.last_step:
        return f"no step up to {answer.step} showed it{by}"
    return f"last shown at step {answer.last_step} of {answer.step}{by}"


def _advice(answer: Why, run: str) -> str:
    if answer.verdict == "never_said":
        return "ask the user, or search with fewer words"
    if answer.verdict == "in_window":
        return f"contextctl show {run} {answer.task} --step {answer.step}; it was there to be used"
    if answer.verdict == "dropped_by_summary":
        return "pin it (task pins, result.pin, constraints), or change compaction.summarizer"
    if answer.pin:
        return f"list '{answer.pin.partition('.')[0]}' under pins in the profile, and keep it set"
    return "pin it: constraints or pins of the task, or result.pin of the tool that returned it"


def _place(one: Said) -> str:
    return f"turn {one.turn}, e{one.event:02d} by {one.by}: {one.excerpt}"
