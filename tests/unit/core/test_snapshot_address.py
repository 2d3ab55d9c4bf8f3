"""The address of a summary: the same in every run of one task, another for another text."""

from __future__ import annotations

from contextctl.core.compaction.snapshot import snapshot_address
from contextctl.model.assembly import Need
from contextctl.model.message import Message
from contextctl.model.record import (
    EnvironmentRead,
    Event,
    MessageAdded,
    Opened,
    ResultArrived,
    StepTaken,
    TaskGiven,
    UsageReported,
)


def said(result: str = "paid", task: str = "look") -> list[Event]:
    return [
        TaskGiven(task),
        MessageAdded(Message("user", task)),
        ResultArrived("k", "look", result),
    ]


def need(last: int, first: int = 1, **body: object) -> Need:
    numbers = {"event_from": first, "event_to": last, "generation": 1, "pinned_keys": []}
    return Need("c1", "summary", {**numbers, "previous": [], **body})  # type: ignore[dict-item]


def test_what_only_one_run_has_changes_nothing() -> None:
    monday = [Opened("t", "s1", "00"), EnvironmentRead({"date": "2026-11-30"}), *said()]
    steps = [StepTaken(1, digest="a"), UsageReported(1, "m", 9)]
    tuesday = [Opened("t", "s2", "ff"), *said()[:2], *steps, *said()[2:]]
    one = snapshot_address("p", monday, need(5))
    assert one == snapshot_address("p", tuesday, need(6))
    assert len(one) == 64


def test_what_comes_after_the_last_event_changes_nothing() -> None:
    assert snapshot_address("p", said(), need(3)) == snapshot_address(
        "p", [*said(), *said("refunded")], need(3)
    )


def test_another_profile_text_stretch_or_summary_before_is_another_address() -> None:
    headed = "[summary c1] Steps 1-2; whole text: s1-abc"
    addresses = [
        snapshot_address("p", said(), need(3)),
        snapshot_address("q", said(), need(3)),
        snapshot_address("p", said("refunded"), need(3)),
        snapshot_address("p", said(task="look again"), need(3)),
        snapshot_address("p", said(), need(2)),
        snapshot_address("p", said(), need(3, first=3)),
        snapshot_address("p", said(), need(3, generation=2)),
        snapshot_address("p", said(), need(3, pinned_keys=["task"])),
        snapshot_address("p", said(), need(3, previous=[f"{headed}\n- no courier"])),
    ]
    assert len(set(addresses)) == len(addresses)


def test_the_heading_of_a_summary_before_is_the_session_s_and_changes_nothing() -> None:
    before = [f"[summary {name}] Steps 1-2; whole text: {name}-x\n- no courier" for name in "ab"]
    one, other = (snapshot_address("p", said(), need(3, previous=[text])) for text in before)
    assert one == other
