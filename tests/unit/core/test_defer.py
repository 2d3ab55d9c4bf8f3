"""Which schemas wait: every case of the two counts, by hand."""

from __future__ import annotations

import pytest

from contextctl.core.tools.defer import PER_SERVER, TOTAL, split
from contextctl.model.message import ToolSpec
from contextctl.model.tool_rules import Defer

EMPTY = {"type": "object", "properties": {}}


def tools(source: str, count: int) -> tuple[ToolSpec, ...]:
    return tuple(ToolSpec(f"{source}_{n}", "", EMPTY, source) for n in range(count))


@pytest.mark.parametrize(
    ("counts", "why"),
    [
        ({"files": 6}, {}),
        ({"files": 10}, {}),
        ({"files": 11}, {"files": PER_SERVER}),
        ({"files": 11, "git": 4}, {"files": PER_SERVER}),
        ({"a": 10, "b": 10, "c": 10}, {}),
        ({"a": 10, "b": 10, "c": 10, "d": 1}, dict.fromkeys("abcd", TOTAL)),
        ({"a": 11, "b": 10, "c": 10}, {"a": PER_SERVER, "b": TOTAL, "c": TOTAL}),
        ({"profile": 12}, {}),
        ({"profile": 30}, {}),
        ({"profile": 31}, {"profile": TOTAL}),
        ({"profile": 5, "a": 10, "b": 10, "c": 10}, dict.fromkeys("abc", TOTAL)),
        ({"trace": 100}, {}),
        ({"trace": 100, "files": 10}, {}),
        ({"skills": 2, "plan": 3, "a": 10, "b": 10, "c": 10}, {}),
    ],
)
def test_counts_decide(counts: dict[str, int], why: dict[str, str]) -> None:
    listed = {source: tools(source, count) for source, count in counts.items()}
    decided = split(listed, Defer(), enabled=True)
    assert decided.why == why
    expected = {f"{source}_{n}" for source in why for n in range(counts[source])}
    assert set(decided.deferred) == expected


def test_what_is_kept_stays_and_still_counts() -> None:
    rule = Defer(always=("files_1*", "files_3"))
    decided = split({"files": tools("files", 11)}, rule, enabled=True)
    assert set(decided.resident) == {"files_1", "files_10", "files_3"}
    assert len(decided.deferred) == 8


def test_off_means_off() -> None:
    listed = {"files": tools("files", 40)}
    assert not split(listed, Defer(via="off"), enabled=True).deferred
    assert not split(listed, Defer(), enabled=False).deferred


def test_a_search_of_somebody_elses_is_left_to_do_its_work() -> None:
    own = ToolSpec("tool_search", "", EMPTY, "finder")
    assert not split(
        {"files": tools("files", 40), "finder": (own,)}, Defer(), enabled=True
    ).deferred


def test_of_two_with_one_name_the_first_counts() -> None:
    first, second = (ToolSpec("read", about, EMPTY, about) for about in ("a", "b"))
    assert split({"a": (first,), "b": (second,)}, Defer(), enabled=True).resident == {"read": first}


def test_what_the_model_has_seen_does_not_turn_round() -> None:
    fewer = split({"a": tools("a", 9)}, Defer(), enabled=True, waiting={"a": PER_SERVER})
    assert (fewer.why, len(fewer.deferred)) == ({"a": PER_SERVER}, 9)
    more = split({"a": tools("a", 12)}, Defer(), enabled=True, standing={"a_0", "a_1"})
    assert set(more.resident) == {"a_0", "a_1"}
    assert len(more.deferred) == 10
    gone = split({"b": tools("b", 3)}, Defer(), enabled=True, waiting={"a": PER_SERVER})
    assert (gone.why, gone.deferred) == ({}, {})
    off = split({"a": tools("a", 9)}, Defer(via="off"), enabled=True, waiting={"a": PER_SERVER})
    assert not off.deferred
