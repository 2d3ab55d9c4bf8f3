"""The demo as text: a bar a step, and what the late steps still know."""

from __future__ import annotations

from collections.abc import Iterator

from contextctl.model.demonstration import Demonstration, StepSize

BAR = 40  # characters that stand for the usable window
EVERY = 3  # every third step is shown, and the one that would overflow first


def demo_text(demo: Demonstration) -> str:
    """What is shown, at most 100 columns wide."""
    return "\n".join(_lines(demo)) + "\n"


def _lines(demo: Demonstration) -> Iterator[str]:
    last = demo.sizes[-1]
    yield f"A recorded bug hunt, {last.step} steps in a window of {demo.window:,} tokens, replayed"
    yield f"through the profile '{demo.profile}'. No model was called and no network used."
    yield ""
    yield f"step  as recorded  assembled   0%{'usable 100%':>{BAR - 2}}"
    for size in demo.sizes:
        if size.step % EVERY == 1 or size.step == demo.first_overflow:
            yield _row(size)
    yield ""
    if demo.first_overflow is not None:
        yield (
            f"As recorded it overflows at step {demo.first_overflow} and ends at"
            f" {last.raw / last.usable:.0%}; assembled it peaks at"
            f" {max(size.total / size.usable for size in demo.sizes):.0%}."
        )
    yield ""
    yield "What was said once, early, and is needed late:"
    for need in demo.needs:
        where = "in the window" if need.stands else "out of the window, behind a ref"
        yield f"  step {need.needed}  {need.value:<26} {where}"
    yield ""
    yield f"next     contextctl explain {demo.run}"
    yield f"         contextctl show {demo.run} --step {demo.needs[-1].needed}"


def _row(size: StepSize) -> str:
    over = " OVERFLOW" if size.raw > size.usable else ""
    held = min(BAR, round(BAR * size.total / size.usable))
    raw = min(BAR, round(BAR * size.raw / size.usable))
    bar = "█" * held + "░" * max(0, raw - held)
    return f"{size.step:>4}  {size.raw:>11,}  {size.total:>9,}   {bar:<{BAR}}|{over}"
