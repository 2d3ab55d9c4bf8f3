"""What a recorded trace says about the profile its agent needs: its tools, their results, sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from contextctl.core.count import message_tokens, tools_tokens
from contextctl.core.explain.field_use import ToolUse, field_uses
from contextctl.core.explain.partial import page_keys
from contextctl.model.counter import Counter
from contextctl.model.draft import ToolSeen
from contextctl.model.message import Json, JsonObject
from contextctl.model.record import Event, ResultArrived
from contextctl.model.trace import Trace

PAGE = 20
SMALLEST_WINDOW = 8_192
_STEP = 1_024
_FULL: JsonObject = {"safe": "full", "warn": "full", "danger": "full"}
_ALL_TURNS: JsonObject = {"safe": 1000, "warn": 1000, "danger": 1000}


def _settings(max_tokens: int, head: int, tail: int, history: JsonObject) -> JsonObject:
    return {
        "budget": {"reduce": {"trigger": 0.97, "target": 0.8}},
        "shaping": {
            "by_zone": _FULL,
            "max_tokens": max_tokens,
            "text": {"head": head, "tail": tail},
        },
        "history": {"keep_turns": _ALL_TURNS, **history},
        "compaction": {"protect_steps": 1},
        "workspace": {"tools": ["read_workspace"]},
    }


MENU: dict[str, JsonObject] = {
    # The settings of profiles/coding.yaml and records.yaml, measured on recorded agents.
    "coding": _settings(900, 1500, 400, {"live_share": 0.3, "recent_share": 0.08}),
    "records": _settings(
        600,
        900,
        250,
        {
            "live_share": 0.65,
            "recent_share": 0.12,
            "digest": {"step_tokens": 15, "share": 0.15},
        },
    ),
    # Between the two: short records, batches at half the window, a third of it left whole.
    "steady": _settings(600, 900, 250, {"live_share": 0.5, "recent_share": 0.3}),
    # Results as they are up to the default cap, where nearly all of a record is used.
    "whole": _settings(2500, 2000, 500, {"live_share": 0.5, "recent_share": 0.3}),
}


def trace_tokens(trace: Trace, counter: Counter) -> int:
    """The trace with nothing left out, its tool schemas included."""
    spoken = sum(message_tokens(message, counter) for message in trace.messages)
    return spoken + tools_tokens(trace.tools, counter)


def fitting_window(largest: int, fixed: int, reserve: int, model_window: int | None) -> int:
    """Half of the largest trace beside what the answer needs, never more than the model takes.

    ``fixed`` is what stands in every window (system text, schemas, the first question): at least
    three times that stays usable.
    """
    usable = max(largest // 2, 3 * fixed, SMALLEST_WINDOW - reserve)
    window = -(-(usable + reserve) // _STEP) * _STEP
    return min(window, model_window) if model_window else window


def fixed_tokens(trace: Trace, counter: Counter) -> int:
    """System text, tool schemas and the first user message."""
    fixed = tools_tokens(trace.tools, counter)
    for message in trace.messages:
        if message.role in ("system", "developer", "user"):
            fixed += message_tokens(message, counter)
        if message.role not in ("system", "developer"):
            break
    return fixed


def tools_seen(records: Iterable[Sequence[Event]], counter: Counter) -> tuple[ToolSeen, ...]:
    """Every tool of the records, those whose results take most first."""
    sizes: dict[str, list[int]] = {}
    pages: dict[str, JsonObject] = {}
    uses: dict[str, ToolUse] = {}
    for events in records:
        for event in events:
            if isinstance(event, ResultArrived) and event.name:
                sizes.setdefault(event.name, []).append(counter.text(event.content))
                if event.name not in pages and (keys := page_keys(event.content)):
                    pages[event.name] = keys
        for name, use in field_uses(events).items():
            uses[name] = uses[name].joined(use) if name in uses else use
    seen = (_seen(name, found, uses.get(name), pages.get(name)) for name, found in sizes.items())
    return tuple(sorted(seen, key=lambda tool: -tool.total))


def _seen(
    name: str, sizes: Sequence[int], use: ToolUse | None, keys: JsonObject | None
) -> ToolSeen:
    longest = use.largest_list if use else 0
    page: JsonObject | None = None
    if longest > PAGE:
        page = {"limit": PAGE, **(keys or {})}
    evidence = use is not None and use.is_evidence
    return ToolSeen(
        name=name,
        results=len(sizes),
        median=int(median(sizes)),
        largest=max(sizes),
        total=sum(sizes),
        largest_list=longest,
        page=page,
        kept=tuple((one.path, one.used) for one in use.kept) if use and evidence else (),
        unused=tuple(one.path for one in use.unused) if use and evidence else (),
        unused_share=use.unused_share if use and evidence else 0.0,
    )


def page_rules(tools: Iterable[ToolSeen]) -> JsonObject:
    """The ``tools`` section that the results call for: a page where lists are long."""
    rules: JsonObject = {}
    for tool in tools:
        if tool.page is not None:
            page: Json = dict(tool.page)
            rules[tool.name] = {"result": {"page": page}}
    return rules
