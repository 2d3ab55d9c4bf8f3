"""Verify: a recorded run assembled again from its own facts, every difference named.

No model is asked and no tool is called: the record holds every reply and every result. Under the
run's own profile each step must give the digest that was recorded; under another profile each
step's window is compared with the one the run's own profile gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from contextctl.core.assemble import Fold
from contextctl.core.count import json_text
from contextctl.errors import RecordError
from contextctl.io.model_windows import resolve_window
from contextctl.io.profile_saved import restore_profile
from contextctl.io.records import read_record
from contextctl.io.run_folder import RunFolder, TaskFolder
from contextctl.io.vocab import counter_for
from contextctl.model.assembly import Assembly
from contextctl.model.message import Json, JsonObject
from contextctl.model.profile import Profile
from contextctl.model.record import MessageAdded, Opened, Record, StepTaken
from contextctl.run.variants import for_model

_SHOWN = 60  # characters of a text that differs


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where a run does not come out as it was recorded.

    ``where`` is ``layer:<id>``, ``tools``, ``message:<index>``, ``record`` (a fact is missing) or
    ``digest`` (the window differs and was not kept). ``recorded`` and ``now`` are the first text
    that differs; ``tokens`` is how many more tokens the window, or the layer, has now.
    """

    task: str
    step: int
    where: str
    message: str
    recorded: str = ""
    now: str = ""
    tokens: int = 0

    def __str__(self) -> str:
        shown = f": {self.recorded!r} -> {self.now!r}" if self.recorded or self.now else ""
        tokens = f" ({self.tokens:+,} tokens)" if self.tokens else ""
        return f"{self.task} step {self.step}: {self.where}: {self.message}{tokens}{shown}"

    def to_json(self) -> JsonObject:
        """The difference as a JSON object."""
        return {
            "task": self.task,
            "step": self.step,
            "where": self.where,
            "message": self.message,
            "recorded": self.recorded,
            "now": self.now,
            "tokens": self.tokens,
        }

    @property
    def is_missing(self) -> bool:
        """Whether the record lacks a fact, so that nothing after it can be verified."""
        return self.where == "record"


def verify_run(folder: RunFolder, profile: Profile | None = None) -> list[Difference]:
    """Every difference of a run, task by task in the order of their names; none is the good case.

    Under ``profile`` instead of the run's own, the differences are those that the edit makes.
    Raises ``RecordError`` when ``run.json`` or a record cannot be read.
    """
    about = folder.read_run_json()
    own = _saved_profile(folder, about.get("profile"))
    is_whole = about.get("profile_digest") == own.digest
    other = None if profile is None else resolve_window(profile)
    results = {str(value.get("id")): value for value in folder.read_results().values}
    out: list[Difference] = []
    for task in folder.tasks():
        record, _ = read_record(task.record)
        if record:
            checks = _Task(task, record, own, other, results, is_whole=is_whole)
            out += _told_once(checks.differences())
    return out


def _told_once(differences: Iterable[Difference]) -> Iterator[Difference]:
    """What differs stays in the window: it is a difference of the first step that has it."""
    told: set[tuple[str, str, str, str]] = set()
    for one in differences:
        what = (one.where, one.message, one.recorded, one.now)
        if what not in told:
            told.add(what)
            yield one


def _saved_profile(folder: RunFolder, saved: Json) -> Profile:
    if not isinstance(saved, dict):
        raise RecordError(f"'{folder.run_json}' holds no profile to verify under")
    try:
        return restore_profile(saved)
    except ValueError as error:
        raise RecordError(
            f"'{folder.run_json}': the profile in it cannot be read by this version: {error}"
        ) from None


