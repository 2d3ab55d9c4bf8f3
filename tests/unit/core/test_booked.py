"""A record with a stretch of it delegated or compacted is still a record that can be folded."""

from __future__ import annotations

from contextctl.core.assemble import assemble
from contextctl.core.explain.booked import compacted, disclosed, isolated
from contextctl.core.measure.validity import window_problems
from contextctl.model.message import ToolSpec
from contextctl.model.record import Event, ToolsListed, UsageReported
from tests.unit.core.folding import Words, opened, profile, turn, user


def long_record() -> tuple[Event, ...]:
    events: list[Event] = [opened(), user("go")]
    for number in range(1, 21):
        events += turn(number, 500 if 4 <= number <= 7 else 20)
    return tuple(events)


def test_the_delegated_stretch_is_the_one_that_reads_most() -> None:
    found = isolated(long_record(), Words(), 5)
    assert found is not None
    events, said = found
    assert said.startswith("steps ")
    first, last = (int(n) for n in said.split()[1].split("-"))
    assert first <= 4
    assert last >= 7
    window = assemble(profile(50_000), events, Words())
    assert window_problems(window.messages, window.messages) == ()


def test_user_messages_inside_end_a_stretch_and_survive_a_compaction() -> None:
    events: list[Event] = [
        opened(),
        user("go"),
        *turn(1, 900),
        user("only blue ones"),
        *turn(2, 900),
    ]
    for number in range(3, 10):
        events += turn(number, 5)
    assert isolated(tuple(events), Words(), 5) is None  # no two of the long steps stand together
    found = compacted(tuple(events), Words(), 5)
    assert found is not None
    window = assemble(profile(50_000), found[0], Words())
    assert any(m.get("content") == "only blue ones" for m in window.messages)
    assert window.ledger.total < 1_000  # both long steps are behind the summary


def test_too_little_is_not_worth_a_summary() -> None:
    few = compacted((opened(), user("go"), *turn(1, 900)), Words(), 0)
    assert few is not None
    assert assemble(profile(50_000), few[0], Words()).ledger.total > 900
    assert isolated((opened(), user("go"), *turn(1, 900)), Words(), 0) is None


def test_what_a_provider_counted_of_the_whole_is_left_out() -> None:
    events = (*long_record(), UsageReported(20, "m", 9_000))
    found = isolated(events, Words(), 5)
    assert found is not None
    assert not any(isinstance(event, UsageReported) for event in found[0])


def test_tools_that_are_never_called_are_found_by_a_search() -> None:
    tools = tuple(ToolSpec(f"tool{n}", "word " * 20, {"type": "object"}) for n in range(12))
    events = (opened(), ToolsListed("trace", tools), user("go"), *turn(1, 5, tool="tool3"))
    found = disclosed(events, Words(), 5)
    assert found is not None
    assert found[1] == "11 of 12 tools served by MCP and found by tool_search"
    listed = next(event for event in found[0] if isinstance(event, ToolsListed))
    assert [tool.name for tool in listed.tools] == ["tool3", "tool_search"]
    few = (opened(), ToolsListed("trace", tools[:10]), user("go"))
    assert disclosed(few, Words(), 5) is None
    served = (opened(), ToolsListed("files", tools), user("go"))
    assert disclosed(served, Words(), 5) is None  # a profile's own rule decides
