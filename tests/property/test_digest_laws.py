"""Laws of facts and digests: bounded, literal, in order, the same every time."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from contextctl.core.digest.calls import call_form, one_line, outcome, own_text
from contextctl.core.digest.facts import (
    MAX_FACTS,
    MAX_VALUE,
    cost,
    extract_facts,
    omitted_names,
)
from contextctl.core.digest.lines import DigestRule, StepFacts, digest_lines, segment_text
from contextctl.model.message import Message, ToolCall

PIECES = st.sampled_from(
    ["order_id: SO-2024-0001", "/testbed/a/b_c.py", "a@b.example", "2024-05-16", "：",
     "订单号：HAT136",
     '"title": "Fall of Rome"', "\\n", '\\"', "https://x.example/a?b=1", "x" * 200, "12,345", " ",
     "\n", "error: no", "'a', 'b1'", "📈", "é", "\x00", "\ud800", "/", "=", "<td>4711</td>"]
)  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=300),
    st.lists(PIECES, max_size=60).map("".join),
    st.lists(PIECES, max_size=60).map(" ".join),
)
JSONS = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), TEXTS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.one_of(st.dictionaries(TEXTS, JSONS, max_size=4).map(json.dumps), TEXTS)
CALLS = st.lists(st.builds(ToolCall, st.just("c"), st.just("tool"), ARGUMENTS), max_size=4)


@st.composite
def steps(draw: st.DrawFn) -> StepFacts:
    calls, said = tuple(draw(CALLS)), draw(TEXTS)
    results = tuple(draw(st.lists(TEXTS, max_size=4)))
    own = own_text(Message(role="assistant", content=said, tool_calls=calls))
    return StepFacts(
        draw(st.integers(1, 999)), said, calls, results,
        extract_facts(own), tuple(map(extract_facts, results)), draw(st.integers(0, 2_000)),
    )  # fmt: skip


@given(TEXTS)
def test_facts_are_bounded_distinct_and_the_same_every_time(text: str) -> None:
    facts = extract_facts(text)
    values = [fact.value for fact in facts.items]
    assert len(values) == len(set(values)) <= MAX_FACTS
    assert all(0 < len(value) <= 2 * MAX_VALUE and value.isprintable() for value in values)
    assert facts == extract_facts(text)


@given(TEXTS.filter(lambda text: "\\" not in text))
def test_a_fact_stands_literally_in_its_text(text: str) -> None:
    assert all(fact.value in text for fact in extract_facts(text).items)


@given(TEXTS.filter(lambda text: "\\" not in text))
def test_facts_come_in_order_of_appearance(text: str) -> None:
    again = extract_facts(text, limit=3).items
    assert [fact for fact in extract_facts(text).items if fact in again] == list(again)


@given(TEXTS, st.integers(0, 300))
def test_omitted_names_fit_their_room(text: str, tokens: int) -> None:
    assert sum(map(cost, omitted_names(text, tokens))) <= tokens


@given(st.lists(steps(), max_size=6), st.floats(0, 50), st.floats(0, 0.5))
def test_the_facts_of_a_digest_fit_its_budget(
    made: list[StepFacts], step_tokens: float, share: float
) -> None:
    rule = DigestRule(step_tokens, share)
    lines = digest_lines(made, frozenset[str]().__contains__, rule)
    spent = sum(cost(fact.value) for line in lines for fact in line.facts)
    assert spent <= step_tokens * len(made) + share * sum(step.tokens for step in made) + 1e-6


@given(st.lists(steps(), max_size=5))
def test_a_digest_is_one_line_a_step_and_the_same_every_time(made: list[StepFacts]) -> None:
    nowhere = frozenset[str]().__contains__
    lines = digest_lines(made, nowhere)
    assert lines == digest_lines(made, nowhere)
    assert [line.number for line in lines] == [step.number for step in made]
    assert all(len(str(line).splitlines()) <= 1 for line in lines)
    assert segment_text(lines, "head").count("\n") <= len(made)


@given(st.lists(steps(), max_size=5))
def test_nothing_that_stands_elsewhere_is_carried(made: list[StepFacts]) -> None:
    standing = frozenset(fact.value for step in made for fact in step.own.items)
    lines = digest_lines(made, standing.__contains__)
    assert not standing & {fact.value for line in lines for fact in line.facts}


@given(steps())
def test_folding_never_makes_a_line_longer(step: StepFacts) -> None:
    line = digest_lines((step,), frozenset[str]().__contains__)[0]
    sizes = [len(str(line)), *(len(str(line.folded(level))) for level in (1, 2, 3))]
    assert sizes == sorted(sizes, reverse=True)
    assert set(line.folded(3).facts) <= set(line.facts)


@given(TEXTS, ARGUMENTS)
def test_calls_and_outcomes_are_bounded(text: str, arguments: str) -> None:
    assert len(outcome(text)) <= 64
    assert len(one_line(text, 40)) <= 40
    form = call_form(ToolCall("c", "tool", arguments))
    assert all(len(value) <= 130 and len(value.splitlines()) < 2 for _, value in form.arguments)
