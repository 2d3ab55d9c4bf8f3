"""Laws of reading back: parts make the whole, positions are exact, searches tell the truth."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from contextctl.core.reading.exact_json import dump_exact
from contextctl.core.reading.lines import count_lines, place, position, read_lines
from contextctl.core.reading.refs import content_hash, make_ref, safe_session, session_of
from contextctl.core.reading.search import search_text
from contextctl.core.shaping.read_json import parse_json

# Any text there is: control characters, emoji, combining marks, half surrogates, many newlines.
texts = st.text(
    alphabet=st.one_of(
        st.sampled_from('\n\r\t ab\u4e2d\u6587\u0301\u200d\U0001f600\x1b\0"\\'),
        st.characters(),
        st.characters(categories=["Cs"]),
    ),
    max_size=600,
)
keys = st.binary(min_size=16, max_size=32).map(bytes.hex)


def read_all(text: str, limit: int, max_bytes: int) -> list[str]:
    parts: list[str] = []
    start = offset = 0
    while True:
        answer = read_lines(text, "s-abcdefghij", start, limit, max_bytes, offset=offset)
        assert answer["ref"] == "s-abcdefghij"
        assert answer["total_lines"] == count_lines(text)
        parts.append(str(answer["text"]))
        if answer["next"] is None:
            assert answer["truncated"] is False
            return parts
        assert answer["truncated"] is True
        assert parts[-1], "a part that is not the last one must move on"
        following = answer["next"]
        assert isinstance(following, dict)
        start, offset = int(str(following["start"])), int(str(following["offset"]))


@given(texts, st.integers(1, 20), st.integers(1, 400))
def test_reading_all_parts_gives_the_text_back(text: str, limit: int, max_bytes: int) -> None:
    parts = read_all(text, limit, max_bytes)
    assert "".join(parts) == text
    for part in parts:
        # 64 bytes is the least a part may be: one character can take six in JSON.
        assert len(dump_exact(part).encode()) - 2 <= max(64, max_bytes)
        assert part.count("\n") <= limit


@given(texts)
def test_an_answer_is_strict_json_that_utf8_can_hold(text: str) -> None:
    answer = read_lines(text, "r", 0, 2000, 10_000)
    sent = dump_exact(answer).encode("utf-8")
    assert json.loads(sent)["text"] == json.loads(json.dumps(answer["text"]))


@given(texts, st.integers(0, 700))
def test_a_place_leads_back_to_its_position(text: str, at: int) -> None:
    at = min(at, len(text))
    line, offset = place(text, at)
    assert position(text, line, offset) == at


@given(st.lists(st.sampled_from(["ab", "a", "b\n", "\n", "中a", "x" * 300]), max_size=60))
def test_searching_on_finds_every_match_once(pieces: list[str]) -> None:
    text = "".join(pieces)
    expected = [m.start() for m in re.finditer("a", text)]
    covered: set[int] = set()
    start = offset = 0
    for _ in range(len(text) + 1):
        answer = search_text(text, "r", "a", limit=2, start=start, offset=offset)
        assert answer["total"] == len(expected)
        matches = answer["matches"]
        assert isinstance(matches, list)
        for match in matches:
            assert isinstance(match, dict)
            begin = position(text, int(str(match["line"])), int(str(match.get("offset", 0))))
            shown = str(match["text"])
            assert text[begin : begin + len(shown)] == shown, "the text stands where it says"
            covered |= {at for at in expected if begin <= at < begin + len(shown)}
        following = answer["next"]
        if following is None:
            break
        assert isinstance(following, dict)
        start, offset = int(str(following["start"])), int(str(following["offset"]))
    assert covered == set(expected)


@given(texts, texts, keys, st.text(max_size=40), st.text(max_size=40))
def test_refs_name_content_and_never_meet_across_sessions(
    one: str, two: str, key: str, session: str, other: str
) -> None:
    ref = make_ref(session, key, content_hash(one))
    assert re.fullmatch(r"[A-Za-z0-9_-]+-[a-z]{10}", ref)
    assert session_of(ref) == safe_session(session)
    assert ref == make_ref(session, key, content_hash(one))
    assert (ref == make_ref(session, key, content_hash(two))) == (one == two)
    if session != other:
        assert make_ref(other, key, content_hash(one)) != ref
    assert make_ref(session, f"01{key}", content_hash(one)) != ref, "another key, another ref"


@given(st.one_of(st.integers(), st.decimals(allow_nan=False, allow_infinity=False)))
def test_numbers_keep_every_digit(number: object) -> None:
    written = str(number).replace("E+", "e")
    parsed = parse_json(f'{{"n":[{written}]}}')
    assert parsed is not None
    assert dump_exact(parsed.value) == f'{{"n":[{written}]}}'
