"""Asking a model for the summary that a compaction needs.

The summariser has its own model and window. What it reads is cut into chunks that it can take with
room for its answer, so that it can never overflow; the summaries of the chunks are merged. An
answer that is no summary is sent back once, with what is wrong with it; after that, or when the
model fails, there is no summary and the mechanical one stands.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from contextctl.core.count import Counter, json_text
from contextctl.core.summary.prompt import (
    SYSTEM,
    bounded,
    messages_for,
    messages_to_merge,
    messages_to_repair,
    response_format,
)
from contextctl.core.summary.transcript import chunks, grouped, transcript
from contextctl.errors import ModelError
from contextctl.io.profile.shipped import schema
from contextctl.model.assembly import Need
from contextctl.model.history_summary import Summary, merged, summary_from_text
from contextctl.model.message import JsonObject
from contextctl.model.profile import Profile
from contextctl.model.record import Record, SummaryMade
from contextctl.model.reply import Request
from contextctl.run.meter import Meter
from contextctl.run.side_model import Ask, Spent, open_side_model, slack_of
from contextctl.run.together import Stopped

# Prompt, labels and the words around a chunk.
FRAME_TOKENS = 150
LEAST_CHUNK = 200
# A provider that calls a request too large is asked again with chunks of half the size, so often.
HALVINGS = 2


class NoSummaryError(Exception):
    """There is no usable summary; the message says why."""


@dataclass(frozen=True)
class Summariser:
    """The summarising model of a profile. Safe to use from many threads.

    ``window`` and ``max_tokens`` (of an answer) are the model's own tokens, ``chunk_tokens`` too.
    """

    model: str
    window: int
    max_tokens: int
    chunk_tokens: int
    counter: Counter
    ask: Ask
    meter: Meter = field(default_factory=Meter)
    stop: threading.Event = field(default_factory=threading.Event)

    def answer(self, need: Need, record: Record, task: str = "") -> SummaryMade:
        """The answer to a summary need, made from the events of ``record`` that it names.

        Raises ``Stopped`` when the run is stopped meanwhile.
        """
        spent = Spent()
        through = _number(need.body, "event_to")
        made = SummaryMade(
            need.id, through, {}, generation=max(_number(need.body, "generation"), 1)
        )
        try:
            summary = self._summary(need.body, record, task, spent)
        except NoSummaryError as error:
            return replace(made, fault=str(error), usage=spent.to_json())
        return replace(made, body=summary.to_json(), by="model", usage=spent.to_json())

    def _summary(self, body: JsonObject, record: Record, task: str, spent: Spent) -> Summary:
        first, last = _number(body, "event_from"), _number(body, "event_to")
        texts = list(transcript(record[max(first - 1, 0) : last]))
        previous, pinned = _texts(body, "previous"), _texts(body, "pinned_keys")
        size = self._chunk_size(previous)
        for _ in range(HALVINGS + 1):
            try:
                return self._from_chunks(texts, size, previous, pinned, task, spent)
            except ModelError as error:
                if self.stop.is_set():
                    raise Stopped("the run was interrupted while it asked for a summary") from error
                if not error.overflow or size // 2 < LEAST_CHUNK:
                    raise NoSummaryError(str(error)) from error
                size //= 2
        raise NoSummaryError(f"model '{self.model}' found every chunk too large")

    def _from_chunks(
        self,
        texts: Sequence[str],
        size: int,
        previous: Sequence[str],
        pinned: Sequence[str],
        task: str,
        spent: Spent,
    ) -> Summary:
        parts = list(chunks(texts, size, self.counter.text))
        made = []
        for number, part in enumerate(parts, start=1):
            before = previous if number == 1 else ()
            asked = messages_for(
                part,
                number=number,
                count=len(parts),
                previous=before,
                pinned=pinned,
                words=self._words,
            )
            made.append(self._asked(asked, task, spent))
        if not made:
            raise NoSummaryError("there is nothing to summarise")
        while len(made) > 1:
            told = [json_text(one.to_json()) for one in made]
            groups = grouped(told, size, self.counter.text)
            if len(groups) == len(made):
                return merged(made)  # no two of them can be read together
            made = [
                self._asked(messages_to_merge(group, pinned, self._words), task, spent)
                if len(group) > 1
                else summary_from_text(group[0])
                for group in groups
            ]
        return made[0]

    def _asked(self, messages: tuple[JsonObject, ...], task: str, spent: Spent) -> Summary:
        """One summary; its model is told once in a whole answer what was wrong with it."""
        text, was_cut = self._complete(messages, task, spent)
        try:
            return summary_from_text(text)
        except ValueError as error:
            what = f"it was cut after {self.max_tokens} tokens" if was_cut else str(error)
            if spent.repairs:
                raise NoSummaryError(what) from error
            spent.repairs += 1
            spent.is_bounded = was_cut
            again = messages_to_repair(messages, text[: 3 * self.max_tokens], what)
        text, was_cut = self._complete(again, task, spent)
        try:
            return summary_from_text(text)
        except ValueError as error:
            raise NoSummaryError("it was cut twice" if was_cut else str(error)) from error

    @property
    def _words(self) -> int:
        """What a model is told that it may write: in most languages a word is under two tokens."""
        return max(self.max_tokens // 2, 20)

    def _complete(
        self, messages: tuple[JsonObject, ...], task: str, spent: Spent
    ) -> tuple[str, bool]:
        """The text of an answer, and whether it was cut at ``max_tokens``."""
        self.meter.wait(self.stop)
        spent.requests += 1
        form = schema("summary")
        if spent.is_bounded:
            form = bounded(form, self.max_tokens)
        reply = self.ask(
            Request(
                messages=messages,
                task=f"{task} summary",
                params=response_format(form),
                max_tokens=self.max_tokens,
                stream=False,
            )
        )
        self.meter.spend(reply.cost_usd)
        spent.take(reply)
        return reply.message.text, reply.finish_reason == "length"

    def _chunk_size(self, previous: Sequence[str]) -> int:
        """Tokens of ours that one chunk may have: what the window leaves beside prompt, answer,
        a broken answer that is sent back, and the summaries before."""
        taken = FRAME_TOKENS + self.counter.text(SYSTEM) + self.counter.text("\n".join(previous))
        slack = slack_of(self.counter)
        room = int((self.window - 2 * self.max_tokens) / slack) - taken
        if room < LEAST_CHUNK:
            raise NoSummaryError(
                f"the window of summariser '{self.model}' ({self.window} tokens) leaves no room "
                "beside its prompt and answer; see 'compaction.summarizer'"
            )
        return min(int(self.chunk_tokens / slack), room)


def open_summariser(
    profile: Profile,
    counter_of: Callable[[str], Counter],
    meter: Meter,
    stop: threading.Event,
) -> Summariser | None:
    """The summariser of ``profile``; None when its summaries are mechanical."""
    rule = profile.compaction.summarizer
    if rule.kind != "model" or not profile.remedies.compact:
        return None
    model = open_side_model(
        profile,
        stop,
        name=rule.model,
        window=rule.window,
        max_tokens=rule.max_tokens,
        api_base=rule.api_base,
    )
    return Summariser(
        model=model.name,
        window=model.window,
        max_tokens=rule.max_tokens,
        chunk_tokens=rule.chunk_tokens,
        counter=counter_of(model.name),
        ask=model.ask,
        meter=meter,
        stop=stop,
    )


def _number(body: JsonObject, key: str) -> int:
    value = body.get(key)
    return value if isinstance(value, int) else 0


def _texts(body: JsonObject, key: str) -> list[str]:
    value = body.get(key)
    return [str(item) for item in value] if isinstance(value, list) else []
