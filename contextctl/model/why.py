"""The answer to "it forgot what I said": was it said, and where did it go."""

from __future__ import annotations

from dataclasses import dataclass

from contextctl.model.message import JsonObject

VERDICTS = ("never_said", "in_window", "dropped_by_summary", "not_pinned")


@dataclass(frozen=True, slots=True)
class Said:
    """A place of the record that holds the text. ``event`` and ``turn`` count from 1; ``by`` is
    ``user``, ``assistant``, ``system``, ``task``, ``pin KEY`` or ``tool NAME``."""

    event: int
    turn: int
    by: str
    excerpt: str

    def to_json(self) -> JsonObject:
        """The place as a JSON object."""
        return {"event": self.event, "turn": self.turn, "by": self.by, "excerpt": self.excerpt}


@dataclass(frozen=True, slots=True)
class Covered:
    """A committed compaction that took a place where the text was said, and whether its summary
    and its pins had the text."""

    compaction_id: str
    generation: int
    event_from: int
    event_to: int
    raw_ref: str
    in_summary: bool
    in_pins: bool
    pinned_keys: tuple[str, ...]

    def to_json(self) -> JsonObject:
        """The compaction as a JSON object."""
        return {
            "compaction_id": self.compaction_id,
            "generation": self.generation,
            "event_from": self.event_from,
            "event_to": self.event_to,
            "raw_ref": self.raw_ref,
            "in_summary": self.in_summary,
            "in_pins": self.in_pins,
            "pinned_keys": list(self.pinned_keys),
        }


@dataclass(frozen=True, slots=True)
class Why:
    """What became of a text in one task.

    ``verdict`` is ``never_said``, ``in_window`` (the model had it at the step asked about),
    ``dropped_by_summary`` (the compaction ``by`` took it and its summary does not have it) or
    ``not_pinned`` (it left by another remedy, or no pin holds it; ``by`` names what took it).
    ``step`` is the step asked about; ``last_step`` the last one up to it whose window had the text
    (0: none). ``refs`` lead to it now; ``closest`` is what was said instead, when nothing matches.
    """

    text: str
    task: str
    verdict: str
    step: int
    last_step: int = 0
    by: str = ""
    pin: str = ""
    said: tuple[Said, ...] = ()
    covered: tuple[Covered, ...] = ()
    refs: tuple[str, ...] = ()
    closest: tuple[Said, ...] = ()

    def to_json(self) -> JsonObject:
        """The answer as a JSON object."""
        return {
            "text": self.text,
            "task": self.task,
            "verdict": self.verdict,
            "step": self.step,
            "last_step": self.last_step,
            "by": self.by,
            "pin": self.pin,
            "said": [one.to_json() for one in self.said],
            "covered": [one.to_json() for one in self.covered],
            "refs": list(self.refs),
            "closest": [one.to_json() for one in self.closest],
        }
