"""JSON results: whitelist, pages, fitting under the cap, strict JSON with exact values."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest

from contextctl.core.shaping import ShapeCall, Shaped, ShapeRule, shape_result
from contextctl.io.models.vocab import counter_for
from contextctl.model.tool_rules import Page

COUNTER = counter_for("o200k_base", "gpt-4.1")
REF = "s1-abc123"


def shape(raw: str, *, mode: str = "full", locale: str = "en", ref: str = REF,
          call: ShapeCall | None = None, **rule: Any) -> Shaped:  # fmt: skip
    return shape_result(raw, ShapeRule(**rule), mode, COUNTER, ref, locale, call)


def encoded(size: int) -> str:
    """Base64 of bytes that look random and are the same every time."""
    blocks = (hashlib.sha256(bytes([n % 256, n // 256])).digest() for n in range(size // 32 + 1))
    return base64.b64encode(b"".join(blocks)[:size]).decode()


def printed(*parts: str, error: bool = False) -> str:
    """An MCP answer as Python prints the SDK's object."""
    listed = ", ".join(f"TextContent({part})" for part in parts)
    return f"meta=None content=[{listed}] structuredContent=None isError={error}"


def orders(count: int, **more: Any) -> str:
    rows = [
        {"id": f"A-{n}", "status": "paid", "customer": {"name": f"N{n}", "mail": "x@y"},
         "items": [{"sku": f"S{n}", "qty": 1}], "internal": "z" * 40}
        for n in range(count)
    ]  # fmt: skip
    return json.dumps({"total": count, "orders": rows, **more} if more else rows)


def test_paths_cross_objects_and_lists_and_rows_keep_their_order() -> None:
    shaped = shape(orders(2), fields=("id", "customer.name", "items[].sku"))
    assert json.loads(shaped.text)["items"] == [
        {"id": "A-0", "customer": {"name": "N0"}, "items": [{"sku": "S0"}]},
        {"id": "A-1", "customer": {"name": "N1"}, "items": [{"sku": "S1"}]},
    ]
    assert not shaped.lossless
    assert shaped.warnings == ()
    assert (shaped.returned, shaped.total, shaped.truncated) == (2, 2, False)


def test_paths_that_start_at_the_rows_of_a_list_inside_an_object() -> None:
    shaped = shape(orders(2, page=1), fields=("id", "status"))
    out = json.loads(shaped.text)
    assert out["orders"] == [{"id": "A-0", "status": "paid"}, {"id": "A-1", "status": "paid"}]
    assert "page" not in out


def test_a_name_that_stands_at_the_root_and_in_the_rows_is_kept_in_both() -> None:
    raw = json.dumps({"total": 2, "rows": [{"total": 1.5, "x": 1}, {"total": 2.5, "x": 2}]})
    out = json.loads(shape(raw, fields=("total",)).text)
    assert out["total"] == 2
    assert out["rows"] == [{"total": 1.5}, {"total": 2.5}]


def test_a_row_without_the_field_stays_empty() -> None:
    raw = '[{"id":1,"b":"bbbbbbbbbbbbbbbbbbbbbbb"},{"b":2},null,{"id":null}]'
    shaped = shape(raw, fields=("id",))
    assert json.loads(shaped.text)["items"] == [{"id": 1}, {}, None, {"id": None}]


def test_an_unknown_path_is_one_warning_and_nothing_else() -> None:
    shaped = shape('[{"id":1},{"id":2}]', fields=("id", "nope"))
    assert shaped.text == '[{"id":1},{"id":2}]'
    assert len(shaped.warnings) == 1
    assert "'nope'" in shaped.warnings[0]


def test_when_every_path_misses_the_result_says_so_and_keeps_what_an_error_says() -> None:
    shaped = shape('{"error":"rate limited"}', fields=("id", "name"))
    out = json.loads(shaped.text)
    assert out["result"] == {"error": "rate limited"}
    assert "id, name" in out["hint"]
    assert out["available"] == ["error"]


def test_when_every_path_misses_in_a_large_result_the_ref_leads_to_it() -> None:
    shaped = shape(orders(100), fields=("order_id",))
    out = json.loads(shaped.text)
    assert out["ref"] == REF
    assert out["available"][:2] == ["id", "status"]
    assert "order_id" in out["hint"]
    assert not shaped.lossless


def test_the_whitelist_leaves_an_error_alone() -> None:
    raw = '{"id":1,"reason":"no such order"}'
    assert shape(raw, fields=("id",), call=ShapeCall(status="error")).text == raw


def test_quoted_and_dotted_keys_and_indexes() -> None:
    raw = json.dumps({"labels": {"app.io/name": "web", "x": 1}, "list": [{"a": 1}, {"a": 2}]})
    fields = ('labels."app.io/name"', "list[1].a")
    expected = {"labels": {"app.io/name": "web"}, "list": [{"a": 2}]}
    out = json.loads(shape(raw, fields=fields).text)
    assert {key: out[key] for key in expected} == expected
    out = json.loads(shape(raw, fields=("labels.app.io/name",)).text)
    assert out["labels"] == {"app.io/name": "web"}


