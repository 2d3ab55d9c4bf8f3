"""Resident layers and the tool array: stable first, stable bytes, honest about what changed."""

from __future__ import annotations

import json
from itertools import chain
from typing import Any

from contextctl.core.assemble import Fold
from contextctl.model.message import ToolSpec
from contextctl.model.record import EnvironmentRead, ToolsListed
from tests.unit.core.folding import Words, contents, opened, profile, steps, turn, user

LAYERS = [
    {"id": "clock", "environment": ["date", "timezone"], "stability": "step"},
    {"id": "rules", "text": "Never ship twice.", "stability": "static"},
    {"id": "flow", "text": "First look, then act.", "stability": "profile"},
]


def spec(name: str, **properties: Any) -> ToolSpec:
    return ToolSpec(name, f"does {name}", {"type": "object", "properties": properties}, "server")


def test_stable_layers_come_first_whatever_the_declared_order() -> None:
    fold = Fold(profile(prefix=LAYERS), Words())
    events = [opened(), EnvironmentRead({"date": "2026-11-30", "timezone": "UTC"}), user("hi")]
    system = contents(steps(fold, events)[-1])[0]
    assert system == (
        "Never ship twice.\n\nFirst look, then act.\n\ndate: 2026-11-30\ntimezone: UTC"
    )


def test_each_layer_has_its_part_and_digest() -> None:
    ledger = steps(Fold(profile(prefix=LAYERS), Words()), [opened(), user("hi")])[-1].ledger
    assert [layer.id for layer in ledger.prefix.layers] == ["rules", "flow"]  # nothing read yet
    assert ledger.parts["system.rules"] == 3 + 4  # words, and the framing of the message
    assert ledger.parts["system.flow"] == 4 + 1  # words, and the blank line before them
    assert len({layer.digest for layer in ledger.prefix.layers}) == 2


def test_a_new_date_is_told_at_the_tail_and_enters_its_layer_at_a_batch() -> None:
    reduce = {"reduce": {"trigger": 0.65, "target": 0.5}}
    fold = Fold(profile(1_000, prefix=LAYERS, budget=reduce), Words())
    head = [opened(), EnvironmentRead({"date": "2026-11-30", "timezone": "UTC"}), user("hi")]
    midnight = [*turn(1), EnvironmentRead({"date": "2026-12-01"}), *turn(2)]
    walked = steps(fold, [*head, *midnight, *chain.from_iterable(turn(n) for n in range(3, 30))])
    told = contents(walked[2])
    assert "date: 2026-11-30" in told[0]
    assert told[-1].endswith("- date is now: 2026-12-01")
    assert walked[2].ledger.prefix.broke_at is None
    assert walked[2].ledger.parts["query.reminders"] > 0
    batch = next(index for index, step in enumerate(walked) if step.actions)
    assert "date: 2026-12-01" in contents(walked[batch])[0]
    assert not contents(walked[batch])[-1].startswith("[now]")


def test_tools_do_not_depend_on_the_order_in_which_a_server_lists_them() -> None:
    first = [spec("b", y={"type": "string"}, x={"type": "integer"}), spec("a")]
    second = [spec("a"), spec("b", x={"type": "integer"}, y={"type": "string"})]
    arrays = []
    for listed in (first, second):
        fold = Fold(profile(), Words())
        events = [opened(), ToolsListed("server", tuple(listed)), user("hi")]
        arrays.append(json.dumps(steps(fold, events)[-1].tools))
    assert arrays[0] == arrays[1]


def test_a_tool_that_goes_and_comes_back_restores_the_bytes_and_both_changes_are_named() -> None:
    both = ToolsListed("server", (spec("a"), spec("b")))
    one = ToolsListed("server", (spec("a"),))
    fold = Fold(profile(), Words())
    events = [opened(), both, user("hi"), *turn(1), one, *turn(2), both, *turn(3)]
    walked = steps(fold, events)
    assert walked[0].tools == walked[2].tools != walked[1].tools
    broke = [step.ledger.prefix.broke_at for step in walked]
    assert broke == [None, "tools", "tools", None]


def test_a_denied_tool_is_not_offered() -> None:
    rules = profile(tools={"b": {"permission": "deny"}})
    listed = ToolsListed("server", (spec("a"), spec("b")))
    window = steps(Fold(rules, Words()), [opened(), listed, user("hi")])[-1]
    assert [tool["function"]["name"] for tool in window.tools] == ["a"]  # type: ignore[index,call-overload]


def test_the_reader_joins_the_array_with_the_first_ref_and_at_its_end() -> None:
    shaping = {"max_tokens": 30, "text": {"head": 40, "tail": 10}}
    rules = profile(100_000, shaping=shaping)
    listed = ToolsListed("trace", (spec("bash"), spec("zip")))
    walked = steps(Fold(rules, Words()), [opened(), listed, user("hi"), *turn(1, 5), *turn(2, 400)])
    names = [[tool["function"]["name"] for tool in step.tools] for step in walked]  # type: ignore[index,call-overload]
    assert names == [["bash", "zip"], ["bash", "zip"], ["bash", "zip", "read_workspace"]]
