"""Session logs of Claude Code: one JSON entry a line.

One API reply is spread over several lines with the same message id; they are one turn. Sidechains
(subagents) are traces of their own. What a compaction replaced stays; its summary is a note.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextctl.io.traces.blocks import add_anthropic
from contextctl.io.traces.draft import Draft, as_list, as_object, as_text
from contextctl.io.traces.usage import usage_fact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contextctl.io.traces.source import Source
    from contextctl.model.message import Json, JsonObject
    from contextctl.model.trace import Trace

NAME = "claude-code"
_NOTES = {"summary": "summary", "system": "system", "queue-operation": "queue"}
_QUIET = ("file-history-snapshot", "progress", "attachment", "last-prompt", "custom-title")


def recognises(source: Source) -> bool:
    """Whether the lines carry a session id and the uuid chain of Claude Code."""
    return any(
        isinstance(value, dict)
        and value.get("type") in ("user", "assistant", "system")
        and "sessionId" in value
        and "uuid" in value
        for value in source.head
    )


def read(source: Source) -> Iterator[Trace]:
    """The main conversation first, then one trace for every sidechain."""
    chains = _Chains(source.name)
    for line, value in source.values():
        entry = as_object(value)
        kind = as_text(entry.get("type"))
        if kind in ("user", "assistant"):
            chains.add(entry, source, line)
        elif kind in _NOTES:
            topic = "compaction" if "compact" in as_text(entry.get("subtype")) else _NOTES[kind]
            chains.main.note(topic, _facts(entry))
        elif kind not in _QUIET:
            source.warn(line, f"skipped: {_what(value)} is no entry of a session")
    for draft in chains.all():
        yield draft.trace()


class _Chains:
    """The main conversation and its sidechains, with the reply that is still being collected."""

    def __init__(self, name: str) -> None:
        self.main = Draft(name, NAME)
        self._sides: dict[str, Draft] = {}
        self._roots: dict[str, str] = {}
        self._seen: set[str] = set()
        self._replies: dict[int, list[JsonObject]] = {}

    def add(self, entry: JsonObject, source: Source, line: int) -> None:
        message, uuid = as_object(entry.get("message")), as_text(entry.get("uuid"))
        content = message.get("content")
        if not isinstance(content, (str, list)):
            source.warn(line, f"skipped: a '{entry['type']}' entry without message content")
            return
        if uuid and uuid in self._seen:
            return  # a resumed session repeats the lines of the one before
        self._seen.add(uuid)
        draft = self._draft(entry)
        if entry["type"] == "assistant":
            self._collect(draft, message)
            return
        self._flush(draft)
        if entry.get("isCompactSummary") is True:
            draft.note("compaction", {"summary": content})
            return
        add_anthropic(draft, {"role": "user", "content": content})

    def all(self) -> list[Draft]:
        drafts = [self.main, *self._sides.values()]
        for draft in drafts:
            self._flush(draft)
        return drafts

    def _draft(self, entry: JsonObject) -> Draft:
        if entry.get("isSidechain") is not True:
            return self.main
        uuid, parent = as_text(entry.get("uuid")), as_text(entry.get("parentUuid"))
        root = as_text(entry.get("agentId")) or self._roots.get(parent) or uuid
        self._roots[uuid] = root
        name = f"{self.main.id}-sidechain-{len(self._sides) + 1}"
        return self._sides.setdefault(root, Draft(name, NAME))

    def _collect(self, draft: Draft, message: JsonObject) -> None:
        """Lines with one message id are one reply: a block a line."""
        reply = self._replies.setdefault(id(draft), [])
        if reply and (not message.get("id") or reply[-1].get("id") != message.get("id")):
            self._flush(draft)
            reply = self._replies.setdefault(id(draft), [])
        reply.append(message)

    def _flush(self, draft: Draft) -> None:
        reply = self._replies.pop(id(draft), [])
        if not reply:
            return
        blocks: list[Json] = []
        for message in reply:
            content = message.get("content")
            blocks += [content] if isinstance(content, str) else as_list(content)
        add_anthropic(draft, {"role": "assistant", "content": blocks})
        draft.use(usage_fact(reply[-1].get("usage"), reply[-1].get("model")))


def _facts(entry: JsonObject) -> JsonObject:
    keys = ("summary", "subtype", "content", "level", "compactMetadata", "leafUuid", "operation")
    return {key: entry[key] for key in keys if key in entry}


def _what(value: Json) -> str:
    if isinstance(value, dict):
        kind = value.get("type")
        return f"type {kind!r}" if kind else f"an object with {', '.join(list(value)[:4])}"
    return f"a bare {type(value).__name__}"
