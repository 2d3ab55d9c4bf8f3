"""How compactions shrink, how two summaries differ, and whether a raw text is whole."""

from __future__ import annotations

import pytest

from contextctl.core.audit.ratios import diff, ratios
from contextctl.core.audit.raw import listed_refs, missing_text
from contextctl.model.audit import Compaction
from contextctl.model.audited import Audited
from contextctl.model.message import Json, Message, ToolCall
from contextctl.model.record import MessageAdded, Opened, ResultArrived


def row(
    before: int, after: int, outcome: str = "committed", summary: dict[str, Json] | None = None
) -> Audited:
    compaction = Compaction(
        "c1", "t", 3, "ratio", outcome, "s-a", summary or {}, (), before, after, 1, 1, 9
    )
    return Audited(compaction, "2026-11-30T12:00:00.000000Z")


@pytest.mark.parametrize(
    ("afters", "median", "flag"),
    [
        ([61], 0.61, "wordy"),
        ([60], 0.6, ""),
        ([10], 0.1, ""),
        ([9], 0.09, "losing"),
        ([5, 90, 50], 0.5, ""),
        ([5, 9, 8, 90], 0.085, "losing"),
    ],
)
def test_the_median_is_flagged_beyond_the_limits(
    afters: list[int], median: float, flag: str
) -> None:
    found = ratios([row(100, after) for after in afters])
    assert found is not None
    assert found.median == pytest.approx(median)
    assert (found.flag, found.count) == (flag, len(afters))


def test_only_the_last_twenty_committed_ones_count() -> None:
    newest_first = [row(100, 50)] * 20 + [row(100, 99)] * 30
    found = ratios([row(100, 1, "discarded"), *newest_first])
    assert found is not None
    assert (found.count, found.lowest, found.highest) == (20, 0.5, 0.5)
    assert ratios([row(100, 1, "discarded")]) is None


def test_two_summaries_differ_by_entries() -> None:
    first = row(9, 3, summary={
        "done": ["a", "b", "b"], "negatives": ["no home address"], "entities": {"order": "7"},
    })  # fmt: skip
    second = row(9, 3, summary={"done": ["b", "c"], "entities": {"order": "8"}, "extra": 1.5})
    found = diff(first, second)
    fields = {one.field: (one.removed, one.added, one.kept) for one in found.fields}
    assert fields == {
        "done": (("a", "b"), ("c",), 1),
        "negatives": (("no home address",), (), 0),
        "entities": (("order: 7",), ("order: 8",), 0),
        "extra": ((), ("1.5",), 0),
    }
    assert not found.is_same
    assert diff(first, first).is_same


RECORD = (
    Opened("t", "s", "00"),
    MessageAdded(Message("user", "find it")),
    MessageAdded(Message("assistant", "looking", (ToolCall("c1", "bash", '{"q": 1}'),))),
    ResultArrived("c1", "bash", "line one\nline two"),
)


def test_every_assistant_turn_and_result_must_stand_in_the_raw_text() -> None:
    raw = '--- e03 assistant bash\nlooking\nbash {"q": 1}\n--- e04 tool\nline one\nline two\n'
    assert missing_text(RECORD, 1, 4, raw) == (2, [])
    assert missing_text(RECORD, 1, 4, raw.replace("line two", "")) == (2, ["e04"])
    assert missing_text(RECORD, 1, 4, raw.replace('"q": 1', '"q": 2')) == (2, ["e03"])
    assert missing_text(RECORD, 4, 99, raw) == (1, [])


def test_a_user_message_is_looked_for_where_the_raw_text_names_it() -> None:
    raw = '--- e02 user\nfound it\n--- e03 assistant\nlooking\nbash {"q": 1}\nline one\nline two'
    assert missing_text(RECORD, 1, 4, raw) == (3, ["e02"])


def test_a_list_of_refs_is_told_from_a_text() -> None:
    assert listed_refs("1-4 s1-abcdefghij\n5-9 s1-bcdefghijk\n") == (
        "s1-abcdefghij",
        "s1-bcdefghijk",
    )
    assert listed_refs("1-4 s1-abcdefghij\nand more") == ()
    assert listed_refs("") == ()
