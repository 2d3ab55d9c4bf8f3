"""A profile: everything a context window is governed by, resolved, and where each value was set."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING

from contextctl.model.from_mapping import from_mapping, to_mapping
from contextctl.model.profile_parts import (
    PINS,
    READER_TOOLS,
    STABILITIES,
    Budget,
    Compaction,
    CompactWhen,
    Digest,
    Disclosure,
    Fallback,
    History,
    IndexRule,
    Knowledge,
    Limits,
    MemoryRule,
    ModelRule,
    Pause,
    Plan,
    PrefixLayer,
    Recall,
    Reduce,
    Remedies,
    Retrieval,
    Stores,
    Subagent,
    Summarizer,
    WorkspaceRule,
    ZoneInts,
    Zones,
)
from contextctl.model.tool_rules import (
    Defer,
    HttpCall,
    McpServer,
    Page,
    ResultRule,
    Shaping,
    TextCut,
    ToolRule,
    ZoneModes,
)

if TYPE_CHECKING:
    from contextctl.model.message import Json, JsonObject

__all__ = [
    "PINS",
    "READER_TOOLS",
    "SECTIONS",
    "STABILITIES",
    "Budget",
    "CompactWhen",
    "Compaction",
    "Defer",
    "Digest",
    "Disclosure",
    "Fallback",
    "History",
    "HttpCall",
    "IndexRule",
    "Knowledge",
    "Limits",
    "McpServer",
    "MemoryRule",
    "ModelRule",
    "Origin",
    "Page",
    "Pause",
    "Plan",
    "PrefixLayer",
    "Profile",
    "Recall",
    "Reduce",
    "Remedies",
    "ResultRule",
    "Retrieval",
    "Shaping",
    "Stores",
    "Subagent",
    "Summarizer",
    "TextCut",
    "ToolRule",
    "WorkspaceRule",
    "ZoneInts",
    "ZoneModes",
    "Zones",
    "command_fault",
    "edited",
    "pointer_parts",
    "pointer_to",
    "profile_from_mapping",
    "put_at",
    "value_at",
]

INDEX_STABILITY = {"skills": "profile", "memory": "turn"}


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value was set. ``pointer`` is a JSON pointer into the profile.

    ``line`` counts from 1; it is 0 when ``path`` is not a file (``--set model.window``).
    """

    pointer: str
    path: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


