"""Compactions as they are audited: what was replaced, by what, what stayed, how it was checked.

The fold derives these values; a store adds the time, which a pure fold does not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from contextctl.model.message import Json, JsonObject

OUTCOMES = ("committed", "discarded", "replaced")
TRIGGERS = ("stage_end", "ratio", "every_steps")


@dataclass(frozen=True, slots=True)
class PinKept:
    """A pin at the moment of a compaction: its key, its text, and where it came from.

    ``sha256`` is the hex digest of the UTF-8 text. ``source`` is the call, message or file that set
    it (``e03``, ``call_7``, ``task``).
    """

    key: str
    text: str
    sha256: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Compaction:
    """One attempt to compact a task's older messages. All sizes are tokens.

    ``compaction_id`` is unique to the session and stands in the window. ``thread_id`` is the task.
    ``raw_ref`` leads to the raw text: of the one stretch, or of a list of ``raw_refs`` with their
    steps. ``tokens_before`` is what the replaced messages took in the window, ``tokens_after`` what
    stands there now, ``tokens_raw`` what the same steps took before any trim; ``window_before`` and
    ``window_after`` are the whole window. ``event_from`` and ``event_to`` are sequence numbers.

    ``outcome`` is ``committed``; ``discarded`` when a check failed (``failed`` names each, and the
    view stayed as it was); ``replaced`` when another generation was refused and refs stand in the
    place of the summary. ``by`` is ``mechanical`` or ``model``; ``fallback`` says why a model's
    summary was not used. ``repaired`` are the ids of calls closed by a note because no result came,
    ``loaded`` the deferred tools that a search had loaded: their schemas stay in the window.
    """

    compaction_id: str
    thread_id: str
    step: int
    trigger: str
    outcome: str
    raw_ref: str
    summary: Mapping[str, Json]
    pinned_keys: tuple[str, ...]
    tokens_before: int
    tokens_after: int
    generation: int
    event_from: int
    event_to: int
    raw_refs: tuple[str, ...] = ()
    tokens_raw: int = 0
    window_before: int = 0
    window_after: int = 0
    messages: int = 0
    by: str = "mechanical"
    version: str = ""
    fallback: str = ""
    failed: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
    loaded: tuple[str, ...] = ()
    pins: tuple[PinKept, ...] = ()
    usage: Mapping[str, Json] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """``tokens_after / tokens_before``: above 0.6 a summary is wordy, below 0.1 it loses."""
        return self.tokens_after / self.tokens_before if self.tokens_before else 0.0

    def to_json(self) -> JsonObject:
        """All fields, pins with their hashes, as an audit shows them."""
        return {
            "compaction_id": self.compaction_id,
            "thread_id": self.thread_id,
            "step": self.step,
            "trigger": self.trigger,
            "outcome": self.outcome,
            "raw_ref": self.raw_ref,
            "raw_refs": list(self.raw_refs),
            "summary": dict(self.summary),
            "pinned_keys": list(self.pinned_keys),
            "pins": [
                {"key": pin.key, "text": pin.text, "sha256": pin.sha256, "source": pin.source}
                for pin in self.pins
            ],
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "tokens_raw": self.tokens_raw,
            "window_before": self.window_before,
            "window_after": self.window_after,
            "messages": self.messages,
            "generation": self.generation,
            "event_from": self.event_from,
            "event_to": self.event_to,
            "by": self.by,
            "version": self.version,
            "fallback": self.fallback,
            "failed": list(self.failed),
            "repaired": list(self.repaired),
            "loaded": list(self.loaded),
            "usage": dict(self.usage),
        }
