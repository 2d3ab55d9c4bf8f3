"""The mechanical summary's parts: refusals, values, budgets, and what a model is asked."""

from __future__ import annotations

import json

import pytest

from contextctl.core.digest.facts import Fact, Facts
from contextctl.core.digest.lines import DigestLine, StepFacts
from contextctl.core.summary.material import Material
from contextctl.core.summary.mechanical import mechanical_summary
from contextctl.core.summary.negations import asks, refusals, ruled_out
from contextctl.core.summary.pinned import without_pins
from contextctl.core.summary.prompt import bounded
from contextctl.core.summary.transcript import chunks, grouped, transcript
from contextctl.core.summary.values import used_often
from contextctl.io.profile.shipped import schema
from contextctl.model.history_summary import (
    LISTS,
    Summary,
    merged,
    summary_from_json,
    summary_from_text,
)
from contextctl.model.message import Message, ToolCall
from contextctl.model.record import MessageAdded, ResultArrived

WORDS = "one two three four five six seven eight nine ten"


def count(text: str) -> int:
    return len(text.split())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Ship it. Never by courier!", ("Never by courier!",)),
        ("I don't want plan B; use A", ("I don't want plan B; use A",)),
        ("no, that's not it", ("no, that's not it",)),
        ("rather than B, take A", ("rather than B, take A",)),
        ("only to the office please", ("only to the office please",)),
        ("我不要发票。请尽快", ("我不要发票。",)),
        ("别再打电话给我！谢谢", ("别再打电话给我！",)),
        ("只寄公司地址", ("只寄公司地址",)),
        ("除了周末都可以", ("除了周末都可以",)),
        ("别的都行，快一点", ()),
        ("the only order I have is SO-77", ()),
        ("please read the log", ()),
        ("x = not_a(b) if {c} else [d] != e; f(g)[h]", ()),
    ],
)
def test_refusals_are_found_as_whole_sentences(text: str, found: tuple[str, ...]) -> None:
    assert refusals(text) == found


def test_possibilities_ruled_out_and_questions() -> None:
    assert ruled_out("Read it. The cache is not the cause. 已排除网络问题。") == (
        "The cache is not the cause.",
        "已排除网络问题。",
    )
    assert asks("Is it there?")
    assert asks("“还在吗？”")
    assert not asks("It is there.")


def line(number: int, call: str, *facts: Fact) -> DigestLine:
    return DigestLine(number, call, facts=facts)


def test_everything_is_told_where_there_is_room() -> None:
    material = Material(
        lines=(
            line(1, "get_order SO-77", Fact("1Z999", "tracking_id", 3.0)),
            line(2, "read /etc/hosts.d/a.conf", Fact("db-7.internal", "", 2.0)),
        ),
        refused=((1, "never by courier"),),
        unanswered=("call d2 (pay) has no result",),
        sources=(("kb-4", "returns.md"),),
    )
    made = mechanical_summary(material, 1_000, count, lambda _value: False)
    assert made.done == ("1 get_order SO-77", "2 read /etc/hosts.d/a.conf")
    assert made.findings == ("[kb-4] returns.md", "2: db-7.internal")
    assert made.entities == {"tracking_id": "1Z999"}
    assert made.negatives == ("1: never by courier",)
    assert made.open_questions == ("call d2 (pay) has no result",)


def test_what_stands_anyway_is_not_repeated() -> None:
    material = Material(lines=(line(1, "x", Fact("1Z999", "tracking_id", 3.0)),))
    made = mechanical_summary(material, 1_000, count, lambda value: value == "1Z999")
    assert made.entities == {}


def test_over_budget_values_go_by_worth_and_old_calls_are_counted() -> None:
    lines = tuple(
        line(n, f"bash {WORDS} --step {n}", Fact(f"id-{n:03}-abcdef", "", n / 100))
        for n in range(1, 60)
    )
    made = mechanical_summary(Material(lines=lines), 120, count, lambda _value: False)
    text = "\n".join((*made.done, *made.findings))
    assert count(text) < 200
    assert made.done[0].startswith("1-")
    assert "bash ×" in made.done[0]
    assert "id-059-abcdef" in text
    assert "id-001-abcdef" not in text


