"""Every file of the JSON test suites, shaped: strict JSON stays strict, the rest stays text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from contextctl.core.reading.exact_json import Number
from contextctl.core.shaping import ShapeRule, shape_result
from contextctl.io.models.vocab import counter_for
from contextctl.model.tool_rules import Page

COUNTER = counter_for("o200k_base", "gpt-4.1")
RULES = (ShapeRule(), ShapeRule(fields=("a", "x.y")), ShapeRule(page=Page(2)))


def strict(text: str) -> Any:
    """The value of strict JSON, numbers as written; ``ValueError`` for NaN and the infinities."""

    def refuse(name: str) -> None:
        raise ValueError(name)

    return json.loads(text, parse_constant=refuse, parse_float=Number, parse_int=Number)


def cases(shared: Path, start: str) -> list[tuple[str, str]]:
    folder = shared / "data" / "06_bad_inputs" / "JSONTestSuite_test_parsing"
    files = sorted(folder.glob(f"{start}_*.json"))
    assert files
    # As a tool's output reaches a record: bytes that are no UTF-8 come as half surrogate pairs.
    return [(f.name, f.read_bytes().decode("utf-8", "surrogateescape")) for f in files]


def test_valid_json_stays_the_same_value(shared: Path) -> None:
    for name, raw in cases(shared, "y"):
        shaped = shape_result(raw, RULES[0], "full", COUNTER, "r1", "en")
        if raw.strip() == '""':
            continue
        assert strict(shaped.text) == strict(raw), name
        assert shaped.tokens <= COUNTER.text(raw), name


@pytest.mark.parametrize("rule", RULES)
def test_no_file_raises_and_what_is_called_json_is_strict(shared: Path, rule: ShapeRule) -> None:
    for start in "yni":
        for name, raw in cases(shared, start):
            for mode in ("full", "ref"):
                shaped = shape_result(raw, rule, mode, COUNTER, "r1", "en")
                shaped.text.encode("utf-8")
                assert shaped.tokens == COUNTER.text(shaped.text) <= 2500, name
                if shaped.kind in {"json", "python"}:
                    strict(shaped.text)


def test_text_that_is_no_json_is_not_called_json(shared: Path) -> None:
    # The two spellings that Python reads beyond the grammar become strict JSON.
    lenient = {"n_number_NaN.json", "n_number_infinity.json"}
    for name, raw in cases(shared, "n"):
        shaped = shape_result(raw, RULES[0], "full", COUNTER, "r1", "en")
        if name in lenient or "NaN" in raw or "Infinity" in raw:
            continue
        # A Python literal may be no JSON and still have an exact value in JSON's terms.
        assert shaped.kind in {"text", "xml", "empty", "python", "binary"}, name


def test_numbers_keys_and_odd_texts_survive_whitelist_and_dump(shared: Path) -> None:
    folder = shared / "data" / "06_bad_inputs" / "JSONTestSuite_test_transform"
    files = sorted(folder.glob("*.json"))
    assert len(files) > 15
    for file in files:
        raw = file.read_bytes().decode("utf-8", "surrogateescape")
        wrapped = f'{{"keep": {raw}, "drop": "{"x" * 400}"}}'
        rule = ShapeRule(fields=("keep",))
        shaped = shape_result(wrapped, rule, "full", COUNTER, "", "en")
        if shaped.kind != "json":
            continue
        assert strict(shaped.text)["keep"] == strict(raw), file.name
        shaped.text.encode("utf-8")
