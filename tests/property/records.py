"""Random records: what agents, providers and crashes leave behind, in any order."""

from __future__ import annotations

import string

from hypothesis import strategies as st

from contextctl.model.message import Json, Message, ToolCall, ToolSpec
from contextctl.model.profile import Profile, profile_from_mapping
from contextctl.model.record import (
    EnvironmentRead,
    Event,
    IndexRead,
    MessageAdded,
    Noted,
    Opened,
    PinSet,
    ResultArrived,
    SlotSet,
    TaskGiven,
    ToolsListed,
    UsageReported,
)

TOOLS = ("bash", "read", "list_orders", "查询")
WORDS = st.text(string.ascii_letters + string.digits + " /._-\n订单查询报告📈é", max_size=120)
LONG = st.integers(1, 400).map(
    lambda n: "\n".join(f"line {i} of src/module_{i % 7}.py id {1000 + i * 37}" for i in range(n))
)
RESULTS = st.one_of(
    st.just(""),
    WORDS,
    LONG,
    st.integers(0, 60).map(
        lambda n: '{"items":[' + ",".join(f'{{"id":{i},"name":"n{i}"}}' for i in range(n)) + "]}"
    ),
)

# Most results are plain; some are what a delegate brought back, with the work behind them.
EXTRAS: st.SearchStrategy[dict[str, Json]] = st.sampled_from(
    (
        {},
        {},
        {},
        {"isolate": {"tokens": 5_000, "rule": "/subagents/reader", "ref": "s1-x"}},
        {"isolate": {"tokens": 3, "ref": "s1-x", "ref_shown": True}},
    )
)
INDEX = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from(("pack", "label", "退款")), "about": WORDS}),
    max_size=4,
).map(tuple)


@st.composite
def records(draw: st.DrawFn) -> list[Event]:
    """A record whose calls may stay open, be answered late, twice, or never have been made."""
    events: list[Event] = [Opened("t", "s1", "00ff")]
    if draw(st.booleans()):
        events.append(ToolsListed("trace", (ToolSpec("bash", "run", {"type": "object"}),)))
    if draw(st.booleans()):
        events.append(EnvironmentRead({"date": "2026-11-30", "timezone": "UTC"}))
    if draw(st.booleans()):
        events.append(TaskGiven("do it", ("only ship to the office", "不要发票"), {}))
    made = 0
    open_ids: list[tuple[str, str]] = []
    for _ in range(draw(st.integers(1, 14))):
        kind = draw(st.sampled_from(("user", "turn", "turn", "turn", "odd")))
        if kind == "user":
            events.append(MessageAdded(Message("user", draw(st.one_of(WORDS, LONG)))))
        elif kind == "turn":
            calls = []
            for _ in range(draw(st.integers(0, 3))):
                made += 1
                name = draw(st.sampled_from(TOOLS))
                arguments = draw(st.sampled_from(('{"q": "src/a_1.py"}', "{}", "", "not json")))
                calls.append(ToolCall(f"c{made}", name, arguments))
            text = draw(st.one_of(st.none(), WORDS))
            events.append(MessageAdded(Message("assistant", text, tuple(calls))))
            if draw(st.integers(0, 9)) == 0:
                events.append(UsageReported(1, "", draw(st.integers(0, 9000))))
            for call in draw(st.permutations(calls)):
                if draw(st.integers(0, 9)):
                    extra = draw(EXTRAS)
                    events.append(ResultArrived(call.id, call.name, draw(RESULTS), extra=extra))
                else:
                    open_ids.append((call.id, call.name))
        else:
            events.append(draw(_odd(open_ids)))
    return events


@st.composite
def _odd(draw: st.DrawFn, open_ids: list[tuple[str, str]]) -> Event:
    kinds = ("late", "orphan", "system", "pin", "slot", "date", "index", "note")
    kind = draw(st.sampled_from(kinds))
    if kind == "late" and open_ids:
        call_id, name = draw(st.sampled_from(open_ids))
        return ResultArrived(call_id, name, draw(RESULTS))
    if kind == "orphan":
        return ResultArrived("nobody", "bash", draw(RESULTS))
    if kind == "system":
        return MessageAdded(Message("system", draw(WORDS) or "rule"))
    if kind == "pin":
        key = draw(st.sampled_from(("confirmed_slots.order", "todo.1")))
        return PinSet(key, draw(st.sampled_from(("000417", {"b": 2}, "仅寄公司地址", None))))
    if kind == "slot":
        return SlotSet("plan", draw(WORDS))
    if kind == "date":
        return EnvironmentRead({"date": draw(st.sampled_from(("2026-11-30", "2026-12-01")))})
    if kind == "index":
        return IndexRead("skills", draw(INDEX))
    return Noted("seen", {"by": "test"})


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    """Profiles from roomy to hopeless, with every switch and strategy."""
    trigger = draw(st.sampled_from((0.5, 0.65, 0.9)))
    mode = draw(st.sampled_from(("full", "ref")))
    return profile_from_mapping(
        {
            "version": 1,
            "model": {
                "name": "scripted/x",
                "window": draw(st.sampled_from((900, 2_000, 4_000, 16_000, 200_000))),
                "reserve_output": draw(st.sampled_from((0, 400))),
            },
            "prefix": [
                {"id": "core", "text": "You are careful.", "stability": "static"},
                {"id": "skills", "index": "skills", "stability": "profile"},
                {"id": "env", "environment": ["date", "timezone"], "stability": "step"},
            ],
            "budget": {
                "basis": draw(st.sampled_from(("usable", "remaining"))),
                "reduce": {"trigger": trigger, "target": trigger - 0.2},
            },
            "shaping": {
                "by_zone": {"safe": "full", "warn": mode, "danger": mode},
                "max_tokens": draw(st.sampled_from((120, 600, 2500))),
                "locale": draw(st.sampled_from(("en", "zh"))),
            },
            "history": {
                "recall": {"enabled": draw(st.booleans()), "top_k": 2},
                "strategy": draw(st.sampled_from(("keep_all", "sliding_window", "summary_recent"))),
            },
            "compaction": {"protect_steps": draw(st.integers(1, 5))},
            "remedies": {
                "shape": draw(st.booleans()),
                "trim": draw(st.booleans()),
                "offload": draw(st.booleans()),
            },
        }
    )
