from __future__ import annotations

import json

import pytest

from contextctl.core.tools.arguments import replayable, replayable_name
from contextctl.model.message import ToolSpec


@pytest.mark.parametrize("raw", ['{"b": 1,  "a": 2}', "{}", ' {"城市":"巴黎"}\n'])
def test_an_object_is_replayed_byte_for_byte(raw):
    assert replayable(raw) == raw


@pytest.mark.parametrize("raw", ["", " ", '{"city": "Par', "null", "[]", '"x"', '{"a": NaN}'])
def test_anything_else_is_replayed_as_the_empty_object(raw):
    assert replayable(raw) == "{}"
    assert json.loads(replayable(raw)) == {}


@pytest.mark.parametrize(
    ("made_up", "shown"),
    [
        ("weather", "weather"),
        ("functions.weather", "functions_weather"),
        (" weather ", "weather"),
        ("查询", "unnamed"),
        ("", "unnamed"),
        ("a" * 65, "a" * 64),
        ("multi_tool_use.parallel\n", "multi_tool_use_parallel"),
    ],
)
def test_a_name_that_providers_refuse_is_shown_as_one_that_they_take(made_up, shown):
    assert replayable_name(made_up, []) == shown


def test_a_tool_s_own_name_stays_whatever_it_is():
    tool = ToolSpec("browser.open", "", {"type": "object", "properties": {}}, "trace")
    assert replayable_name("browser.open", [tool]) == "browser.open"
