"""What grew and from where: lists that sum exactly, under a factor and with text only a provider
saw."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextctl.core.explain.growth import shares, sizes, sources_of
from contextctl.core.explain.step import Beside, explain_step
from contextctl.core.explain.whatif import settled
from contextctl.core.walk import walk
from contextctl.model.record import Event, StepTaken, UsageReported
from tests.unit.core.folding import Words, opened, profile, turn, user


class Claude(Words):
    """Counts that start with a factor, as for a model without a public tokenizer."""

    exact = False
    factor = 1.3


@given(st.dictionaries(st.text(max_size=3), st.integers(0, 5_000), max_size=12), st.floats(0.5, 3))
def test_shares_sum_exactly(counts: dict[str, int], factor: float) -> None:
    total = round(sum(counts.values()) * factor)
    divided = shares(counts, total)
    assert divided.keys() == counts.keys()
    if sum(counts.values()):
        assert sum(divided.values()) == total
        for key, count in counts.items():
            assert (
                abs(divided[key] - count * factor)
                < 1 + abs(total / sum(counts.values()) - factor) * count
            )


def walked(counter: Words, *, usage: bool = False) -> list[Event]:
    events: list[Event] = [opened(), user("find the bug")]
    for number in range(1, 6):
        events += turn(number, 60 if number == 2 else 20)
        if usage:
            events.insert(-1, UsageReported(number, "scripted/x", 90 * number, traced=True))
    return [*settled(events), StepTaken(6)]


@pytest.mark.parametrize("counter", [Words(), Claude()])
@pytest.mark.parametrize("usage", [False, True])
def test_growth_sums_to_the_delta_and_sizes_to_the_total(counter: Words, usage: bool) -> None:
    prof = profile(5_000)
    events = walked(counter, usage=usage)
    before = None
    for step in walk(prof, counter, events):
        now = step.assembly.ledger
        why = explain_step(prof, now, before, Beside(steps=6, events=events))
        assert sum(one.delta for one in why.grew) == why.rows[-1].delta
        hidden = now.parts.get("system.unseen", 0)
        assert sum(one.tokens for one in sizes(now).values()) == (
            now.total - now.buckets["tools_schema"] - hidden
        )
        before = now


def test_the_root_is_the_largest_message_however_many_steps_back() -> None:
    events = walked(Words())
    prof = profile(5_000)
    last = [*walk(prof, Words(), events)][-1].assembly.ledger
    root = explain_step(prof, last, None, Beside(steps=6, events=events)).root
    assert root is not None
    assert root.what == "bash result (step 2)"
    assert root.steps_back == 4
    assert root.call == 'bash {"command": "step2"}'
    assert root.rule == "whole: under 2,500 of shaping.max_tokens"


def test_a_window_of_many_small_messages_has_no_root() -> None:
    events: list[Event] = [opened(), user("go")]
    for number in range(1, 30):
        events += turn(number, 20)
    prof = profile(5_000)
    last = [*walk(prof, Words(), [*settled(events), StepTaken(30)])][-1].assembly.ledger
    assert explain_step(prof, last, None, Beside(steps=30)).root is None
    assert sources_of(last)[0].name == "bash results"
    assert sources_of(last)[0].messages == 29
