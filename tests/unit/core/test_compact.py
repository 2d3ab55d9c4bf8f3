"""When a compaction happens, what it takes and leaves, and what it says about itself."""

from __future__ import annotations

import json
from itertools import chain
from typing import Any

from contextctl.core.assemble import Fold
from contextctl.model.assembly import Assembly
from contextctl.model.message import Message, ToolCall
from contextctl.model.record import (
    Event,
    MessageAdded,
    PinSet,
    ResultArrived,
    RetrievedAdded,
    StageEnded,
    StepTaken,
    SummaryMade,
    TaskGiven,
    Todo,
    TodoSet,
)
from tests.unit.core.folding import Words, contents, opened, profile, steps, turn, user

GOOD = {
    "done": ["1: looked"],
    "findings": ["the log is empty [p1]"],
    "open_questions": ["who wrote it?"],
    "negatives": ["no restart"],
    "entities": {"host": "db-7"},
}


def compacting(window: int = 4_000, protect: int = 1, **compaction: Any) -> Any:
    rules = {"protect_steps": protect, "when": {"stage_end": True}, **compaction}
    return profile(window, compaction=rules, plan={"enabled": True})


def session(count: int, *between: Event, words: int = 30) -> list[Event]:
    """A question and ``count`` steps, then whatever ends them."""
    turns = chain.from_iterable(turn(number, words) for number in range(1, count + 1))
    return [opened(), user("fix the log"), *turns, *between]


def after(rules: Any, events: list[Event]) -> Assembly:
    return steps(Fold(rules, Words()), events)[-1]


def summary_of(assembly: Assembly) -> str:
    (text,) = [text for text in contents(assembly) if text.startswith("[summary ")]
    return text


# -- when --------------------------------------------------------------------------------------


def test_the_end_of_a_stage_compacts_what_is_not_protected() -> None:
    assembly = after(compacting(protect=2), session(6, StageEnded("reading")))
    (one,) = assembly.compactions
    assert (one.trigger, one.outcome, one.generation) == ("stage_end", "committed", 1)
    # Steps 1 to 4 leave; 5 and 6 are protected: their calls stand as they were made.
    calls = [m for m in assembly.messages if m.get("tool_calls")]
    assert [m["tool_calls"][0]["id"] for m in calls] == ["c5", "c6"]  # type: ignore[index, call-overload]
    assert summary_of(assembly).startswith(f"[summary {one.compaction_id}] Steps 1-4, generation 1")


def test_a_stage_of_which_little_would_leave_waits_for_the_next_one() -> None:
    """A compaction that spares under a tenth of the window breaks the prefix for nothing."""
    roomy = compacting(window=40_000, protect=20)
    grown = session(
        24, StageEnded("one")
    )  # 4 of 24 steps may leave: a tenth would be spared of 60 %
    assert after(roomy, grown).compactions == ()
    later = session(30, StageEnded("one"), StageEnded("two"))  # 10 of 30
    assert [one.trigger for one in after(roomy, later).compactions] == ["stage_end"]


def test_fewer_than_four_old_messages_are_left_alone() -> None:
    # The question and one step with its result are three messages before the protected step.
    assembly = after(compacting(), session(2, StageEnded(), words=200))
    assert assembly.compactions == ()
    assert after(compacting(), session(3, StageEnded(), words=200)).compactions != ()


def test_every_so_many_steps_counts_from_the_last_compaction() -> None:
    rules = compacting(when={"stage_end": False, "every_steps": 4})
    walked = steps(Fold(rules, Words()), session(13))
    assert [a.ledger.step for a in walked if a.compactions] == [5, 9, 13]


def test_the_ratio_compacts_only_what_trimming_left_too_large() -> None:
    rules = {"stage_end": False, "ratio": 0.6}
    budget = {"reduce": {"trigger": 0.6, "target": 0.5}}
    trims = profile(1_000, compaction={"when": rules, "protect_steps": 1}, budget=budget)
    assert not any(a.compactions for a in steps(Fold(trims, Words()), session(40)))
    switched = profile(
        1_000,
        compaction={"when": rules, "protect_steps": 1},
        budget=budget,
        remedies={"trim": False, "shape": False, "offload": False},
    )
    tried = [a for a in steps(Fold(switched, Words()), session(40)) if a.compactions]
    assert tried
    assert {one.trigger for a in tried for one in a.compactions} == {"ratio"}
    assert all(a.ledger.status == "ok" for a in tried)


