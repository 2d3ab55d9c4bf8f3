"""Pins stand verbatim once; a provider's usage corrects later counts only."""

from __future__ import annotations

from itertools import chain

from contextctl.core.assemble import Fold
from contextctl.model.record import PinSet, TaskGiven, UsageReported
from tests.unit.core.folding import Words, contents, opened, profile, steps, turn, user

REDUCE = {"budget": {"reduce": {"trigger": 0.65, "target": 0.5}}}


def test_constraints_stand_at_the_head_from_the_first_step() -> None:
    given = TaskGiven("ship", ("only to the office", "不要发票"))
    texts = contents(steps(Fold(profile(), Words()), [opened(), given, user("ship it")])[-1])
    assert texts[0].splitlines()[1:] == [
        "- constraints.1: only to the office",
        "- constraints.2: 不要发票",
    ]
    assert texts[1] == "ship it"


def test_a_later_pin_waits_at_the_tail_and_enters_the_block_at_a_batch() -> None:
    fold = Fold(profile(1_000, **REDUCE), Words())
    pin = PinSet("confirmed_slots.order", {"id": 7})
    events = [opened(), user("go"), *turn(1), pin, *turn(2)]
    walked = steps(fold, [*events, *chain.from_iterable(turn(n) for n in range(3, 30))])
    assert contents(walked[2])[-1].splitlines()[-1] == '- confirmed_slots.order: {"id":7}'
    batch = next(step for step in walked if step.actions)
    assert contents(batch)[0].splitlines()[-1] == '- confirmed_slots.order: {"id":7}'
    assert sum('{"id":7}' in text for text in contents(batch)) == 1


def test_usage_moves_the_factor_of_later_steps_only() -> None:
    asked = [opened(), user("word " * 5_000)]
    first = steps(Fold(profile(100_000), Words()), asked)[0].ledger
    reported = UsageReported(1, "scripted/x", prompt_tokens=int(first.total * 1.2))
    fold = Fold(profile(100_000), Words())
    walked = steps(fold, [*asked, *turn(1)[:1], reported, *turn(1)[1:], *turn(2)])
    assert walked[0].ledger.factor == 1.0
    assert 1.1 < walked[1].ledger.factor <= 1.2
    assert walked[1].ledger.total == sum(walked[1].ledger.parts.values())
    assert walked[1].ledger.usable == 100_000


def test_a_usage_of_another_model_is_no_evidence() -> None:
    other = UsageReported(1, "anthropic/claude-sonnet-4-5", prompt_tokens=9_000)
    fold = Fold(profile(100_000), Words())
    walked = steps(fold, [opened(), user("word " * 5_000), *turn(1)[:1], other, *turn(1)[1:]])
    assert walked[-1].ledger.factor == 1.0


def test_what_only_the_provider_saw_is_counted_as_unseen() -> None:
    """TOK-05: the trace holds a few words, the provider read 184,704 tokens (cache included)."""
    seen = UsageReported(1, "", prompt_tokens=184_704, cached_tokens=183_936, traced=True)
    fold = Fold(profile(400_000), Words())
    walked = steps(fold, [opened(), user("hi"), *turn(1)[:1], seen, *turn(1)[1:]])
    ledger = walked[-1].ledger
    assert ledger.parts["system.unseen"] == 184_704 - walked[0].ledger.total
    assert ledger.zone == "safe"
    assert 184_704 < ledger.total < 184_800