class _Task:
    """One task's record, and the files beside it that say what its steps were."""

    def __init__(
        self,
        folder: TaskFolder,
        record: Record,
        own: Profile,
        other: Profile | None,
        results: Mapping[str, JsonObject],
        *,
        is_whole: bool,
    ) -> None:
        first = record[0]
        self.name = first.task if isinstance(first, Opened) else folder.name
        self._record, self._own, self._other = record, own, other
        self._is_whole = is_whole
        self._windows = {_step(line): line for line in folder.read_windows().values}
        self._ledger = {_step(line): line for line in folder.read_ledger().values}
        self._result = results.get(self.name)

    def differences(self) -> Iterator[Difference]:
        """Step by step; a fact that is missing ends it, since nothing after it can be verified."""
        seen = 0
        edited = None if self._other is None else _steps(self._other, self._record)
        for step, assembly in _steps(self._own, self._record):
            missing = self._missing(step, assembly, seen)
            if missing:
                yield self._no_record(missing, seen)
                return
            seen = step.step
            if edited is not None:
                _, now = next(edited)
                yield from _compared(self.name, assembly, now)
            elif step.digest != assembly.ledger.digest and self._is_comparable(step):
                line, window = self._ledger.get(seen), self._windows.get(seen)
                yield from _against_files(self.name, assembly, line, window)
        yield from self._cut_short(seen)

    def _missing(self, step: StepTaken, assembly: Assembly, seen: int) -> int:
        """The first step that should stand before ``step`` and does not; 0 when none is missing."""
        if step.step != assembly.ledger.step:
            return assembly.ledger.step
        begun = seen or min([step.step, *self._ledger]) - 1
        return begun + 1 if step.step > begun + 1 else 0

    def _is_comparable(self, step: StepTaken) -> bool:
        """A step of a run that was continued under another profile has nothing to compare with."""
        mine = for_model(self._own, step.model).digest
        return step.profile in ("", mine) or not self._is_whole

    def _cut_short(self, last: int) -> Iterator[Difference]:
        """A record that ends before the steps that its ledger or its result tells of."""
        if max([0, *self._ledger]) > last:
            yield self._no_record(last + 1, last)
            return
        result = self._result
        if result is None or result.get("status") != "ok" or not result.get("answer"):
            return
        turns = [e.message for e in self._record if isinstance(e, MessageAdded)]
        answers = [message.text for message in turns if message.role == "assistant"]
        if not answers or answers[-1] != result["answer"]:
            text = f"the reply of step {last} is missing, or is not the answer that was given"
            yield Difference(self.name, last, "record", text)

    def _no_record(self, step: int, nearest: int) -> Difference:
        near = f"nearest recorded: step {nearest}" if nearest else "none is recorded before it"
        text = f"the record of step {step} is missing; {near}"
        return Difference(self.name, step, "record", text)


def _steps(profile: Profile, record: Record) -> Iterator[tuple[StepTaken, Assembly]]:
    """Each recorded step with the window it has under ``profile``, or under its fallback."""
    current = profile
    fold = _fold(current)
    for place, event in enumerate(record):
        if isinstance(event, StepTaken):
            wanted = for_model(profile, event.model)
            if wanted.model.name != current.model.name:
                current, fold = wanted, _fold(wanted)
                for past in record[:place]:
                    fold.advance(past)
            yield event, fold.assemble()
        fold.advance(event)


def _fold(profile: Profile) -> Fold:
    return Fold(profile, counter_for(profile.tokenizer, profile.model.name))


def _compared(task: str, before: Assembly, now: Assembly) -> Iterator[Difference]:
    """The first difference between two windows of one step, layers told by their names."""
    step, more = now.ledger.step, now.ledger.total - before.ledger.total
    if before.ledger.status != now.ledger.status:
        change = f"{before.ledger.status} -> {now.ledger.status}"
        yield Difference(task, step, "digest", f"the step's status differs: {change}", tokens=more)
        return
    layers = list(_layers(task, before, now))
    yield from layers
    if list(before.tools) != list(now.tools):
        old, new = _first_difference(json_text(list(before.tools)), json_text(list(now.tools)))
        yield Difference(task, step, "tools", "the tool schemas differ", old, new, more)
        return
    start = 1 if layers else 0
    yield from _messages(task, step, list(before.messages), list(now.messages), more, start)