def test_a_ratio_far_below_the_reduce_target_stands_on_its_own() -> None:
    rules = profile(4_000, compaction={"when": {"ratio": 0.1}, "protect_steps": 1})
    walked = steps(Fold(rules, Words()), session(16))
    assert any(a.compactions for a in walked)
    assert max(a.ledger.ratio for a in walked) < 0.2


def test_nothing_compacts_where_it_is_switched_off_or_history_is_kept() -> None:
    events = session(8, StageEnded())
    off = profile(4_000, remedies={"compact": False}, compaction={"protect_steps": 1})
    assert after(off, events).compactions == ()
    for strategy in ("keep_all", "sliding_window"):
        kept = profile(4_000, history={"strategy": strategy}, compaction={"protect_steps": 1})
        assert after(kept, events).compactions == ()


def test_two_poor_compactions_in_a_row_pause_until_the_window_has_grown() -> None:
    rules = compacting(
        window=100_000,
        when={"stage_end": False, "every_steps": 2},
        pause={"min_saving": 0.9, "after": 2, "resume_growth": 0.5},
    )
    walked = steps(Fold(rules, Words()), session(40, words=150))
    tried = [a.ledger.step for a in walked if a.compactions]
    paused = [a.ledger for a in walked if any(x.kind == "pause" for x in a.ledger.actions)]
    first, second, third = tried[:3]
    assert paused[0].step == second
    size = paused[0].total
    grown = next(a for a in walked if a.ledger.step == third)
    assert grown.compactions[0].window_before >= 1.5 * size
    assert "saved under 90%" in " ".join(paused[0].warnings)
    assert first < second < third


# -- what stays and what leaves ------------------------------------------------------------------


def test_users_messages_stay_in_order_before_the_summary() -> None:
    said = [user("use port 8042"), user("and never restart it")]
    events = [*session(3), said[0], *turn(4), *turn(5), said[1], *turn(6), StageEnded()]
    shown = contents(after(compacting(), events))
    kinds = [text.split()[0] for text in shown if text.split()[0] in ("fix", "use", "and")]
    assert kinds == ["fix", "use", "and"]
    assert shown.index("and never restart it") < shown.index(
        summary_of(after(compacting(), events))
    )


def test_what_users_refuse_stands_in_the_summary_and_its_audit() -> None:
    events = [*session(3), user("Never restart it. 不要动配置。"), *turn(4), *turn(5), StageEnded()]
    assembly = after(compacting(), events)
    assert "refused or ruled out:\n- 3: Never restart it.\n- 3: 不要动配置。" in summary_of(
        assembly
    )
    (one,) = assembly.compactions
    assert one.summary["negatives"][:2] == ["3: Never restart it.", "3: 不要动配置。"]  # type: ignore[index]


def test_identifiers_stand_behind_their_names_and_failed_calls_are_told() -> None:
    call = ToolCall("x1", "get_order", '{"order_id": "SO-77"}')
    order = {"tracking_id": "1Z999AA1", "status": "shipped", "note": "on its way " * 60}
    found = ResultArrived("x1", "get_order", json.dumps(order))
    broken = ToolCall("x2", "bash", '{"command": "make"}')
    failed = ResultArrived("x2", "bash", "make: *** No rule to make target. Error: stop", "error")
    middle: list[Event] = [
        MessageAdded(Message("assistant", None, (call,))), found,
        MessageAdded(Message("assistant", None, (broken,))), failed,
    ]  # fmt: skip
    assembly = after(
        compacting(), [opened(), user("fix"), *middle, *turn(3), *turn(4), StageEnded()]
    )
    (one,) = assembly.compactions
    assert one.summary["entities"]["tracking_id"] == "1Z999AA1"  # type: ignore[index, call-overload]
    text = summary_of(assembly)
    assert "- 1 get_order SO-77" in text
    assert "2: bash make ✗" in text or "2 bash make ✗" in text


