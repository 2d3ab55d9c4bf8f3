"""Lists that hold a message among their records, JSON written twice, lines that are no JSON."""

from __future__ import annotations

import json
import re

import pytest

from contextctl.core.count import Approx
from contextctl.core.reading.fields import fetch_fields
from contextctl.core.shaping.shape import shape_result
from contextctl.model.shaping import Shaped, ShapeRule
from contextctl.model.tool_rules import Page


def shaped(raw: str, *fields: str) -> Shaped:
    return shape_result(raw, ShapeRule(fields=fields), "full", Approx(), "s-ref", "en")


def test_a_row_that_is_no_object_stays_what_it_is() -> None:
    rows = [{"id": 1, "x": 1}, "timed out", 7, None, {"id": 4, "x": 1}]
    assert json.loads(shaped(json.dumps(rows), "id").text)[:1] == [{"id": 1}]
    text = shaped(json.dumps(rows), "id").text
    assert text.startswith('[{"id":1},"timed out",7,null,{"id":4}]') or '"timed out",7,null' in text


def test_records_are_found_beside_a_message() -> None:
    said = {"rows": [{"id": 1, "x": 1}, "timed out", {"id": 4, "x": 1}]}
    shown = json.loads(shaped(json.dumps(said), "id").text)
    assert shown["rows"] == [{"id": 1}, "timed out", {"id": 4}]


def test_json_inside_a_json_string_is_read() -> None:
    once = json.dumps({"id": 1, "secret": 2})
    assert json.loads(shaped(json.dumps(once), "id").text)["id"] == 1
    assert "secret" not in shaped(json.dumps(once), "id").text


def test_a_line_that_is_no_json_is_a_row_of_text() -> None:
    lines = '{"id":1,"q":2}\n{"id":2,"q":2}\nnot json\n{"id":3,"q":1}\n'
    shown = [json.loads(line) for line in shaped(lines, "id").text.splitlines()]
    assert shown[:4] == [{"id": 1}, {"id": 2}, "not json", {"id": 3}]
    # What the hint sends the model to reads the same rows.
    read = fetch_fields(lines, "r", ["[]"])
    assert "not json" in json.dumps(read)


def test_fields_that_cannot_be_applied_are_told() -> None:
    told = shaped('Result: {"id": 1}', "id").warnings
    assert told == ("the result is text without records, so the rule's 'fields' were not applied",)
    assert shaped('{"id": 1}', "id").warnings == ()


@pytest.mark.parametrize("rows", [5, 40])
def test_the_hint_of_a_page_leads_to_its_next_rows(rows: int) -> None:
    """A result that is itself the list is named ``[]`` in the hint; fetch has to know it."""
    raw = json.dumps([{"id": n, "x": 1} for n in range(rows)])
    rule = ShapeRule(page=Page(limit=3))
    hint = json.loads(shape_result(raw, rule, "full", Approx(), "s-ref", "en").text)["hint"]
    asked = re.search(r'fetch\(ref="s-ref", fields="(.*?)", start=(\d+)\)', hint)
    assert asked is not None
    read = fetch_fields(raw, "s-ref", [asked[1]], start=int(asked[2]))
    assert read["values"] == {"[]": [{"id": str(n), "x": "1"} for n in range(3, rows)]}
    assert read["total"] == rows
