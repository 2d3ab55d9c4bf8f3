"""Calibration: what a provider counted corrects later counts of the same model in this record.

Only later ones: a decision already taken stays as it was (the record keeps the usage as a fact, so
folding the record again arrives at the same factor at the same place).
"""

from __future__ import annotations

from contextctl.core.count import calibrate, scaled_total
from contextctl.core.fold.state import State
from contextctl.model.record import UsageReported

# Outside these bounds the difference is no matter of tokenizers: the provider counted text that
# the record does not hold (a system prompt that was never written down, an attached file).
_SAME_TEXT = (0.5, 2.0)


def report_usage(state: State, event: UsageReported) -> None:
    """Move the factor, or book what the provider saw and the record does not hold."""
    if not same_model(event.model, state.profile.model.name):
        return
    counted = state.last_raw if event.traced else state.last_total
    ours = scaled_total(counted, state.factor)
    if ours <= 0 or event.prompt_tokens <= 0:
        return
    if _SAME_TEXT[0] <= event.prompt_tokens / ours <= _SAME_TEXT[1]:
        state.factor = calibrate(state.factor, ours, event.prompt_tokens)
    elif event.prompt_tokens > ours:
        state.unseen += int((event.prompt_tokens - ours) / state.factor)


def same_model(reported: str, declared: str) -> bool:
    """Whether a provider's model name is the profile's: equal up to the provider's prefix.

    An unnamed model is taken for the profile's; a dated name (``gpt-4o-2024-08-06``) is its base's.
    """
    if not reported:
        return True
    short, base = reported.rpartition("/")[2], declared.rpartition("/")[2]
    return short == base or short.startswith(base + "-")
