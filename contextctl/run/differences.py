"""Differences between two windows of one step, each with a name: a layer, the tools, a message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from contextctl.core.count import json_text
from contextctl.model.assembly import Assembly
from contextctl.model.message import Json, JsonObject

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


def compare_windows(task: str, before: Assembly, now: Assembly) -> Iterator[Difference]:
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


def compare_with_files(
    task: str,
    now: Assembly,
    line: JsonObject | None,
    window: JsonObject | None,
    shown: JsonObject,
) -> Iterator[Difference]:
    """The window differs from the recorded digest: what the files beside the record say of it.

    ``window`` is the line that was kept, ``shown`` the one that would be kept now.
    """
    step = now.ledger.step
    recorded_total = line.get("total") if line else None
    more = now.ledger.total - recorded_total if isinstance(recorded_total, int) else 0
    found = False
    for name, was, digest in _recorded_layers(line, now):
        found = True
        text = f"the layer's digest differs: {was} -> {digest}"
        yield Difference(task, step, f"layer:{name}", text)
    if window is not None:
        if window.get("tools") != shown["tools"]:
            old, new = _first_difference(json_text(window.get("tools")), json_text(shown["tools"]))
            yield Difference(task, step, "tools", "the tool schemas differ", old, new, more)
            return
        differences = list(_messages(task, step, _dicts(window), _dicts(shown), more))
        yield from differences
        found = found or bool(differences)
    if not found:
        hint = "" if window else "; runs with --windows show which text"
        text = f"the window is not the recorded one{hint}"
        yield Difference(task, step, "digest", text, tokens=more)


def _dicts(window: JsonObject) -> list[JsonObject]:
    messages = window.get("messages")
    listed = messages if isinstance(messages, list) else []
    return [message for message in listed if isinstance(message, dict)]


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