def test_passages_that_leave_are_named_with_their_source() -> None:
    passages = RetrievedAdded(
        ({"id": "kb-4", "source": "returns.md", "text": "within 30 days " * 30},)
    )
    events = [*session(2), passages, user("may I return it?"), *turn(3), *turn(4), StageEnded()]
    assert "- [kb-4] returns.md" in summary_of(after(compacting(), events))


def test_a_message_that_is_pinned_whole_stands_in_the_block_only() -> None:
    rule = "Order numbers keep their leading zeros."
    events: list[Event] = [
        opened(), TaskGiven("fix", (rule,)), user("fix it"), *turn(1), user(rule), *turn(2, 150),
        user("go on"), *turn(3), StageEnded(),
    ]  # fmt: skip
    assembly = after(compacting(), events)
    assert sum(text.count(rule) for text in contents(assembly)) == 1
    assert "user: “(pinned: constraints.1)”" in summary_of(assembly)
    (pin,) = assembly.compactions[0].pins
    assert (pin.key, pin.text, pin.source) == ("constraints.1", rule, "e07")


def test_the_raw_text_of_what_left_is_stored_under_the_refs_that_stand() -> None:
    assembly = after(compacting(), session(5, StageEnded()))
    (one,) = assembly.compactions
    stored = {offload.ref: offload.text for offload in assembly.offloads}
    assert one.raw_ref in stored
    assert all(ref in summary_of(assembly) for ref in one.raw_refs)
    assert "step3" in stored[one.raw_ref]
    assert "step5" not in stored[one.raw_ref]


def test_open_calls_are_closed_named_and_told_as_open() -> None:
    two = (ToolCall("d1", "charge", '{"card": 1}'), ToolCall("d2", "charge", '{"card": 2}'))
    events = [
        opened(), user("charge both"), MessageAdded(Message("assistant", None, two)),
        ResultArrived("d1", "charge", "charged 1 " * 60), user("go on"), *turn(2), *turn(3),
        StageEnded(),
    ]  # fmt: skip
    assembly = after(compacting(), events)
    (one,) = assembly.compactions
    assert one.repaired == ("d2",)
    assert "- call d2 (charge) has no result: it was interrupted or not run" in summary_of(assembly)


def test_the_plan_stands_at_the_tail_whatever_is_compacted() -> None:
    plan = TodoSet((Todo("read", "done", id="1"), Todo("fix", "active", id="2")))
    assembly = after(compacting(), [opened(), user("go"), plan, *session(5, StageEnded())[2:]])
    assert "todo" in assembly.compactions[0].pinned_keys
    assert "1 of 2" in contents(assembly)[-1]


# -- generations ---------------------------------------------------------------------------------


def test_summaries_are_frozen_until_they_outgrow_their_room() -> None:
    rules = compacting(window=6_000, when={"stage_end": False, "every_steps": 4})
    walked = [a for a in steps(Fold(rules, Words()), session(13)) if a.compactions]
    first = summary_of(walked[0])
    assert all(first in contents(a) for a in walked)
    assert [one.generation for a in walked for one in a.compactions] == [1, 1, 1]


def test_merging_counts_generations_and_the_one_too_many_is_refused() -> None:
    rules = compacting(
        window=1_200, max_generation=2, when={"stage_end": False, "every_steps": 4},
        pause={"min_saving": 0.0, "after": 99},
    )  # fmt: skip
    walked = steps(Fold(rules, Words()), session(160, words=60))
    made = [one for a in walked for one in a.compactions if one.outcome != "discarded"]
    generations = [one.generation for one in made]
    assert {0, 1, 2} <= set(generations)
    assert max(generations) == 2
    refused = made[generations.index(0)]
    assert refused.outcome == "replaced"
    assert 2 in generations[: generations.index(0)]
    # Everything the refused generation stood for is still behind the refs that stand.
    assert refused.event_from <= made[0].event_from
    assert len(refused.raw_refs) >= len(made[0].raw_refs)


