"""The ledger: where every token of one step's window comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from contextctl.model.message import Json, JsonObject

BUCKETS = ("system", "tools_schema", "tool_results", "retrieved", "history", "memory", "query")
ZONES = ("safe", "warn", "danger", "overflow")
ACTION_KINDS = ("shape", "refer", "trim", "defer", "offload", "isolate", "compact", "pause")


@dataclass(frozen=True, slots=True)
class Action:
    """Something left out of the window: what, why, how much, and how to get it back.

    ``target`` names the event or the stretch (``e58``, ``e02..e31``); ``rule`` is the JSON pointer
    of the profile key that caused it and ``origin`` its ``file:line``; ``ref`` leads to the
    original.
    """

    kind: str
    target: str
    bucket: str
    tokens_before: int
    tokens_after: int
    rule: str
    origin: str = ""
    ref: str = ""
    new: bool = False

    def to_json(self) -> JsonObject:
        """The action as it stands in ``ledger.jsonl``."""
        return {
            "kind": self.kind,
            "target": self.target,
            "bucket": self.bucket,
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "rule": self.rule,
            "origin": self.origin,
            "ref": self.ref,
            "new": self.new,
        }


@dataclass(frozen=True, slots=True)
class LayerUse:
    """One prefix layer as it stands in this window."""

    id: str
    tokens: int
    digest: str
    changed: bool


@dataclass(frozen=True, slots=True)
class PrefixUse:
    """``reused_tokens`` stand at the same place as in the previous window of this task.

    ``broke_at`` names the layer (``layer:flows``), ``tools`` or the event (``e04``) that changed
    first; None when the previous window is a whole prefix of this one.
    """

    layers: tuple[LayerUse, ...] = ()
    reused_tokens: int = 0
    broke_at: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """What the provider reported. ``count_error`` = (our total − prompt_tokens) / prompt_tokens."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0
    count_error: float = 0.0


@dataclass(frozen=True, slots=True)
class Item:
    """One message of the window: its owner and its size. ``events`` are its sources."""

    event: str
    role: str
    bucket: str
    part: str
    tokens: int
    name: str = ""
    step: int = 0


@dataclass(frozen=True, slots=True)
class LedgerReport:
    """The report of one step: one line of ``ledger.jsonl``. All sizes are tokens.

    ``buckets`` sum to ``total``; ``raw_buckets`` are what they would be had nothing been left out.
    """

    task: str
    step: int
    status: str
    model: str
    tokenizer: str
    exact: bool
    factor: float
    window: int
    reserve_output: int
    usable: int
    buckets: Mapping[str, int]
    parts: Mapping[str, int]
    raw_buckets: Mapping[str, int]
    total: int
    ratio: float
    zone: str
    zone_before: str
    actions: tuple[Action, ...] = ()
    prefix: PrefixUse = PrefixUse()
    usage: Usage | None = None
    digest: str = ""
    items: tuple[Item, ...] = ()
    warnings: tuple[str, ...] = ()
    measured: Mapping[str, Json] = field(default_factory=dict)

    def to_json(self) -> JsonObject:
        """The line of ``ledger.jsonl`` (schemas/ledger.schema.json); ``items`` stay out of it."""
        prefix: JsonObject = {
            "layers": [
                {"id": la.id, "tokens": la.tokens, "digest": la.digest, "changed": la.changed}
                for la in self.prefix.layers
            ],
            "reused_tokens": self.prefix.reused_tokens,
            "broke_at": self.prefix.broke_at,
        }
        out: JsonObject = {
            "task": self.task,
            "step": self.step,
            "status": self.status,
            "model": self.model,
            "tokenizer": {"name": self.tokenizer, "exact": self.exact, "factor": self.factor},
            "window": self.window,
            "reserve_output": self.reserve_output,
            "usable": self.usable,
            "buckets": dict(self.buckets),
            "parts": dict(self.parts),
            "raw_buckets": dict(self.raw_buckets),
            "total": self.total,
            "ratio": self.ratio,
            "zone": self.zone,
            "zone_before": self.zone_before,
            "actions": [action.to_json() for action in self.actions],
            "prefix": prefix,
            "usage": None if self.usage is None else _usage(self.usage),
            "digest": self.digest,
        }
        if self.warnings:
            out["warnings"] = list(self.warnings)
        if self.measured:
            out["measured"] = dict(self.measured)
        return out


def _usage(usage: Usage) -> JsonObject:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "cached_tokens": usage.cached_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost_usd": usage.cost_usd,
        "count_error": usage.count_error,
    }