def test_refusals_stand_whatever_the_budget_is() -> None:
    material = Material(
        lines=tuple(line(n, "bash ls") for n in range(200)), refused=((3, "never by courier"),)
    )
    assert mechanical_summary(material, 5, count, lambda _value: False).negatives == (
        "3: never by courier",
    )


def test_a_command_that_was_repeated_is_told_whole() -> None:
    run = "python -m pytest tests/test_iam.py -x -q --no-header"
    lines = [line(1, f"bash {run}")]
    lines += [line(n, f"bash {f'echo {WORDS} ' * 3}{n}") for n in range(2, 40)]
    lines.append(line(40, f"bash (again) {run[:20]}"))
    made = mechanical_summary(Material(lines=tuple(lines)), 400, count, lambda _value: False)
    assert f"1 bash {run}" in made.done
    assert sum(text.endswith("…") for text in made.done) > 20


def test_the_same_material_gives_the_same_summary() -> None:
    lines = tuple(line(n, f"bash ls {n}", Fact(f"v{n}-x", "k", 1.0)) for n in range(50))
    first = mechanical_summary(Material(lines=lines), 90, count, lambda _value: False)
    assert first == mechanical_summary(Material(lines=lines), 90, count, lambda _value: False)


def told(*lines: DigestLine, room: int, uses: tuple[tuple[str, int], ...] = ()) -> str:
    """All values that a summary of ``lines`` tells beside what was done."""
    material = Material(lines=lines, uses=uses)
    summary = mechanical_summary(material, room, count, lambda _: False)
    return "\n".join((*summary.findings, *summary.entities.values()))


def test_what_many_steps_used_is_kept_before_what_one_did() -> None:
    lines = [line(n, "", Fact(f"/srv/app/part-{n}.py", "", 2.0)) for n in range(1, 31)]
    assert "part-3.py" not in told(*lines, room=14)
    assert "part-3.py" in told(*lines, room=14, uses=(("/srv/app/part-3.py", 9),))


def test_a_value_inside_another_is_not_said_again() -> None:
    path = "/srv/shop/orders/views.py"
    text = told(line(1, "", Fact("orders/views.py", "", 9.0)), line(2, "", Fact(path)), room=200)
    assert text.count("orders/views.py") == 1
    assert path in text


def test_parts_of_a_cut_call_and_times_are_no_values() -> None:
    call = "bash python - << EOF import shop … ops/orders/views.py"
    text = told(line(1, call), line(2, "test", Fact("42ms", "", 9.0)), room=200)
    assert "ops/orders/views.py" not in text
    assert "42ms" not in text


def test_calls_that_failed_take_a_small_part_the_latest_first() -> None:
    lines = [
        DigestLine(n, f"bash make part-{n} " + WORDS, f"✗ Error {n}: {WORDS}") for n in range(1, 21)
    ]
    summary = mechanical_summary(Material(lines=tuple(lines)), 700, count, lambda _: False)
    assert [text.partition(":")[0] for text in summary.negatives] == ["20"]
    roomy = mechanical_summary(Material(lines=tuple(lines)), 5_000, count, lambda _: False)
    assert [text.partition(":")[0] for text in roomy.negatives] == [
        "15",
        "16",
        "17",
        "18",
        "19",
        "20",
    ]


def test_uses_are_counted_by_steps() -> None:
    run = ToolCall("k", "bash", json.dumps({"command": "make test"}))
    edit = ToolCall("e", "edit", json.dumps({"path": "a.py", "text": "x"}))
    own = Facts((Fact("src/shop/a.py"),))
    steps = [StepFacts(n, calls=(run, edit), own=own) for n in (1, 2, 3)]
    assert dict(used_often(steps)) == {"src/shop/a.py": 3, "make test": 3}
    assert used_often(steps[:1]) == ()


def test_what_models_wrote_before_goes_on() -> None:
    old = Summary(("1: looked",), ("paid [p1]",), ("who?",), ("no courier",), {"order": "SO-77"})
    material = Material(lines=(line(9, "bash ls"),), previous=(old,))
    made = mechanical_summary(material, 500, count, lambda _value: False)
    assert made.done == ("1: looked", "9 bash ls")
    assert made.findings == ("paid [p1]",)
    assert made.open_questions == ("who?",)
    assert made.negatives == ("no courier",)
    assert made.entities == {"order": "SO-77"}


# -- pins ----------------------------------------------------------------------------------------


