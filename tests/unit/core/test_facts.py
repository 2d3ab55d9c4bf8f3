"""Which values a text is known by."""

from __future__ import annotations

import time

import pytest

from contextctl.core.digest.facts import MAX_FACTS, extract_facts, omitted_names


def facts(text: str) -> dict[str, str]:
    return {fact.value: fact.key for fact in extract_facts(text).items}


@pytest.mark.parametrize(
    ("text", "value", "key"),
    [
        ('{"order_id": "SO-2024-0001"}', "SO-2024-0001", "order_id"),
        ("tool_name: find_places\n", "find_places", "tool_name"),
        ("use offset=555 to continue", "555", "offset"),
        ("订单号：HAT136，已出票", "HAT136", "订单号"),
        ("see /testbed/astroid/modutils.py:344 for it", "/testbed/astroid/modutils.py", ""),
        ("themes in ~/.pi/agent/themes.", "~/.pi/agent/themes", ""),
        ("文件 /数据/报告/2024年.csv 已生成", "/数据/报告/2024年.csv", ""),
        ("mail ada.l@example.org today", "ada.l@example.org", ""),
        ("at https://example.org/a?b=1.", "https://example.org/a?b=1", ""),
        ("paid 12,345.60 in all", "12,345.60", ""),
        ("on 2024-05-16 at noon", "2024-05-16", ""),
        ("from「北京南站」到", "北京南站", ""),
        ("one of 'foot', 'bike' or 'car'", "bike", ""),
        ('text=\'{\\"title\\": \\"Fall of Rome\\"}\'', "Fall of Rome", "title"),
    ],
)
def test_values_with_their_keys(text: str, value: str, key: str) -> None:
    assert facts(text).get(value) == key


@pytest.mark.parametrize(
    "text", ["an ordinary sentence, and another one", "</div> <br/>", "null, true, None", "", "12"]
)
def test_ordinary_words_are_no_facts(text: str) -> None:
    assert facts(text) == {}


def test_facts_stand_in_order_of_appearance_and_once() -> None:
    text = "B222 then A111 then B222 and C333, X1 is too short to find again"
    found = [fact.value for fact in extract_facts(text).items]
    assert found == ["B222", "A111", "C333"]


def test_a_key_is_no_fact_of_its_own() -> None:
    assert facts('{"order_id": "SO-1234", "note": "order_id"}').get("order_id") in (None, "note")


def test_a_table_of_numbers_is_data_and_a_few_numbers_are_amounts() -> None:
    assert "4711" in facts("the total is 4711 today")
    table = " ".join(str(number) for number in range(1000, 1020))
    assert facts(table) == {}


def test_a_bounded_number_of_facts_the_best_of_them() -> None:
    letters = "abcdefghijklmnopqrst"
    words = " ".join(f"some_name_{one}{two}" for one in letters for two in letters)
    text = f"{words} order_id: SO-99999 "
    found = extract_facts(text)
    assert len(found.items) <= MAX_FACTS
    assert "SO-99999" in found.values


def test_a_long_text_is_read_at_both_ends() -> None:
    text = f"first_id: AA-111\n{'x ' * 100_000}\nlast_id: ZZ-999\n"
    assert {"AA-111", "ZZ-999"} <= extract_facts(text).values


def test_omitted_names_are_the_best_within_the_room() -> None:
    text = "\n".join(f"tool_name: get_item_{chr(97 + i)}a" for i in range(26)) + " 12345 some.code"
    assert len(omitted_names(text, tokens=1000)) >= 26
    few = omitted_names(text, tokens=20)
    assert 0 < len(few) < 6
    assert "some.code" not in omitted_names(text, tokens=1000)


@pytest.mark.parametrize(
    "unit",
    ["a", "-", ".", "a.", "\\", "/", "a/", '"', "@", "a@", "中", "/中", "a=1", "x: '", "'a', "],
)
def test_linear_time_on_runs(unit: str) -> None:
    def spent(size: int) -> float:
        text = unit * (size // len(unit))
        start = time.perf_counter()
        extract_facts(text)
        return time.perf_counter() - start

    spent(10_000)
    # A quadratic pattern would take minutes here.
    assert spent(60_000) < 2.0
    assert spent(5_000_000) < 2.0
