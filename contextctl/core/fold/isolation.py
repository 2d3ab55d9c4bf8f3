"""Isolation in the ledger: what a subagent read, which its parent's window never held.

The result of a delegate is a fact with the size of the work behind it. The window holds the result;
the action says what the same work would have taken here, and leads to its transcript.
"""

from __future__ import annotations

from contextctl.core.fold.state import State
from contextctl.model.ledger import Action
from contextctl.model.record import ResultArrived

ISOLATE = "isolate"
"""The key of ``ResultArrived.extra`` that says what stands behind a delegate's result."""


def isolation(state: State, event: ResultArrived) -> Action | None:
    """The action for a delegate's result; None for any other. ``tokens_before`` is the work behind
    it, without framing. A transcript that the result names by ref can be read from here on."""
    told = event.extra.get(ISOLATE)
    if not isinstance(told, dict):
        return None
    if told.get("ref_shown"):
        state.bring_readers()
    tokens = told.get("tokens")
    rule = str(told.get("rule") or "/subagents")
    return Action(
        kind=ISOLATE,
        target=state.event,
        bucket="tool_results",
        tokens_before=tokens if isinstance(tokens, int) else 0,
        tokens_after=0,
        rule=rule,
        origin=state.profile.origin(rule),
        ref=str(told.get("ref") or ""),
    )
