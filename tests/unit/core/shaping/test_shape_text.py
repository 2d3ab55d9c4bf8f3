"""Text results: cleaned, cut in the middle, never through a character, never over the cap."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from contextctl.core.shaping import ShapeCall, Shaped, ShapeRule, shape_result
from contextctl.io.models.vocab import counter_for
from contextctl.model.tool_rules import Page, TextCut

COUNTER = counter_for("o200k_base", "gpt-4.1")
REF = "s1-abc123"


def shape(raw: str, *, mode: str = "full", locale: str = "en", ref: str = REF,
          call: ShapeCall | None = None, **rule: Any) -> Shaped:  # fmt: skip
    return shape_result(raw, ShapeRule(**rule), mode, COUNTER, ref, locale, call)


def encoded(size: int) -> str:
    """Base64 of bytes that look random and are the same every time."""
    blocks = (hashlib.sha256(bytes([n % 256, n // 256])).digest() for n in range(size // 32 + 1))
    return base64.b64encode(b"".join(blocks)[:size]).decode()


LINES = "\n".join(f"line {n} of the log" for n in range(5_000))


def test_short_text_passes_untouched() -> None:
    shaped = shape("a\tb\n  c\n")
    assert shaped.text == "a\tb\n  c\n"
    assert shaped.lossless
    assert not shaped.truncated


def test_long_text_keeps_its_first_2000_and_last_500_characters() -> None:
    shaped = shape(LINES)
    head, tail = LINES[:2000], LINES[-500:]
    assert shaped.text.startswith(head)
    assert shaped.text.endswith(tail)
    marker = shaped.text[2000:-500]
    total = len(LINES)
    for stated in (f"{total:,}", f"{total - 2500:,}", "truncated", REF, "not the whole"):
        assert stated in marker
    assert f"start={head.count(chr(10))}" in marker
    assert (shaped.returned, shaped.total, shaped.omitted) == (2500, total, total - 2500)


def test_the_marker_in_chinese_and_where_a_long_line_goes_on() -> None:
    text = shape("数据" * 20_000, locale="zh").text
    assert "共 40,000 字符" in text
    assert "不得当作全部" in text
    assert "start=0, offset=" in text


@pytest.mark.parametrize("cap", [8, 20, 40, 100, 300, 1000])
@pytest.mark.parametrize("unit", ["word ", "数据分析", "👨‍👩‍👧‍👦", "e\u0301\u0323", "x", "\n"])
def test_the_cap_holds_and_the_result_is_never_longer(cap: int, unit: str) -> None:
    raw = "start " + unit * 6_000 + " end"
    shaped = shape(raw, max_tokens=cap)
    assert COUNTER.text(shaped.text) == shaped.tokens <= cap
    assert len(shaped.text) <= len(raw)


def test_text_hardly_over_the_cap_is_not_made_longer() -> None:
    raw = "汉" * 60
    shaped = shape(raw, max_tokens=COUNTER.text(raw) - 1)
    assert len(shaped.text) <= 60
    assert "…" in shaped.text


@pytest.mark.parametrize("shift", range(12))
def test_no_visible_character_is_cut(shift: int) -> None:
    family = "👨‍👩‍👧‍👦"
    raw = "a" * shift + family * 3_000
    text = shape(raw, text=TextCut(100, 50), max_tokens=900).text
    before, _, after = text.partition("\n[…")
    head, tail = before[shift:], after.rpartition("…]\n")[2]
    assert head == family * (len(head) // len(family))
    assert tail == family * (len(tail) // len(family))


def test_the_marker_names_omitted_identifiers_within_its_bound() -> None:
    names = [f"ORD-{n:05d}" for n in range(2_000)]
    call = ShapeCall(omitted_facts=lambda text: [n for n in names if n in text], facts_tokens=60)
    shaped = shape(" ".join(names), call=call)
    marker = shaped.text[2000:-500]
    assert names[200] in marker
    assert marker.count("ORD-") < 20


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("\x1b[31mred\x1b[0m text", "red text"),
        ("\x1b]0;title\x07prompt$ ", "prompt$ "),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("10%\r50%\r100%\ndone\r\n", "100%\ndone\n"),
        ("a\r\r\nb", "a\nb"),
        ("bo\x08\x08B\x07ell", "Bell"),
        ("\ufeffbom", "bom"),
        ("half \ud83d pair", "half \ufffd pair"),
        ("pair \ud83d\ude00", "pair 😀"),
        ("cut off \x1b[3", "cut off "),
    ],
)
def test_terminal_codes_and_broken_characters(raw: str, clean: str) -> None:
    assert shape(raw).text == clean


@pytest.mark.parametrize(("locale", "said"), [("en", "(no output)"), ("zh", "（无输出）")])
@pytest.mark.parametrize("raw", ["", "  \n", "\x1b[0m"])
def test_no_output_says_so(raw: str, locale: str, said: str) -> None:
    assert shape(raw, locale=locale).text == said


@pytest.mark.parametrize(
    ("raw", "what"),
    [
        ("\x89PNG\r\n\x1a\n" + "\x00\x01\x02\ufffd" * 500, "PNG image"),
        ("%PDF-1.7\n" + "\x00\ufffd\x03" * 500, "PDF document"),
        ("abc\x00\x01\x02\x03\x04" * 300, "binary data"),
    ],
)
def test_binary_never_enters(raw: str, what: str) -> None:
    shaped = shape(raw)
    assert shaped.text == f"[{what}, {len(raw):,} characters, not shown; ref {REF}]"
    assert shaped.kind == "binary"


def test_base64_never_enters_and_long_paths_do() -> None:
    data = encoded(1_200)
    raw = f"<img src='data:image/png;base64,{data}'> and {data} end"
    shaped = shape(raw)
    assert data[:40] not in shaped.text
    assert shaped.text.startswith("<img src='[image/png, ")
    assert shaped.text.endswith(" end")
    path = "/opt/App2/" + "some/Long/path-with_parts/v3/" * 20
    assert shape(path).text == path
    assert shape("=" * 400 + "a" * 400).text == "=" * 400 + "a" * 400


def test_html_becomes_text_with_links_and_tables() -> None:
    page = (
        "<!DOCTYPE html><html><head><title>T</title><style>p{}</style></head><body>"
        "<h1>Head &amp; tail</h1><script>var x = '<p>no</p>'</script>"
        "<p>See <a href='/doc/7'>the   doc</a>.</p><ul><li>one</li><li>two</li></ul>"
        "<table><tr><th>id</th><td>42</td></tr></table><pre>a\n  b</pre></body></html>"
    )
    shaped = shape(page)
    assert shaped.kind == "html"
    assert not shaped.lossless
    for kept in ("# Head & tail", "See the doc (/doc/7).", "- one", "id | 42", "a\n  b", REF):
        assert kept in shaped.text
    for gone in ("<p>", "var x", "p{}"):
        assert gone not in shaped.text


def test_markup_inside_other_output_is_left_alone() -> None:
    raw = "<returncode>0</returncode>\n<output>\n<html><body>x</body></html>\n</output>"
    assert shape(raw).text == raw


CSV = "id,name,note\n" + "".join(f'{n},"Name, {n}",note {n}\n' for n in range(200))


def test_a_table_is_paged_by_rows_and_keeps_its_columns() -> None:
    shaped = shape(CSV, fields=("id", "name"), page=Page(2))
    lines = shaped.text.split("\n")
    assert lines[:3] == ["id,name", '0,"Name, 0"', '1,"Name, 1"']
    for stated in ("returned 2", "total 200", "truncated true", "omitted 198", "next_cursor 2"):
        assert stated in lines[3]
    assert (shaped.kind, shaped.total, shaped.next_cursor) == ("csv", 200, 2)


def test_a_table_over_the_cap_shows_as_many_rows_as_fit() -> None:
    shaped = shape(CSV, max_tokens=300)
    rows = shaped.text.split("\n")[1:-1]
    assert shaped.tokens <= 300
    assert len(rows) == shaped.returned > 5
    assert CSV.startswith("id,name,note\n" + "\n".join(rows))


def test_a_small_table_without_a_rule_is_untouched() -> None:
    raw = "a\tb\n1\t2\n3\t4\n"
    assert shape(raw).text == raw
    assert shape(raw, fields=("b", "c")).text.startswith("b\n2\n4\n")
    assert "'c'" in shape(raw, fields=("b", "c")).warnings[0]


def test_reference_mode_shows_a_head_and_how_to_read_on() -> None:
    shaped = shape(LINES, mode="ref")
    first, _, head = shaped.text.partition("\n")
    for stated in (REF, "5,000 lines", f"{len(LINES):,} characters", "read_workspace(", "tokens"):
        assert stated in first
    assert LINES.startswith(head)
    assert 100 < len(head) <= 300
    assert shaped.tokens < 250


def test_special_tokens_are_plain_text() -> None:
    raw = "0 <|endoftext|>\n1 <|im_start|>\n" * 3
    assert shape(raw).text == raw
    assert shape(raw * 50, max_tokens=40).tokens <= 40


@pytest.mark.parametrize(
    "unit",
    ["a", " ", "\n", "好", "\u0301", "a\u0301", "👨‍👩‍👧‍👦", "\x1b[0m", "\r", "{", "[{", '"\\',
     "<p>", "QWxh3GRp", "a,b\n", "{'a':", "\\u00e9", "x\x08", "1 | 2\n", "=-"],
)  # fmt: skip
def test_a_megabyte_of_anything_takes_linear_time(unit: str) -> None:
    raw = (unit * (1_000_000 // len(unit) + 1))[:1_000_000]
    for mode in ("full", "ref"):
        began = time.perf_counter()
        shaped = shape(raw, mode=mode, fields=("a",), page=Page(5))
        assert time.perf_counter() - began < 6
        assert shaped.tokens <= 2500
        shaped.text.encode("utf-8")


def test_real_html_pages_lose_their_markup_and_keep_their_words(shared: Path) -> None:
    pages = sorted((shared / "data" / "04_long_docs").glob("*html/*.html"))
    assert len(pages) > 10
    for page in pages:
        raw = page.read_bytes().decode("utf-8", "surrogateescape")
        shaped = shape(raw, max_tokens=10**6)
        assert shaped.kind == "html", page.name
        assert shaped.tokens < COUNTER.text(raw) * 0.75, page.name
        assert not re.search(r"</?(div|span|p|td|script|style)\b", shaped.text), page.name


def test_real_tool_outputs_stay_under_the_cap_and_json_stays_json(shared: Path) -> None:
    folder = shared / "data" / "07_tool_outputs"
    files = [f for f in sorted(folder.rglob("*")) if f.is_file() and f.suffix != ".gz"]
    assert len(files) > 80
    for file in files:
        raw = file.read_bytes().decode("utf-8", "surrogateescape")
        before = COUNTER.text(raw)
        for mode in ("full", "ref"):
            shaped = shape(raw, mode=mode)
            assert shaped.tokens <= min(2500, before), file.name
            if shaped.kind == "json":
                json.loads(shaped.text)
            if shaped.omitted and not shaped.lossless:
                assert REF in shaped.text, file.name
