from __future__ import annotations

import pytest

from contextctl.model.arguments import ArgumentsError, quoted, read_arguments


@pytest.mark.parametrize("raw", ["", "  \n", "{}", " {} "])
def test_blank_text_is_the_empty_object(raw):
    assert read_arguments(raw) == {}


def test_numbers_and_texts_arrive_exactly():
    raw = '{"id": 9007199254740993123, "城市": "巴黎\\ud83d\\ude00"}'
    assert read_arguments(raw) == {"id": 9007199254740993123, "城市": "巴黎😀"}


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ('{"city": "Par', "line 1 column 10 (character 9)"),
        ('{"a":1}{"b":2}', "line 1 column 8 (character 7)"),
        ('{"city": "Paris",}', "character 17"),
        ("null", "must be a JSON object, not null"),
        ("[]", "must be a JSON object, not an array"),
        ('"Paris"', "must be a JSON object, not a string"),
        ("5", "not a number"),
        ("true", "not a boolean"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": -Infinity}', "-Infinity is not a JSON number"),
        ("[" * 200_000, "nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", "a number too long"),
    ],
)
def test_what_is_wrong_is_said_shortly(raw, says):
    with pytest.raises(ArgumentsError) as caught:
        read_arguments(raw)
    assert says in str(caught.value)
    assert len(str(caught.value)) < 320


def test_a_long_text_is_cut_and_counted():
    assert quoted("x" * 1_000_120) == '"' + "x" * 120 + '" and 1,000,000 characters more'
