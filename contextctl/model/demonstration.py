"""What the demo shows: how its trace fills a window, and what its late steps still know."""

from __future__ import annotations

from dataclasses import dataclass

from contextctl.model.message import JsonObject


@dataclass(frozen=True, slots=True)
class StepSize:
    """One step in tokens: with nothing left out, as assembled, and what may be used."""

    step: int
    raw: int
    total: int
    usable: int


@dataclass(frozen=True, slots=True)
class LateNeed:
    """A value that the trace shows once, early, and uses at the step ``needed``.

    ``stands`` says whether the window of that step holds it literally.
    """

    value: str
    needed: int
    stands: bool


@dataclass(frozen=True, slots=True)
class Demonstration:
    """All that the demo shows. ``run`` is the folder it left, as a person would type it."""

    run: str
    profile: str
    window: int
    sizes: tuple[StepSize, ...]
    needs: tuple[LateNeed, ...]

    @property
    def first_overflow(self) -> int | None:
        """The first step that would not fit with nothing left out."""
        return next((size.step for size in self.sizes if size.raw > size.usable), None)

    def to_json(self) -> JsonObject:
        """The same as plain data."""
        return {
            "run": self.run,
            "profile": self.profile,
            "window": self.window,
            "first_overflow": self.first_overflow,
            "steps": [
                {"step": s.step, "raw": s.raw, "total": s.total, "usable": s.usable}
                for s in self.sizes
            ],
            "needed_late": [
                {"value": n.value, "step": n.needed, "in_window": n.stands} for n in self.needs
            ],
        }