@dataclass(frozen=True, slots=True)
class Profile:
    """A resolved profile. Each field up to ``remedies`` is the section of that name.

    ``raw_texts`` keeps, by JSON pointer, what was written where the effective value came from
    outside the files: ``${VAR}`` texts and paths relative to their file. ``secrets`` are the values
    taken from the environment, by variable name; neither they nor the effective values they went
    into are ever written out. ``digest`` covers the whole profile, defaults included, in its
    written form (``sha256:`` and 64 hex digits).
    """

    version: int
    model: ModelRule
    name: str = ""
    tokenizer: str = "auto"
    budget: Budget = field(default_factory=Budget)
    prefix: tuple[PrefixLayer, ...] = ()
    tools: Mapping[str, ToolRule] = field(default_factory=dict)
    shaping: Shaping = field(default_factory=Shaping)
    mcp: Mapping[str, McpServer] = field(default_factory=dict)
    defer: Defer = field(default_factory=Defer)
    disclosure: Disclosure = field(default_factory=Disclosure)
    history: History = field(default_factory=History)
    retrieval: Retrieval = field(default_factory=Retrieval)
    pins: tuple[str, ...] = PINS
    compaction: Compaction = field(default_factory=Compaction)
    workspace: WorkspaceRule = field(default_factory=WorkspaceRule)
    stores: Stores = field(default_factory=Stores)
    memory: MemoryRule = field(default_factory=MemoryRule)
    plan: Plan = field(default_factory=Plan)
    reminders: Mapping[str, str] = field(default_factory=dict)
    subagents: Mapping[str, Subagent] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    remedies: Remedies = field(default_factory=Remedies)
    path: str = field(default="", compare=False)
    origins: Mapping[str, Origin] = field(default_factory=dict, repr=False, compare=False)
    raw_texts: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    digest: str = field(default="", init=False, compare=False)

    def __post_init__(self) -> None:
        """Compute the digest, so that ``dataclasses.replace`` can never leave an old one."""
        text = json.dumps(self.to_json(), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        digest = "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        object.__setattr__(self, "digest", digest)

    def to_json(self) -> JsonObject:
        """The whole profile, defaults included, in its written form."""
        out: JsonObject = {name: to_mapping(getattr(self, name)) for name in SECTIONS}
        for pointer, raw in self.raw_texts.items():
            put_at(out, pointer, raw)
        return out

    def origin_of(self, pointer: str) -> Origin | None:
        """Where the value at ``pointer`` was set, else its nearest declared parent, else None."""
        while pointer:
            found = self.origins.get(pointer)
            if found is not None:
                return found
            pointer = pointer.rpartition("/")[0]
        return None

    def origin(self, pointer: str) -> str:
        """``profiles/coder.yaml:24`` for a declared value, ``""`` for a default."""
        found = self.origin_of(pointer)
        return "" if found is None else str(found)

    def result_rule(self, tool: str) -> ResultRule:
        """The declared rule for results of ``tool``, or the empty one."""
        rule = self.tools.get(tool)
        return ResultRule() if rule is None else rule.result

    def max_tokens_for(self, tool: str) -> int:
        """The hard cap in tokens of one result of ``tool``."""
        own = self.result_rule(tool).max_tokens
        return self.shaping.max_tokens if own is None else own

    def text_cut_for(self, tool: str) -> TextCut:
        """How a long text of ``tool`` is cut in the middle."""
        return self.result_rule(tool).text or self.shaping.text


SECTIONS: tuple[str, ...] = tuple(f.name for f in fields(Profile) if f.compare)


def profile_from_mapping(
    mapping: Mapping[str, Json],
    origins: Mapping[str, Origin] | None = None,
    *,
    path: str = "",
    raw_texts: Mapping[str, str] | None = None,
    secrets: Mapping[str, str] | None = None,
) -> Profile:
    """Build a profile from resolved plain data, without touching the disk.

    ``mapping`` has the keys of a profile file, less ``extends``; or is ``Profile.to_json()``.
    Raises ``ValueError`` that names a key which is unknown, missing or of another shape.
    """
    prepared = {key: _prepared(key, value) for key, value in mapping.items() if value is not None}
    foreign = [key for key in mapping if key not in SECTIONS]
    if foreign:
        raise ValueError(f"unknown key '{foreign[0]}'")
    return replace(
        from_mapping(Profile, prepared),
        path=path,
        origins=origins or {},
        raw_texts=raw_texts or {},
        secrets=secrets or {},
    )


def edited(profile: Profile, pointer: str, value: Json) -> Profile:
    """``profile`` with one value changed, for what-if. A value with that pointer must exist.

    Raises ``ValueError`` when there is none or ``value`` has another shape.
    """
    tree: JsonObject = {name: to_mapping(getattr(profile, name)) for name in SECTIONS}
    if not put_at(tree, pointer, value):
        raise ValueError(f"nothing stands at '{pointer}'")
    above = pointer + "/"
    kept = {
        place: raw
        for place, raw in profile.raw_texts.items()
        if place != pointer and not place.startswith(above)
    }
    return profile_from_mapping(
        tree, profile.origins, path=profile.path, raw_texts=kept, secrets=profile.secrets
    )


def _prepared(key: str, value: Json) -> Json:
    """Short spellings written out: a command as one string, a fallback by name, ``auto``."""
    if key == "model" and isinstance(value, dict):
        out = dict(value)
        if out.get("window") == "auto":
            del out["window"]
        fallbacks = out.get("fallbacks")
        if isinstance(fallbacks, list):
            out["fallbacks"] = [{"name": f} if isinstance(f, str) else f for f in fallbacks]
        return out
    if key in ("tools", "mcp") and isinstance(value, dict):
        return {name: _split_command(rule) for name, rule in value.items()}
    if key == "prefix" and isinstance(value, list):
        return [_with_stability(layer) for layer in value]
    return value


def command_fault(command: str) -> str:
    """Why a command written as one string cannot be split into words; empty when it can."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        return str(error)
    return "" if words else "names no program"


def _split_command(rule: Json) -> Json:
    if isinstance(rule, dict) and isinstance(rule.get("command"), str):
        return {**rule, "command": [*shlex.split(str(rule["command"]))]}
    return rule


def _with_stability(layer: Json) -> Json:
    """A layer without a declared stability gets the one its kind has."""
    if not isinstance(layer, dict) or layer.get("stability"):
        return layer
    default = "step" if layer.get("environment") else "static"
    return {**layer, "stability": INDEX_STABILITY.get(str(layer.get("index")), default)}


def put_at(tree: JsonObject, pointer: str, value: Json) -> bool:
    """Set the value at a JSON pointer of ``tree`` in place; False when nothing is there."""
    parent, _, _ = pointer.rpartition("/")
    last = pointer_parts(pointer)[-1]
    here = value_at(tree, parent)
    if isinstance(here, dict) and last in here:
        here[last] = value
        return True
    if isinstance(here, list) and last.isdecimal() and int(last) < len(here):
        here[int(last)] = value
        return True
    return False


def value_at(tree: Json, pointer: str) -> Json:
    """The value at a JSON pointer of ``tree``; None when nothing is there."""
    here = tree
    for part in pointer_parts(pointer):
        here = _child(here, part)
    return here


def _child(here: Json, part: str) -> Json:
    if isinstance(here, dict):
        return here.get(part)
    if isinstance(here, list) and part.isdecimal() and int(part) < len(here):
        return here[int(part)]
    return None


def pointer_parts(pointer: str) -> list[str]:
    """The steps of a JSON pointer, unescaped (RFC 6901)."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def pointer_to(parts: Sequence[str | int]) -> str:
    """The JSON pointer of ``parts``; the root is the empty string."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)
