"""Laws of deferred tools: the array only grows, decisions depend on counts, nothing is lost."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from contextctl.core.assemble import Fold
from contextctl.core.tools.defer import split
from contextctl.core.tools.index import ToolIndex
from contextctl.model.assembly import Assembly
from contextctl.model.counter import Approx
from contextctl.model.message import JsonObject, Message, ToolCall, ToolSpec
from contextctl.model.profile import Profile, profile_from_mapping
from contextctl.model.record import (
    Event,
    MessageAdded,
    Opened,
    ResultArrived,
    StepTaken,
    ToolsActivated,
    ToolsListed,
)

COUNTER = Approx()
SCHEMA: JsonObject = {"type": "object", "properties": {"q": {"type": "string"}}}


def specs(source: str, count: int) -> tuple[ToolSpec, ...]:
    return tuple(ToolSpec(f"{source}_{n}", f"tool {n}", SCHEMA, source) for n in range(count))


def profile(window: int = 20_000, **defer: Any) -> Profile:
    model = {"name": "scripted/x", "window": window, "reserve_output": 0}
    return profile_from_mapping({"version": 1, "model": model, "defer": {"via": "search", **defer}})


COUNTS = st.dictionaries(
    st.sampled_from(["a", "b", "c", "profile"]), st.integers(1, 40), min_size=1
)


@st.composite
def walks(draw: st.DrawFn) -> tuple[int, list[Event]]:
    """A window, and a record that lists many tools and loads some of them, some twice."""
    counts = draw(COUNTS)
    names = [spec.name for source, n in counts.items() for spec in specs(source, n)]
    events: list[Event] = [Opened("t", "s1", "00ff")]
    events += [ToolsListed(source, specs(source, n)) for source, n in counts.items()]
    events.append(MessageAdded(Message("user", "go")))
    for step in range(draw(st.integers(1, 6))):
        call = ToolCall(f"c{step}", "tool_search", "{}")
        events.append(MessageAdded(Message("assistant", None, (call,))))
        text = "x " * draw(st.integers(1, 3_000))
        events.append(ResultArrived(call.id, call.name, text))
        found = draw(st.lists(st.sampled_from([*names, "nobody"]), max_size=4))
        if found:
            events.append(ToolsActivated(tuple(found), call.id))
    return draw(st.sampled_from([4_000, 20_000, 200_000])), events


def windows(rules: Profile, events: list[Event]) -> list[Assembly]:
    fold, out = Fold(rules, COUNTER), []
    for event in events:
        if isinstance(event, MessageAdded) and event.message.role == "assistant":
            out.append(fold.assemble())
            fold.advance(StepTaken(out[-1].ledger.step))
        fold.advance(event)
    return [*out, fold.assemble()]


def entries(assembly: Assembly) -> list[str]:
    return [json.dumps(tool, ensure_ascii=False) for tool in assembly.tools]


@given(walks())
def test_the_array_is_a_prefix_of_every_later_one(walk: tuple[int, list[Event]]) -> None:
    window, events = walk
    sent = [one for one in windows(profile(window), events) if one.ledger.status == "ok"]
    for before, after in pairwise(sent):
        assert entries(after)[: len(entries(before))] == entries(before)


@given(walks())
def test_what_was_loaded_stays_and_what_was_not_is_absent(walk: tuple[int, list[Event]]) -> None:
    window, events = walk
    loaded: set[str] = set()
    listed = {e.source: e.tools for e in events if isinstance(e, ToolsListed)}
    decided = split(listed, profile().defer, enabled=True)
    fold = Fold(profile(window), COUNTER)
    for event in events:
        if isinstance(event, MessageAdded) and event.message.role == "assistant":
            assembly = fold.assemble()
            fold.advance(StepTaken(assembly.ledger.step))
            if assembly.ledger.status == "ok":
                names = {tool["function"]["name"] for tool in assembly.tools}  # type: ignore[call-overload, index]
                assert names & decided.deferred.keys() == loaded & decided.deferred.keys()
                assert decided.resident.keys() <= names
                assert ("tool_search" in names) == bool(decided.deferred)
        fold.advance(event)
        if isinstance(event, ToolsActivated):
            loaded |= set(event.names)


@given(walks())
def test_buckets_sum_and_an_activation_breaks_the_prefix_at_the_tools(
    walk: tuple[int, list[Event]],
) -> None:
    window, events = walk
    before: list[str] | None = None
    for assembly in windows(profile(window), events):
        ledger = assembly.ledger
        assert sum(ledger.buckets.values()) == ledger.total
        waiting = [action for action in ledger.actions if action.kind == "defer"]
        for action in waiting:
            assert action.tokens_after <= action.tokens_before
            assert action.rule in {"/defer/per_server", "/defer/total"}
        saved = sum(action.tokens_before - action.tokens_after for action in waiting)
        schemas = ledger.buckets["tools_schema"]
        assert ledger.raw_buckets["tools_schema"] == schemas + saved
        if ledger.status != "ok":
            break
        if before is not None and entries(assembly) != before:
            assert ledger.prefix.broke_at == "tools"
        before = entries(assembly)


@given(COUNTS, st.integers(0, 20), st.integers(0, 60), st.randoms())
def test_counts_alone_decide(
    counts: dict[str, int], per_server: int, total: int, order: Any
) -> None:
    rule = profile(per_server=per_server, total=total).defer
    listed = {source: specs(source, n) for source, n in sorted(counts.items())}
    shuffled = {s: tuple(order.sample(tools, len(tools))) for s, tools in listed.items()}
    one, other = split(listed, rule, enabled=True), split(shuffled, rule, enabled=True)
    assert one.deferred.keys() == other.deferred.keys()
    assert one.why == other.why
    assert {**one.resident, **one.deferred}.keys() == {
        spec.name for tools in listed.values() for spec in tools
    }
    over = sum(counts.values()) > total
    for source, n in counts.items():
        deferred = f"{source}_0" in one.deferred
        expected = (n > per_server) and (source != "profile" or over)
        assert deferred == (expected or (over and source != "profile"))


@given(st.lists(st.text(min_size=1, max_size=12), max_size=8, unique=True), st.text(max_size=40))
def test_a_search_answers_anything_with_tools_it_has(names: list[str], question: str) -> None:
    index = ToolIndex(ToolSpec(name, "", SCHEMA, "s") for name in names)
    found = index.search(question, 3)
    assert len(found) <= 3
    assert {spec.name for spec in found} <= set(names)
    assert found == ToolIndex(ToolSpec(name, "", SCHEMA, "s") for name in names).search(question, 3)
