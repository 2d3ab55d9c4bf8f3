from __future__ import annotations

import dataclasses
import json
import math
from datetime import date
from decimal import Decimal
from enum import Enum

import pytest

from contextctl.io.tools.result_text import decoded, outcome_of_bytes, outcome_of_value
from contextctl.model.outcome import ToolOutcome


class Color(Enum):
    RED = "red"


@dataclasses.dataclass
class Order:
    id: int
    total: Decimal
    day: date


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("已发货", "已发货"),
        ("", ""),
        (None, "null"),
        (True, "true"),
        ({"城市": "巴黎"}, '{"城市":"巴黎"}'),
        ([1, 2.5, "x"], '[1,2.5,"x"]'),
        (1234567890123456789, "1234567890123456789"),
        ({"price": Decimal("10.50")}, '{"price":"10.50"}'),
        (Order(7, Decimal("0.10"), date(2024, 5, 1)), '{"id":7,"total":"0.10","day":"2024-05-01"}'),
        ({"color": Color.RED, "n": (1, 2)}, '{"color":"red","n":[1,2]}'),
        ({"a": math.nan, "b": -math.inf}, '{"a":"NaN","b":"-Infinity"}'),
        ({"cut": "x\ud83d"}, '{"cut":"x\ufffd"}'),
    ],
)
def test_values_become_text_that_loses_nothing(value, text):
    assert outcome_of_value(value) == ToolOutcome(text)


def test_pydantic_models_are_data():
    from pydantic import BaseModel

    class Item(BaseModel):
        name: str
        count: int = 2

    assert json.loads(outcome_of_value([Item(name="笔")]).content) == [{"name": "笔", "count": 2}]


def test_what_json_cannot_hold_is_named():
    with pytest.raises(TypeError, match="type object is not JSON"):
        outcome_of_value({"a": object()})


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("你好".encode(), "你好"),
        ("你好，世界，这是一个测试".encode("gb18030"), "你好，世界，这是一个测试"),
        (b"\xef\xbb\xbfwith a mark", "with a mark"),
        ("wide 宽".encode("utf-16"), "wide 宽"),
        (("日志" * 20).encode()[:-1], "日志" * 19 + "日\ufffd"),
        (b"\x1b[31mred\x1b[0m\n", "\x1b[31mred\x1b[0m\n"),
        (b"", ""),
    ],
)
def test_bytes_that_are_text_become_it(data, text):
    assert outcome_of_bytes(data) == ToolOutcome(text)


def test_a_declared_charset_is_believed_where_it_fits():
    assert decoded("é".encode("latin-1"), "latin-1") == "é"
    assert decoded("é".encode(), "ascii") == "é"
    assert decoded("é".encode(), "no-such-charset") == "é"


@pytest.mark.parametrize(
    ("data", "media"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00", "image/png"),
        (b"%PDF-1.7 text", "application/pdf"),
        (bytes(range(256)) * 4, "application/octet-stream"),
        (b"\x1f\x8b\x08\x00", "application/gzip"),
    ],
)
def test_binary_never_becomes_text(data, media):
    outcome = outcome_of_bytes(data)
    assert outcome.content == f"(binary result: {media}, {len(data):,} bytes)"
    assert (outcome.media, outcome.data) == (media, data)
