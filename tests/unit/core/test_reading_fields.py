from __future__ import annotations

from contextctl.core.reading.exact_json import dump_exact
from contextctl.core.reading.fields import fetch_fields

ORDER = """{"id": 1234567890123456789, "total": 1.10, "客户": {"name": "王芳"},
 "items": [{"sku": "A1", "tags": ["x", "y"]}, {"sku": "B2"}]}"""


def fetched(text: str, *fields: str, max_bytes: int = 6000, start: int = 0) -> str:
    return dump_exact(fetch_fields(text, "r", fields, max_bytes, start=start))


def test_values_keep_their_digits_and_their_script() -> None:
    assert fetched(ORDER, "id", "total", "客户.name") == (
        '{"ref":"r","values":{"id":1234567890123456789,"total":1.10,"客户.name":"王芳"}}'
    )


def test_lists_are_aligned_with_null_for_gaps() -> None:
    assert fetched(ORDER, "items[].sku", "items[].tags", "items[1].sku") == (
        '{"ref":"r","values":{"items[1].sku":"B2","items[].sku":["A1","B2"],'
        '"items[].tags":[["x","y"],null]},"start":0,"returned":2,"total":2,'
        '"truncated":false,"next":null}'
    )


def test_a_path_that_leads_nowhere_comes_with_the_paths_there_are() -> None:
    answer = fetch_fields(ORDER, "r", ["items[].price", "items[9].sku", "id.x"])
    assert answer["missing"] == ["items[].price", "items[9].sku", "id.x"]
    assert answer["available"] == ["id", "total", "客户.name", "items[].sku", "items[].tags[]"]


def test_no_field_at_all_asks_what_there_is() -> None:
    assert fetch_fields('[{"a": {"b": 1}}]', "r", [])["available"] == ["a.b"]


def test_a_list_at_the_top_and_ndjson_are_lists_of_items() -> None:
    wanted = '"values":{"a":[1,2]}'
    assert wanted in fetched('[{"a":1},{"a":2}]', "a")
    assert '"values":{"[].a":[1,2]}' in fetched('[{"a":1},{"a":2}]', "[].a")
    assert wanted in fetched('{"a":1}\n{"a":2}\n', "a")


def test_long_lists_are_paged_to_the_end() -> None:
    text = "[" + ",".join(f'{{"n":{n},"pad":"{"x" * 90}"}}' for n in range(500)) + "]"
    seen: list[object] = []
    start = 0
    while True:
        answer = fetch_fields(text, "r", ["n", "pad"], start=start)
        assert answer["total"] == 500
        assert len(dump_exact(answer)) < 6500
        values = answer["values"]
        assert isinstance(values, dict)
        assert isinstance(values["n"], list)
        seen += values["n"]
        following = answer["next"]
        if following is None:
            break
        assert isinstance(following, dict)
        start = int(str(following["start"]))
    assert seen == [str(n) for n in range(500)]


def test_a_value_larger_than_a_page_is_replaced_by_its_size() -> None:
    answer = fetch_fields('{"a":"' + "y" * 20_000 + '","b":1}', "r", ["a", "b"])
    values = answer["values"]
    assert isinstance(values, dict)
    assert isinstance(values["a"], dict)
    assert values["a"]["omitted_bytes"] == 20_002
    assert values["b"] == "1"


def test_null_is_a_value_and_not_a_gap() -> None:
    assert fetched('{"a":null}', "a") == '{"ref":"r","values":{"a":null}}'


def test_what_is_not_json_says_where_to_look_instead() -> None:
    answer = fetch_fields("plain text", "r", ["a"])
    assert answer["error"] == "bad_arguments"
    assert "use read_workspace" in str(answer["hint"])
    assert fetch_fields("[" * 200_000, "r", ["a"])["error"] == "bad_arguments"


def test_names_with_dots_are_found_quoted_or_not() -> None:
    text = '{"labels":{"app.io/name":"web"}}'
    assert '"web"' in fetched(text, 'labels."app.io/name"')
    assert '"web"' in fetched(text, "labels.app.io/name")