def test_pinned_text_is_named() -> None:
    pins = {"constraints.1": "Only ship to the office, never home.", "slots.id": "000417"}
    made = without_pins(
        Summary(
            done=("3: order 000417 read",),
            findings=("he said: Only ship to the office, never home. Twice.",),
            negatives=("2: Only ship to the office, never home.", "2: Only ship to the office,"),
            entities={"id": "000417", "city": "Oslo"},
        ),
        pins,
    )
    assert made.done == ("3: order 000417 read",)  # a short value is part of other sentences
    assert made.findings == ("he said: (pinned: constraints.1) Twice.",)
    assert made.negatives == ()
    assert made.entities == {"city": "Oslo"}


# -- by a model ----------------------------------------------------------------------------------


EMPTY = {"done": [], "findings": [], "open_questions": [], "negatives": [], "entities": {}}


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ([], "must be a JSON object"),
        ({}, "'done' must be a list"),
        (EMPTY, "empty"),
        ({**EMPTY, "done": [""], "entities": {"a": " "}}, "empty"),
        ({**EMPTY, "done": [1]}, "'done'"),
        ({**EMPTY, "done": ["x"], "entities": []}, "'entities'"),
        ({**EMPTY, "done": ["x"], "entities": {"a": None}}, "entity 'a'"),
        ({**EMPTY, "done": ["x"], "mood": 1}, "'mood'"),
    ],
)
def test_an_answer_that_is_no_summary_says_what_it_lacks(answer: object, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        summary_from_text(json.dumps(answer))


@pytest.mark.parametrize("text", ["", "Summary: fine", '{"done": ["a', "[" * 100_000])
def test_an_answer_that_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not JSON"):
        summary_from_text(text)


def test_a_summary_in_a_fence_is_read_and_cleaned() -> None:
    text = (
        '```json\n{"done": [" a  b ", "a b"], "findings": [], "open_questions": [], '
        '"negatives": [], "entities": {"n": 7}}\n```'
    )
    made = summary_from_text(text)
    assert made.done == ("a b",)
    assert made.entities == {"n": "7"}
    assert summary_from_json(made.to_json()) == made


def test_parts_are_merged_in_order_and_later_values_win() -> None:
    one = Summary(done=("a", "b"), entities={"x": "1", "y": "2"})
    two = Summary(done=("b", "c"), entities={"x": "3"})
    assert merged([one, two]) == Summary(done=("a", "b", "c"), entities={"x": "3", "y": "2"})


def test_the_transcript_tells_who_said_what_and_cuts_long_results() -> None:
    call = ToolCall("c1", "bash", '{"command": "ls"}')
    events = [
        MessageAdded(Message("system", "rules")),
        MessageAdded(Message("user", "look")),
        MessageAdded(Message("assistant", "I look", (call,))),
        ResultArrived("c1", "bash", "x" * 10_000),
    ]
    texts = list(transcript(events))
    assert texts[:3] == [
        "user: look",
        "assistant: I look",
        'assistant calls bash {"command": "ls"}',
    ]
    assert len(texts[3]) < 3_500
    assert "[… 6,700 characters …]" in texts[3]


def test_chunks_fit_and_lose_nothing() -> None:
    texts = ["a b c", "d " * 40, "e f"]
    parts = list(chunks(texts, 12, count))
    assert all(count(part) <= 12 for part in parts)
    assert "".join("".join(parts).split()) == "".join("".join(texts).split())


def test_groups_fit() -> None:
    assert grouped(["a b", "c d", "e f g h i j k"], 9, count) == [["a b", "c d"], ["e f g h i j k"]]


@pytest.mark.parametrize("tokens", [160, 200, 400, 800, 2_000])
def test_a_bounded_form_ends_in_time_even_at_a_token_a_character(tokens: int) -> None:
    """The longest answer the form allows, as small models write it: a line for each item."""
    fields = bounded(schema("summary"), tokens)["properties"]
    assert isinstance(fields, dict)
    answer: dict[str, object] = {"entities": {}}
    for name in LISTS:
        field = fields[name]
        item = "9" * field["items"]["maxLength"]
        answer[name] = [item] * field["maxItems"]
    longest = json.dumps(answer, indent=4)
    digits = longest.count("9")
    around = 3 * longest.count('"') // 2  # quote, comma and line break with its spaces; names
    assert digits + around <= tokens
    assert digits >= tokens * 0.4