def test_a_page_states_everything_and_names_the_aggregate_tool() -> None:
    rule = {"fields": ("id",), "page": Page(3, "id"), "aggregate": "count_orders"}
    out = json.loads(shape(orders(10), **rule).text)
    assert [row["id"] for row in out["items"]] == ["A-0", "A-1", "A-2"]
    hint = out.pop("hint")
    assert {key: out[key] for key in out if key not in {"items", "omitted_fields"}} == {
        "returned": 3, "total": 10, "truncated": True, "omitted": 7, "next_cursor": "A-3",
    }  # fmt: skip
    assert "Do not answer as if these were all" in hint
    assert "count_orders" in hint
    assert REF in hint


def test_the_hint_in_chinese() -> None:
    text = shape(orders(30), page=Page(5), aggregate="count_orders", locale="zh").text
    assert "共 30 条" in text
    assert "不得把这部分当作全部" in text
    assert "请调用 count_orders" in text


def test_the_total_that_the_tool_gives_counts_even_when_its_page_is_shown_whole() -> None:
    raw = json.dumps({"count": 217, "next": "tok9", "data": [{"id": n} for n in range(5)]})
    shaped = shape(raw, page=Page(20, "next", "count"))
    out = json.loads(shaped.text)
    assert (out["returned"], out["total"], out["omitted"]) == (5, 217, 212)
    assert out["next_cursor"] == "tok9"
    assert shaped.truncated


def test_pages_by_the_value_of_a_field_begin_at_that_row() -> None:
    rule = {"fields": ("id",), "page": Page(4, "id")}
    second = shape(orders(10), call=ShapeCall(cursor="A-4"), **rule)
    assert [row["id"] for row in json.loads(second.text)["items"]] == ["A-4", "A-5", "A-6", "A-7"]
    assert second.next_cursor == "A-8"
    unknown = json.loads(shape(orders(10), call=ShapeCall(cursor="A-99"), **rule).text)
    assert (unknown["items"], unknown["total"], unknown["next_cursor"]) == ([], 10, None)


def test_a_name_of_the_note_that_the_result_uses_for_something_else_is_not_overwritten() -> None:
    raw = json.dumps({"hint": "call us", "rows": [{"n": n} for n in range(9)]})
    out = json.loads(shape(raw, page=Page(2)).text)
    assert out["hint"] == "call us"
    assert out["_page"]["total"] == 9


def test_without_a_page_rule_as_many_rows_as_fit_are_shown() -> None:
    shaped = shape(orders(400), max_tokens=600)
    out = json.loads(shaped.text)
    assert shaped.tokens <= 600
    assert shaped.tokens > 400
    assert out["items"] == json.loads(orders(400))[: out["returned"]]
    assert out["total"] == 400
    assert out["next_cursor"] == out["returned"]


def test_one_row_that_is_too_large_is_cut_inside_and_stays_json() -> None:
    raw = json.dumps([{"id": 7, "log": "x y " * 4000, "tags": list(range(3000))}] * 3)
    shaped = shape(raw, page=Page(2), max_tokens=300)
    row = json.loads(shaped.text)["items"][0]
    assert row["id"] == 7
    assert "characters]…" in row["log"]
    assert row["tags"][-1].startswith("…[")
    assert shaped.tokens <= 300
    assert not shaped.lossless


def test_an_object_without_rows_keeps_its_outline() -> None:
    raw = json.dumps({"spec": {f"k{n}": "v w " * 200 for n in range(20)}, "status": "Running"})
    shaped = shape(raw, max_tokens=500)
    out = json.loads(shaped.text)
    assert out["status"] == "Running"
    assert len(out["spec"]) == 20
    assert all(text.startswith("v w v w") for text in out["spec"].values())
    assert out["truncated"] is True
    assert shaped.tokens <= 500


@pytest.mark.parametrize(
    "number", ["1234567890123456789", "1.10", "1e400", "-0", "0.1000000000000000055511151231257827"]
)
def test_numbers_keep_every_digit(number: str) -> None:
    raw = f'[{{"id": {number}, "drop": "{"x" * 60}"}}]'
    shaped = shape(raw, fields=("id",))
    assert f'"id":{number}' in shaped.text


def test_pretty_json_is_compacted_without_escapes_or_changes() -> None:
    value = {"标题": "季度", "n": [1, 2], "quote": 'a"b\\c\n', "half": "\ud83d"}
    raw = json.dumps(value, indent=4)
    shaped = shape(raw)
    assert shaped.text == '{"标题":"季度","n":[1,2],"quote":"a\\"b\\\\c\\n","half":"\\ud83d"}'
    assert json.loads(shaped.text) == value
    assert shaped.lossless


def test_surrogate_pairs_become_the_character() -> None:
    assert shape('{"e":"\\ud83d\\ude00 \\u00e9 \\u0001"}').text == '{"e":"😀 é \\u0001"}'


