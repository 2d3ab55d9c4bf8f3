from __future__ import annotations

import json

import pytest

from contextctl.core.tools.arguments import replayable


@pytest.mark.parametrize("raw", ['{"b": 1,  "a": 2}', "{}", ' {"城市":"巴黎"}\n'])
def test_an_object_is_replayed_byte_for_byte(raw):
    assert replayable(raw) == raw


@pytest.mark.parametrize("raw", ["", " ", '{"city": "Par', "null", "[]", '"x"', '{"a": NaN}'])
def test_anything_else_is_replayed_as_the_empty_object(raw):
    assert replayable(raw) == "{}"
    assert json.loads(replayable(raw)) == {}
