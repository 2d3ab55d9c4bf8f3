"""What-if: each rung is a whole new fold, so its numbers are those of the edited profile itself."""

from __future__ import annotations

from contextctl.core.assemble import assemble
from contextctl.core.explain.whatif import (
    Case,
    assembled,
    first_enough,
    needed_edits,
    rungs,
    settled,
    with_edits,
)
from contextctl.core.walk import walk
from contextctl.model.explanation import Edit
from contextctl.model.message import Message
from contextctl.model.profile import Profile
from contextctl.model.record import Event, MessageAdded, StageEnded, StepTaken, UsageReported
from tests.unit.core.folding import Words, opened, profile, turn, user

OFF = {"shape": False, "trim": False, "offload": False, "compact": False}


def recorded(count: int = 6, words: int = 400) -> tuple[Event, ...]:
    """A task of ``count`` steps, the third of which reads four times as much."""
    events: list[Event] = [opened(), user("fix the bug in the parser")]
    for number in range(1, count + 1):
        events += turn(number, words * 4 if number == 3 else words)
    return tuple(events)


def case(prof: Profile, events: tuple[Event, ...]) -> Case:
    """The step after ``events``, as explain would look at it."""
    walked = list(walk(prof, Words(), (*events, StepTaken(99))))
    before = walked[-2].assembly.ledger if len(walked) > 1 else None
    return Case(prof, Words(), events, walked[-1].assembly.ledger, before)


def as_recorded(window: int = 3_000) -> Profile:
    return profile(window, remedies=OFF, workspace={"tools": []})


def test_alone_is_the_total_under_the_edited_profile() -> None:
    events = recorded()
    looked = case(as_recorded(), events)
    assert looked.now.status == "overflow"
    for rung in rungs(looked):
        if not rung.edits:
            continue
        edited = with_edits(looked.profile, rung.edits)
        again = assemble(edited, settled(events), Words()).ledger
        assert looked.now.total - rung.alone == again.total
        assert rung.enough == (again.total <= looked.now.usable)


def test_together_each_rung_stands_on_those_above_it() -> None:
    looked = case(as_recorded(), recorded())
    total = looked.now.total
    for rung in rungs(looked):
        assert rung.total == total - rung.adds
        total = rung.total


def test_the_mildest_change_that_is_enough_is_taken() -> None:
    """The results take 3,730 tokens, the largest 1,605: below the default cap of 2,500, so that
    shaping has to be told a smaller one. 1,200 leaves 2,837: enough for one window of the two."""
    roomy, tight = (rungs(case(as_recorded(window), recorded()))[0] for window in (2_900, 2_800))
    assert roomy.remedy == tight.remedy == "tool result shaping"
    assert roomy.change == "remedies.shape: true, tools.bash.result.max_tokens: 1200"
    assert roomy.enough
    assert tight.edits[-1].value in (600, 300)


def test_nothing_else_of_the_profile_is_touched_by_an_edit() -> None:
    before = profile(5_000)
    after = with_edits(before, (Edit("/tools/bash/result/max_tokens", 300),))
    left, right = before.to_json(), after.to_json()
    assert right.pop("tools")["bash"]["result"]["max_tokens"] == 300  # type: ignore[index,call-overload]
    left.pop("tools")
    assert left == right


def test_shaping_keeps_the_prefix_where_only_the_newest_result_changes() -> None:
    events: list[Event] = [opened(), user("go"), *turn(1, 30), *turn(2, 900)]
    looked = case(profile(700, remedies={"trim": False, "offload": False}), tuple(events))
    first = rungs(looked)[0]
    assert first.number == 1
    # The readers join the array with the first ref, which re-bills the window from its start.
    assert first.prefix in ("kept", "cut@tools")


def test_a_delegate_is_booked_and_says_so() -> None:
    events = recorded(count=14, words=600)
    found = {rung.number: rung for rung in rungs(case(as_recorded(window=4_000), events))}
    assert found[5].edits == ()
    assert "booked at 600" in found[5].booked


def test_a_compaction_is_really_carried_out() -> None:
    """14 turns of 600 words, one of 2,400: all but the last five leave, so much is known."""
    looked = case(as_recorded(window=4_000), recorded(count=14, words=600))
    rung = next(rung for rung in rungs(looked) if rung.number == 6)
    assert rung.booked == ""
    assert rung.change == "remedies.compact: true"
    window = assemble(with_edits(looked.profile, rung.edits), settled(looked.events), Words())
    summaries = [m for m in window.messages if str(m["content"]).startswith("[summary c")]
    assert summaries
    assert looked.now.total - rung.alone == window.ledger.total
    assert rung.alone > 8 * 600


def test_an_earlier_ratio_is_tried_where_compaction_is_on_and_not_due() -> None:
    on = {
        "remedies": {**OFF, "compact": True},
        "budget": {"reduce": {"trigger": 0.9, "target": 0.7}},
    }
    looked = case(profile(12_000, **on), recorded(count=12, words=600))
    assert looked.now.status == "ok"
    rung = next(rung for rung in rungs(looked) if rung.number == 6)
    assert rung.change in ("compaction.when.ratio: 0.65", "compaction.when.ratio: 0.35")
    again = assemble(with_edits(looked.profile, rung.edits), settled(looked.events), Words())
    assert looked.now.total - rung.alone == again.ledger.total


def test_a_stage_that_ends_before_the_step_is_tried_where_no_ratio_brings_a_compaction() -> None:
    never = {"when": {"ratio": 0.3}, "protect_steps": 5}
    rules = profile(30_000, remedies={**OFF, "compact": True}, compaction=never)
    looked = case(rules, recorded(count=9, words=600))
    rung = next(rung for rung in rungs(looked) if rung.number == 6)
    assert rung.edits == ()
    assert "stage's end" in rung.booked
    ended = (*settled(looked.events), StageEnded("now"))
    assert looked.now.total - rung.alone == assemble(rules, ended, Words()).ledger.total


def test_the_fix_is_the_first_rung_that_is_enough_alone() -> None:
    looked = case(as_recorded(window=3_700), recorded())
    found = rungs(looked)
    taken = first_enough(found)
    assert taken == (next(rung for rung in found if rung.enough and rung.edits),)
    edits = needed_edits(looked.profile, taken)
    assert assembled(looked, edits, looked.events).total <= looked.now.usable


def test_a_provider_s_count_is_taken_in_proportion() -> None:
    """A usage measured the window as it was sent; under an edit another one stands there."""
    prof = profile(6_000)
    events: list[Event] = [opened(), user("go"), *turn(1, 500), StepTaken(2)]
    events += [
        MessageAdded(Message("assistant", "thinking")),
        UsageReported(2, "scripted/x", prompt_tokens=560),
    ]
    walked = list(walk(prof, Words(), events))
    sent = walked[-1].assembly.ledger
    totals = {step.assembly.ledger.step: step.assembly.ledger.total for step in walked}
    looked = Case(prof, Words(), tuple(events), sent, None, totals)
    edit = Edit("/shaping/max_tokens", 100)
    plain = assembled(looked, (), events)
    smaller = assembled(looked, (edit,), events)
    assert smaller.total < plain.total
    # The provider counted a tenth more than we did: no count of ours may move it further.
    assert 1.0 < plain.factor < 1.11
    assert 1.0 < smaller.factor < 1.11