def test_nan_and_infinities_become_text_and_repeated_keys_stay() -> None:
    shaped = shape('{"a": NaN, "b": [-Infinity, Infinity], "s": "NaN", "a": 1}')
    assert shaped.text == '{"a":"NaN","b":["-Infinity","Infinity"],"s":"NaN","a":1}'
    twice = shape('{"a": 1, "a": 2, "b": 3}', fields=("a",))
    assert json.loads(twice.text)["a"] == 2
    assert any("'a' occurs twice" in warning for warning in twice.warnings)


def test_lines_of_json_are_rows() -> None:
    raw = "\n".join(json.dumps({"id": n, "text": "t" * 50}) for n in range(30))
    shaped = shape(raw, fields=("id",), page=Page(2))
    lines = [json.loads(line) for line in shaped.text.split("\n")]
    assert lines[:2] == [{"id": 0}, {"id": 1}]
    assert (lines[2]["total"], lines[2]["next_cursor"]) == (30, 2)
    assert shaped.kind == "ndjson"


def test_a_python_literal_becomes_json() -> None:
    shaped = shape("{'id': 12345678901234567890, 'ok': True, 'name': \"O'Hara\", 'x': None}")
    assert shaped.text == '{"id":12345678901234567890,"ok":true,"name":"O\'Hara","x":null}'
    assert shaped.kind == "python"


@pytest.mark.parametrize("raw", ["{1: 'a'}", "{'a', 'b'}", "{'when': date(2024, 1, 1)}", "[b'x']"])
def test_python_values_that_json_has_no_word_for_stay_as_they_are(raw: str) -> None:
    assert shape(raw).text == raw


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (printed("type='text', text='a\\n\\'b\\'', annotations=None"), "a\n'b'"),
        (printed("type='text', text='x'", "type='text', text='y'"), "x\ny"),
        (printed("type='text', text='no such file'", error=True), "Error: no such file"),
        ('{"content":[{"type":"text","text":"季\\u5ea6"}],"isError":false}', "季度"),
        ('[{"type":"text","text":"a"},{"type":"text","text":"b"}]', "a\nb"),
    ],
)  # fmt: skip
def test_an_mcp_answer_is_unwrapped(raw: str, text: str) -> None:
    assert shape(raw).text == text


def test_json_inside_an_mcp_answer_is_shaped() -> None:
    inner = json.dumps([{"id": n, "x": "y"} for n in range(50)])
    raw = f"meta=None content=[TextContent(type='text', text={inner!r})] isError=False"
    out = json.loads(shape(raw, page=Page(2)).text)
    assert (out["items"], out["total"]) == ([{"id": 0, "x": "y"}, {"id": 1, "x": "y"}], 50)


def test_a_thousand_levels_are_no_recursion_error() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    shaped = shape(deep, fields=("a",), page=Page(2), max_tokens=200)
    assert shaped.tokens <= 200
    assert shaped.truncated
    assert shape("[" * 500 + "]" * 500, max_tokens=2500).text == "[" * 500 + "]" * 500


def test_reference_mode_says_what_there_is_and_how_to_read_it() -> None:
    raw = orders(300)
    shaped = shape(raw, mode="ref")
    out = json.loads(shaped.text)
    assert out["ref"] == REF
    assert (out["items"], out["chars"], out["lines"]) == (300, len(raw), 1)
    assert out["tokens"] == COUNTER.text(raw)
    assert out["fields"][:3] == ["id", "status", "customer.name"]
    assert "fetch(" in out["hint"]
    assert shaped.tokens < 300
    assert not shaped.lossless


def test_a_result_no_larger_than_its_reference_stays() -> None:
    raw = '{"id":1,"status":"paid"}'
    assert shape(raw, mode="ref").text == raw


def test_a_disposable_result_leaves_its_status_and_size() -> None:
    call = ShapeCall(call_id="call_9", status="ok")
    out = json.loads(shape("a\nb", disposable=True, call=call).text)
    assert out == {
        "disposed": True,
        "call_id": "call_9",
        "status": "ok",
        "size": {"lines": 2, "chars": 3, "tokens": COUNTER.text("a\nb")},
    }


def test_base64_in_a_value_is_described_and_the_rest_stays_exact() -> None:
    data = encoded(1_800)
    shaped = shape(json.dumps({"id": 5, "image": data, "name": "logo"}))
    out = json.loads(shaped.text)
    assert (out["id"], out["name"]) == (5, "logo")
    assert f"{len(data):,} characters" in out["image"]
    assert REF in out["image"]
    assert not shaped.lossless


def test_wrapped_base64_inside_a_json_string_leaves_strict_json() -> None:
    line = "MIIDazCCAlOgAwIBAgIUX7f9Qm3kZ8yL0pVb2N5cTg4wDQYJKoZIhvcNAQELBQAw"
    pem = "-----BEGIN CERTIFICATE-----\n" + f"{line}\n" * 20 + "-----END CERTIFICATE-----\n"
    shaped = shape(json.dumps({"cert": pem, "next": "n"}))
    out = json.loads(shaped.text)
    assert out["cert"].startswith("-----BEGIN CERTIFICATE-----\n[base64, ")
    assert line not in shaped.text
    assert out["next"] == "n"
