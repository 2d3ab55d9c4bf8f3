"""What is remembered of a conversation that has its answer: by rules, or proposed by a model.

What a model proposed is a fact in the record before anything of it is written, so that a run that
is continued in between pays for it once. A model that fails, answers what cannot be read even after
one repair, or may not be asked any more, leaves it to the rules.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from contextctl.core.count import Counter
from contextctl.core.memory.extract import rule_candidates
from contextctl.core.memory.proposed import (
    SYSTEM,
    candidates_from,
    messages_for,
    messages_to_repair,
    proposals_from_text,
    response_format,
    spoken,
)
from contextctl.core.summary.transcript import chunks
from contextctl.errors import ModelError
from contextctl.io.profile.shipped import schema
from contextctl.model.memory import Candidate
from contextctl.model.message import Json, JsonObject
from contextctl.model.profile import Profile
from contextctl.model.record import Noted, Record
from contextctl.model.reply import Request
from contextctl.run.meter import Meter
from contextctl.run.side_model import SideModel, Spent, open_side_model, slack_of
from contextctl.run.together import Stopped

if TYPE_CHECKING:
    from contextctl.run.live import Live

PROPOSED = "memories_proposed"
"""Topic of the note that holds what a model proposed, or why there is nothing."""

# What stands around a part.
FRAME_TOKENS = 60
LEAST_PART = 200


@dataclass(frozen=True)
class Extractor:
    """The model that proposes memories. Safe to use from many threads."""

    model: SideModel
    max_tokens: int
    counter: Counter
    meter: Meter = field(default_factory=Meter)
    stop: threading.Event = field(default_factory=threading.Event)

    def proposed(self, record: Record, task: str) -> Noted:
        """The note with the model's proposals from ``record``; ``fault`` says why there are none.

        Raises ``Stopped`` when the run is stopped meanwhile.
        """
        spent, found = Spent(), list[Json]()
        fault = ""
        try:
            for messages in self._requests(record):
                found += self._asked(messages, task, spent)
        except (ModelError, ValueError) as error:
            if self.stop.is_set():
                raise Stopped("the run was interrupted while it asked for memories") from error
            found, fault = [], str(error)
        body: dict[str, Json] = {"model": self.model.name, "candidates": found}
        return Noted(PROPOSED, {**body, "fault": fault, "usage": spent.to_json()})

    def _requests(self, record: Record) -> Iterable[tuple[JsonObject, ...]]:
        """One request for each part of the conversation that the window takes."""
        # A broken answer may have to be sent back with the question.
        room = int((self.model.window - 2 * self.max_tokens) / slack_of(self.counter))
        room -= self.counter.text(SYSTEM) + FRAME_TOKENS
        if room < LEAST_PART:
            raise ValueError(
                f"the window of '{self.model.name}' ({self.model.window} tokens) leaves no room "
                "beside its prompt and answer; see 'memory.extractor'"
            )
        parts = list(chunks(spoken(record), room, self.counter.text))
        for number, part in enumerate(parts, start=1):
            yield messages_for(part, number, len(parts))

    def _asked(self, messages: tuple[JsonObject, ...], task: str, spent: Spent) -> list[JsonObject]:
        """The proposals of one part. Raises ``ValueError`` for an answer that cannot be read."""
        text = self._complete(messages, task, spent)
        try:
            return proposals_from_text(text)
        except ValueError as error:
            if spent.repairs:
                raise
            spent.repairs += 1
            again = messages_to_repair(messages, text[: 3 * self.max_tokens], str(error))
        return proposals_from_text(self._complete(again, task, spent))

    def _complete(self, messages: tuple[JsonObject, ...], task: str, spent: Spent) -> str:
        self.meter.wait(self.stop)
        spent.requests += 1
        reply = self.model.ask(
            Request(
                messages=messages,
                task=f"{task} memories",
                params=response_format(schema("memories")),
                max_tokens=self.max_tokens,
                stream=False,
            )
        )
        self.meter.spend(reply.cost_usd)
        spent.take(reply)
        return reply.message.text


def open_extractor(
    profile: Profile,
    counter_of: Callable[[str], Counter],
    meter: Meter,
    stop: threading.Event,
) -> Extractor | None:
    """The model that proposes memories; None where memory is off or its candidates are by rules."""
    memory = profile.memory
    if not memory.enabled or memory.extract != "model":
        return None
    rule = memory.extractor
    model = open_side_model(
        profile,
        stop,
        name=rule.model,
        window=rule.window,
        max_tokens=rule.max_tokens,
        api_base=rule.api_base,
    )
    return Extractor(model, rule.max_tokens, counter_of(model.name), meter, stop)


def found_candidates(live: Live, subject: str) -> tuple[str, list[Candidate]]:
    """Who found what may be remembered of ``subject``: ``rules`` or ``model``, and the candidates.

    What a model proposes becomes a fact of the task.
    """
    extract, extractor = live.profile.memory.extract, live.setting.extractor
    if extract == "off":
        return extract, []
    record = live.record()
    if extract == "model" and extractor is not None:
        note = _earlier(record)
        if note is None and not live.setting.meter.exhausted:
            note = extractor.proposed(record, live.task.id)
            live.facts(note)
        fault = "the money is spent" if note is None else note.body.get("fault")
        if note is not None and not fault:
            listed = note.body.get("candidates")
            proposals = listed if isinstance(listed, list) else []
            whole = [one for one in proposals if isinstance(one, dict)]
            return "model", list(candidates_from(whole, record, subject))
        live.warnings.append(f"memories are found by rules, not by a model: {fault}")
    return "rules", list(rule_candidates(record, subject))


def _earlier(record: Record) -> Noted | None:
    """What was proposed before the run was cut off."""
    notes = (e for e in reversed(record) if isinstance(e, Noted) and e.topic == PROPOSED)
    return next(notes, None)