# -- by a model ----------------------------------------------------------------------------------


def asked(rules: Any, events: list[Event]) -> tuple[Fold, Assembly]:
    fold = Fold(rules, Words())
    for event in events:
        if isinstance(event, MessageAdded) and event.message.role == "assistant":
            fold.advance(StepTaken(1))
        fold.advance(event)
    return fold, fold.assemble()


MODEL = {"kind": "model", "model": "scripted/x", "window": 4_000}


def test_a_need_names_what_is_to_be_summarised_and_the_window_is_complete_without_it() -> None:
    _, assembly = asked(compacting(summarizer=MODEL), session(6, StageEnded()))
    (need,) = assembly.needs
    (one,) = assembly.compactions
    assert (need.kind, need.id) == ("summary", one.compaction_id)
    assert (need.body["event_from"], need.body["event_to"]) == (one.event_from, one.event_to)
    assert (one.by, one.fallback) == ("mechanical", "no model was asked")
    assert assembly.ledger.status == "ok"


def test_the_answer_takes_the_place_of_the_mechanical_summary() -> None:
    fold, assembly = asked(compacting(summarizer=MODEL), session(6, StageEnded()))
    usage = {"requests": 2, "prompt_tokens": 900, "completion_tokens": 80, "cost_usd": 0.01}
    fold.advance(SummaryMade(assembly.needs[0].id, 9, GOOD, by="model", usage=usage))
    now = fold.assemble()
    assert now.needs == ()
    (one,) = now.compactions
    assert (one.by, one.outcome, one.fallback) == ("model", "committed", "")
    text = summary_of(now)
    for line in ("- 1: looked", "- the log is empty [p1]", "- no restart", "- host: db-7"):
        assert line in text
    assert "bash" not in text
    assert now.ledger.measured == {"summary": usage}


def test_an_answer_that_is_none_leaves_the_mechanical_summary_and_says_why() -> None:
    fold, assembly = asked(compacting(summarizer=MODEL), session(6, StageEnded()))
    fold.advance(SummaryMade(assembly.needs[0].id, 9, {}, fault="the answer is not JSON"))
    now = fold.assemble()
    assert summary_of(now) == summary_of(assembly)
    assert now.compactions[0].fallback == "the answer is not JSON"


def test_a_summary_larger_than_what_it_replaces_is_discarded_and_audited() -> None:
    fold, assembly = asked(compacting(summarizer=MODEL), session(6, StageEnded()))
    tale = {**GOOD, "done": ["a long tale " * 400]}
    fold.advance(SummaryMade(assembly.needs[0].id, 9, tale, by="model"))
    now = fold.assemble()
    (one,) = now.compactions
    assert one.outcome == "discarded"
    assert one.failed == ("size: the window did not get smaller",)
    calls = [m for m in now.messages if m.get("tool_calls")]
    assert len(calls) == 6
    assert any(one.compaction_id in text for text in now.ledger.warnings)


def test_pinned_text_in_a_model_s_summary_is_named_not_repeated() -> None:
    rule = "Only ship to the office, never home."
    events = [opened(), TaskGiven("x", (rule,)), *session(6, StageEnded())[1:]]
    fold, assembly = asked(compacting(summarizer=MODEL), events)
    body = {**GOOD, "findings": [f"the user said: {rule}"], "negatives": [rule]}
    fold.advance(SummaryMade(assembly.needs[0].id, 9, body, by="model"))
    now = fold.assemble()
    assert sum(text.count(rule) for text in contents(now)) == 1
    assert "- the user said: (pinned: constraints.1)" in summary_of(now)


def test_a_pin_set_late_is_in_the_block_after_the_compaction() -> None:
    events = [*session(5), PinSet("confirmed_slots.order", "SO-000417", "x"), StageEnded()]
    texts = contents(after(compacting(), events))
    assert "[pinned] These hold for the whole task:\n- confirmed_slots.order: SO-000417" in texts
