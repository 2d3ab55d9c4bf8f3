"""The budget: what is usable, how full the window is, which zone that is, when a batch starts.

Two bases. ``usable`` measures the whole window against what is left beside the reserved output.
``remaining`` first takes the system text and the tool schemas off both sides, because they cannot
be reduced: the same threshold then means the same pressure with 1 tool and with 60.
"""

from __future__ import annotations

from dataclasses import dataclass

from contextctl.model.profile import Budget


@dataclass(frozen=True, slots=True)
class Allowance:
    """How many tokens a step may use. ``fixed`` is the system text and the tool schemas."""

    usable: int
    basis: str
    warn: float
    danger: float
    trigger: float
    target: float

    def ratio(self, total: int, fixed: int) -> float:
        """How full the window is, 1.0 being full; infinite when ``fixed`` leaves nothing."""
        taken = fixed if self.basis == "remaining" else 0
        room = self.usable - taken
        return (total - taken) / room if room > 0 else float("inf")

    def zone(self, total: int, fixed: int) -> str:
        """``safe``, ``warn``, ``danger`` or ``overflow`` (more than all of the usable window)."""
        ratio = self.ratio(total, fixed)
        if total > self.usable or ratio > 1.0:
            return "overflow"
        if ratio >= self.danger:
            return "danger"
        return "warn" if ratio >= self.warn else "safe"

    def tokens(self, ratio: float, fixed: int) -> int:
        """The total at which ``ratio`` is reached."""
        taken = fixed if self.basis == "remaining" else 0
        return taken + int(ratio * max(self.usable - taken, 0))

    def must_reduce(self, total: int, fixed: int) -> bool:
        """Whether a batch starts: the trigger is reached, or the window would overflow."""
        return self.ratio(total, fixed) >= self.trigger or total > self.usable


def allowance(budget: Budget, window: int, reserve_output: int, factor: float) -> Allowance:
    """The allowance in our own tokens. ``factor`` is provider tokens per token of ours (≥ 0)."""
    usable = max(window - reserve_output, 0)
    return Allowance(
        usable=int(usable / factor) if factor > 0 else usable,
        basis=budget.basis,
        warn=budget.zones.warn,
        danger=budget.zones.danger,
        trigger=budget.reduce.trigger,
        target=budget.reduce.target,
    )
