"""When a batch starts, how deep it goes, and that nothing moves between two of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import chain
from typing import Any

from contextctl.core.assemble import Fold
from contextctl.model.assembly import Assembly
from contextctl.model.message import Message, ToolCall
from contextctl.model.record import Event, MessageAdded, ResultArrived
from tests.unit.core.folding import Words, contents, opened, profile, steps, turn, user

REDUCE = {"budget": {"reduce": {"trigger": 0.65, "target": 0.50}}}
TURNS = {"history": {"keep_turns": {"safe": 99, "warn": 99, "danger": 99}}}


def walk(
    count: int, words: int = 20, window: int = 1_000, **sections: Mapping[str, Any]
) -> list[Assembly]:
    """Every assembly of a task of ``count`` steps whose results have ``words`` words."""
    rules = profile(window, **sections)
    events = [opened(), user("fix it"), *chain.from_iterable(turn(n, words) for n in range(count))]
    return steps(Fold(rules, Words()), events)


def test_no_batch_below_the_trigger() -> None:
    for assembly in walk(12, **REDUCE):
        assert assembly.ledger.ratio < 0.65
        assert assembly.actions == ()


def test_a_batch_starts_at_the_trigger_and_goes_below_the_target() -> None:
    walked = walk(60, **REDUCE, **TURNS)
    batches = [a for a in walked if any(action.kind == "trim" for action in a.actions)]
    assert batches
    for assembly in batches:
        assert assembly.ledger.ratio <= 0.50
    # One step may pass the trigger, with what the tail says from the warn line on; not a second.
    assert max(assembly.ledger.ratio for assembly in walked) < 0.70


def test_between_two_batches_the_window_only_grows_at_its_tail() -> None:
    previous = None
    for assembly in walk(80, **REDUCE, **TURNS):
        if previous is not None and not assembly.actions:
            held = previous.messages[: previous.stable]
            assert assembly.messages[: previous.stable] == held
            assert assembly.ledger.prefix.broke_at is None
        previous = assembly


def test_a_batch_says_where_the_prefix_broke_and_what_still_held() -> None:
    first = next(a for a in walk(60, **REDUCE, **TURNS) if a.actions)
    assert first.ledger.prefix.broke_at == "tools"  # the reader joined the array with the first ref
    second = [a for a in walk(80, **REDUCE, **TURNS) if a.actions][1]
    # From the second batch on, everything up to the first trimmed step of this batch still holds.
    assert second.ledger.prefix.broke_at is not None
    assert 0 < second.ledger.prefix.reused_tokens < second.ledger.total


def test_keep_turns_of_the_zone_bounds_what_a_batch_leaves() -> None:
    keep = {"history": {"keep_turns": {"safe": 8, "warn": 6, "danger": 5}}}
    shallow = {"budget": {"reduce": {"trigger": 0.65, "target": 0.60}}}
    batch = next(a for a in walk(60, 600, window=10_000, **shallow, **keep) if a.actions)
    assert batch.ledger.zone_before == "warn"
    assert sum(message["role"] == "tool" for message in batch.messages) == 6


def test_live_share_starts_a_batch_long_before_the_window_is_full() -> None:
    live = {
        "history": {
            "keep_turns": {"safe": 99, "warn": 99, "danger": 99},
            "live_share": 0.2,
            "recent_share": 0.1,
        },
        "compaction": {"protect_steps": 1},
    }
    walked = walk(40, **REDUCE, **live)
    assert max(a.ledger.ratio for a in walked) < 0.6
    assert sum(bool(a.actions) for a in walked) >= 2


def test_a_cap_keeps_its_bucket_and_says_so_when_it_cannot() -> None:
    capped = walk(30, words=40, budget={"caps": {"tool_results": 300}}, **TURNS)
    assert max(a.ledger.buckets["tool_results"] for a in capped) <= 300
    assert capped[-1].ledger.warnings == ()

    hopeless = walk(2, words=40, budget={"caps": {"query": 2}})
    assert "query holds 6 tokens, over its cap of 2" in hopeless[-1].ledger.warnings[0]


def test_an_overflow_has_no_window_and_the_next_step_goes_on() -> None:
    rules = profile(60, remedies={"shape": False, "offload": False})
    fold = Fold(rules, Words())
    first, second = steps(fold, [opened(), user("word " * 70), *turn(1)])
    for assembly in (first, second):
        assert assembly.ledger.status == "overflow"
        assert assembly.messages == ()
        assert assembly.tools == ()
        assert assembly.ledger.total > assembly.ledger.usable


def test_a_small_window_still_shows_the_newest_exchange() -> None:
    rules = profile(200, **REDUCE)
    events = [opened(), user("task"), *chain.from_iterable(turn(n, 30) for n in range(12))]
    last = steps(Fold(rules, Words()), events)[-1]
    assert last.ledger.total <= 200
    assert last.messages[last.stable - 1]["tool_call_id"] == "c11"


def test_the_whole_text_of_what_left_is_under_the_ref_that_is_shown() -> None:
    batch = next(a for a in walk(60, **REDUCE, **TURNS) if a.actions)
    digest = next(text for text in contents(batch) if text.startswith("[trimmed]"))
    assert batch.offloads[0].ref in digest
    assert "word word" in batch.offloads[0].text
    assert "step0" in batch.offloads[0].text


def test_ten_thousand_turns_stay_within_the_window() -> None:
    rules = profile(1_500, **REDUCE)
    fold = Fold(rules, Words())
    events = chain([opened()], *([user(f"question {n}"), *turn(n, 5)] for n in range(2_000)))
    for number, assembly in enumerate(steps(fold, events)):
        assert assembly.ledger.status == "ok", number


def test_results_of_the_readers_are_never_replaced_by_a_ref() -> None:
    rules = profile(100_000, shaping={"max_tokens": 50, "text": {"head": 20, "tail": 5}})
    fold = Fold(rules, Words())
    events = [opened(), user("t"), *turn(1, 400), *turn(2, 300, tool="read_workspace")]
    last = steps(fold, events)[-1]
    assert "ref" in contents(last)[2] or last.offloads
    assert contents(last)[-1] == " ".join(["word"] * 300)
    assert isinstance(events[-1], ResultArrived)


TIGHT = {"history": {"keep_turns": {"safe": 1, "warn": 1, "danger": 1}, "digest": {"share": 0.05}}}


def large_call(number: int, words: int) -> list[Event]:
    """A step whose arguments alone take ``words`` words: no reference makes them smaller."""
    call = ToolCall(f"c{number}", "edit", json.dumps({"text": "word " * words}))
    return [
        MessageAdded(Message("assistant", None, (call,))),
        ResultArrived(call.id, "edit", "done"),
    ]


def test_the_last_step_leaves_when_the_message_after_it_does_not_fit_beside_it() -> None:
    events = [opened(), user("fix it"), *turn(1), *large_call(2, 250), user("and now " * 40)]
    last = steps(Fold(profile(300, **TIGHT), Words()), events)[-1]
    assert last.ledger.status == "ok"
    texts = contents(last)
    assert texts[0] == "fix it"  # the task is not given up for what can leave by itself
    assert texts[-1].split() == ["and", "now"] * 40
    assert not any(message.get("tool_calls") for message in last.messages)


def test_the_task_stays_where_only_steps_and_later_messages_are_too_much() -> None:
    """Twelve messages of 40 words, then one of 200 in a window of 300: a word of task has room."""
    said = [event for n in range(12) for event in (user("more " * 40), *turn(n, 5))]
    events = [opened(), user("fix it"), *said, user("last " * 200)]
    last = steps(Fold(profile(300, **TIGHT), Words()), events)[-1]
    assert last.ledger.status == "ok"
    assert contents(last)[0] == "fix it"


def test_many_small_batches_leave_few_refs_and_each_leads_to_text() -> None:
    """Sixty steps in a window for four: their digests fold until only refs are left of them."""
    rules = profile(120, **{**REDUCE, **TIGHT})
    events = [opened(), user("fix it"), *chain.from_iterable(turn(n, 20) for n in range(60))]
    walked = steps(Fold(rules, Words()), events)
    stored = {one.ref: one.text for assembly in walked for one in assembly.offloads}
    last = walked[-1]
    assert last.ledger.status == "ok"
    shown = [ref for ref in stored if any(ref in text for text in contents(last))]
    assert len(shown) <= 6
    whole = "".join(stored[ref] for ref in shown)
    gone = [n for n in range(60) if not any(f'step{n}"' in str(m) for m in last.messages)]
    assert len(gone) > 50
    assert all(f'"command": "step{n}"' in whole for n in gone)


def test_digests_stay_whole_where_protected_steps_alone_keep_a_batch_from_its_target() -> None:
    """What digests carry is worth more than the last tokens down to the target (SPEC L9)."""
    walked = walk(12, words=70, **REDUCE, **TURNS)
    last = [a for a in walked if any(action.kind == "trim" for action in a.actions)][-1]
    assert 0.50 < last.ledger.ratio < 0.62
    digests = [text for text in contents(last) if text.startswith("[trimmed]")]
    told = [line for text in digests for line in text.splitlines()[1:]]
    assert len(told) == 12 - 5  # a line for every step that left, none of them folded away
