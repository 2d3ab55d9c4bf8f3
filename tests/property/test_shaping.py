"""Laws of shaping: exact values, honest pages, bounded size, valid text, the same every time."""

from __future__ import annotations

import json
import re
from typing import Any

import regex
from hypothesis import given
from hypothesis import strategies as st

from contextctl.core.reading.exact_json import Number
from contextctl.core.shaping import ShapeCall, Shaped, ShapeRule, shape_result
from contextctl.core.shaping.clean import clean_text
from contextctl.io.models.vocab import counter_for
from contextctl.model.tool_rules import Page, TextCut

COUNTER = counter_for("o200k_base", "gpt-4.1")
NAMES = ("id", "名称", "a.b", "x", "note", "\u202eל")

texts = st.text(st.characters(exclude_categories=()), max_size=60)
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,6})?([eE][+-]?[0-9]{1,3})?", re.ASCII)
numbers = st.from_regex(_NUMBER, fullmatch=True)
leaves = st.none() | st.booleans() | numbers.map(Number) | texts
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.dictionaries(st.sampled_from(NAMES) | texts, inner, max_size=6)
    ),
    max_leaves=40,
)
rows = st.dictionaries(st.sampled_from(NAMES), leaves, max_size=6)
odd = ["\x1b[31m", "\r", "\n", "👩‍👩‍👧", "e\u0301", "🇨🇳", "\x00", "数", "\x08", "\r\n"]
odd_text = st.lists(st.characters(exclude_categories=()) | st.sampled_from(odd), max_size=200).map(
    "".join
)
caps = st.integers(16, 400)
modes = st.sampled_from(["full", "ref"])


def written(value: Any, indent: int | None) -> str:
    """JSON text whose numbers are exactly those of ``value``."""
    marks: list[str] = []

    def marked(node: Any) -> Any:
        if isinstance(node, Number):
            marks.append(str(node))
            return f"\ue000{len(marks) - 1}\ue001"
        if isinstance(node, list):
            return [marked(item) for item in node]
        if isinstance(node, dict):
            return {key: marked(item) for key, item in node.items()}
        return node.replace("\ue000", "") if isinstance(node, str) else node

    text = json.dumps(marked(value), indent=indent, ensure_ascii=indent is None)
    return re.sub(r'"(?:\\ue000|\ue000)(\d+)(?:\\ue001|\ue001)"', lambda m: marks[int(m[1])], text)


def read(text: str) -> Any:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=refuse)


def shape(raw: str, mode: str = "full", call: ShapeCall | None = None, **rule: Any) -> Shaped:
    shaped = shape_result(raw, ShapeRule(**rule), mode, COUNTER, "s1-abc123", "en", call)
    again = shape_result(raw, ShapeRule(**rule), mode, COUNTER, "s1-abc123", "en", call)
    assert shaped == again
    shaped.text.encode("utf-8")
    assert shaped.tokens == COUNTER.text(shaped.text)
    assert shaped.tokens <= shaped_cap(rule)
    return shaped


def shaped_cap(rule: dict[str, Any]) -> int:
    return int(rule.get("max_tokens", 2500))


@given(
    st.dictionaries(texts, values, max_size=6) | st.lists(values, max_size=6),
    st.sampled_from([None, 0, 2]),
)
def test_json_without_a_rule_is_the_same_value_in_no_more_tokens(
    value: Any, indent: int | None
) -> None:
    raw = written(value, indent)
    shaped = shape(raw, max_tokens=100_000)
    if shaped.kind != "json":  # content parts of a chat message, or nested beyond reading
        return
    assert read(shaped.text) == read(raw)
    if raw.encode("utf-8", "replace").decode() == raw:  # else it could not be sent as it is
        assert shaped.tokens <= COUNTER.text(raw)
    assert shaped.lossless
    assert r"\u4" not in shaped.text


@given(values, caps, modes, st.lists(st.sampled_from(NAMES), max_size=3), st.integers(1, 4))
def test_whatever_the_rule_the_cap_holds_and_json_stays_strict(
    value: Any, cap: int, mode: str, fields: list[str], limit: int
) -> None:
    raw = written(value, 1)
    shaped = shape(raw, mode, max_tokens=cap, fields=tuple(fields) or None, page=Page(limit))
    if shaped.kind == "json" and cap >= 200:
        read(shaped.text)


@given(st.lists(rows, min_size=1, max_size=12), st.sets(st.sampled_from(NAMES[:2]), min_size=1))
def test_a_whitelist_keeps_every_row_and_exactly_its_fields(
    table: list[dict[str, Any]], fields: set[str]
) -> None:
    raw = written(table, None)
    shaped = shape(raw, max_tokens=100_000, fields=tuple(sorted(fields)))
    out = read(shaped.text)
    original = read(raw)
    if not any(field in row for row in original for field in fields):
        assert "hint" in out
        return
    kept = out if isinstance(out, list) else out["items"]
    assert kept == [{k: v for k, v in row.items() if k in fields} for row in original]
    known = {field for row in original for field in row}
    assert len(shaped.warnings) == len(fields - known)


@given(st.integers(0, 60), st.integers(1, 25), caps.filter(lambda cap: cap >= 120))
def test_pages_taken_one_after_the_other_give_every_row_once(
    count: int, limit: int, cap: int
) -> None:
    raw = json.dumps(
        {"meta": {"q": "bolt"}, "rows": [{"n": n, "name": f"item {n}"} for n in range(count)]}
    )
    seen: list[int] = []
    cursor: Any = None
    for _ in range(count + 2):
        shaped = shape(raw, max_tokens=cap, page=Page(limit), call=ShapeCall(cursor=cursor))
        out = json.loads(shaped.text)
        assert out["meta"] == {"q": "bolt"}
        assert len(out["rows"]) == shaped.returned <= limit
        assert shaped.total == count
        assert shaped.omitted == count - shaped.returned
        assert shaped.truncated == (shaped.omitted > 0)
        seen += [row["n"] for row in out["rows"]]
        cursor = shaped.next_cursor
        if cursor is None:
            break
        assert out["next_cursor"] == cursor
        assert "Do not answer as if" in out["hint"]
    assert seen == list(range(count))


@given(odd_text, st.integers(1, 40), caps, modes, st.integers(0, 60), st.integers(0, 60))
def test_text_is_bounded_clean_and_cut_between_visible_characters(
    unit: str, times: int, cap: int, mode: str, head: int, tail: int
) -> None:
    raw = unit * times
    shaped = shape(raw, mode, max_tokens=cap, text=TextCut(head, tail))
    if shaped.kind not in {"text", "log"} or mode == "ref":
        return
    clean = clean_text(raw)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", shaped.text)
    if not shaped.truncated:
        assert shaped.text == clean
        return
    assert len(shaped.text) <= len(clean)
    start = max(n for n in range(len(shaped.text) + 1) if clean.startswith(shaped.text[:n]))
    marked = re.search(r"\n?\[…|…", shaped.text[: start + 3])
    kept = shaped.text[: marked.start()] if marked else ""
    if clean.startswith(kept):
        whole = "".join(regex.findall(r"\X", clean)[: len(regex.findall(r"\X", kept))])
        assert whole == kept


@given(odd_text)
def test_cleaning_twice_is_cleaning_once(raw: str) -> None:
    assert clean_text(clean_text(raw)) == clean_text(raw)