def _layers(task: str, before: Assembly, now: Assembly) -> Iterator[Difference]:
    """Layers that are new, gone or changed; the text is the first that differs in the message."""
    old = {layer.id: layer for layer in before.ledger.prefix.layers}
    new = {layer.id: layer for layer in now.ledger.prefix.layers}
    texts = (_system(before), _system(now))
    for name in [*new, *(name for name in old if name not in new)]:
        was, is_ = old.get(name), new.get(name)
        if was is not None and is_ is not None and was.digest == is_.digest:
            continue
        message = "the layer is new" if was is None else "the layer is gone"
        if was is not None and is_ is not None:
            message = "the layer's text differs"
        more = (0 if is_ is None else is_.tokens) - (0 if was is None else was.tokens)
        recorded, changed = _first_difference(*texts)
        yield Difference(task, now.ledger.step, f"layer:{name}", message, recorded, changed, more)


def _system(assembly: Assembly) -> str:
    first = assembly.messages[0] if assembly.messages else {}
    return str(first.get("content") or "") if first.get("role") == "system" else ""


def _messages(
    task: str,
    step: int,
    before: Sequence[JsonObject],
    now: Sequence[JsonObject],
    more: int,
    start: int = 0,
) -> Iterator[Difference]:
    for index in range(start, max(len(before), len(now))):
        old = before[index] if index < len(before) else None
        new = now[index] if index < len(now) else None
        if old != new:
            recorded, changed = _first_difference(_said(old), _said(new))
            role = str((new or old or {}).get("role"))
            message = f"the {role} message differs"
            if old is None or new is None:
                message = f"a {role} message is {'new' if old is None else 'gone'}"
            yield Difference(task, step, f"message:{index}", message, recorded, changed, more)
            return


def _against_files(
    task: str, now: Assembly, line: JsonObject | None, window: JsonObject | None
) -> Iterator[Difference]:
    """The window differs from the recorded digest: what the files beside the record say of it."""
    step = now.ledger.step
    recorded_total = line.get("total") if line else None
    more = now.ledger.total - recorded_total if isinstance(recorded_total, int) else 0
    found = False
    for name, was, digest in _recorded_layers(line, now):
        found = True
        text = f"the layer's digest differs: {was} -> {digest}"
        yield Difference(task, step, f"layer:{name}", text)
    messages, tools = (window or {}).get("messages"), (window or {}).get("tools")
    if isinstance(messages, list) and isinstance(tools, list):
        if tools != list(now.tools):
            old, new = _first_difference(json_text(tools), json_text(list(now.tools)))
            yield Difference(task, step, "tools", "the tool schemas differ", old, new, more)
            return
        kept = [message for message in messages if isinstance(message, dict)]
        differences = list(_messages(task, step, kept, list(now.messages), more))
        yield from differences
        found = found or bool(differences)
    if not found:
        hint = "" if window else "; runs with --windows show which text"
        text = f"the window is not the recorded one{hint}"
        yield Difference(task, step, "digest", text, tokens=more)


def _recorded_layers(line: JsonObject | None, now: Assembly) -> Iterator[tuple[str, str, str]]:
    prefix = (line or {}).get("prefix")
    layers = prefix.get("layers") if isinstance(prefix, dict) else None
    current = {layer.id: layer.digest for layer in now.ledger.prefix.layers}
    for layer in layers if isinstance(layers, list) else []:
        if isinstance(layer, dict):
            name, digest = str(layer.get("id")), str(layer.get("digest"))
            if current.get(name) != digest:
                yield name, digest, current.get(name, "gone")


def _first_difference(before: str, now: str) -> tuple[str, str]:
    """Both texts from a little before the first character that differs."""
    same = 0
    for old, new in zip(before, now, strict=False):
        if old != new:
            break
        same += 1
    start = max(0, same - 20)
    return before[start : start + _SHOWN], now[start : start + _SHOWN]


def _said(message: JsonObject | None) -> str:
    if message is None:
        return ""
    content: Json = message.get("content")
    return content if isinstance(content, str) else json_text(message)


def _step(line: JsonObject) -> int:
    step = line.get("step")
    return step if isinstance(step, int) else 0
