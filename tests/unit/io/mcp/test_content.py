"""What a server answers: text as text, bytes beside it, structured content where it says more."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import pytest

from contextctl.io.mcp.content import outcome_of_result
from contextctl.io.mcp.images import dimensions
from tests.servers.hostile_mcp import picture


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def test_texts_are_joined_and_structured_content_is_not_repeated() -> None:
    raw = {"content": [text("one"), text("two")], "structuredContent": {"a": "two"}}
    outcome = outcome_of_result(raw)
    assert (outcome.content, outcome.attachments) == ("one\ntwo", ())


@pytest.mark.parametrize("blocks", [[], [text("")], [text(" \n")], None])
def test_structured_content_alone_is_the_result(blocks: list[dict[str, Any]] | None) -> None:
    raw: dict[str, Any] = {"content": blocks, "structuredContent": {"名": [1.5, "ü"]}}
    assert json.loads(outcome_of_result(raw).content) == {"名": [1.5, "ü"]}
    assert "名" in outcome_of_result(raw).content


@pytest.mark.parametrize(
    ("blocks", "structured"),
    [
        ([text('{"rows": [1, 2], "name": "\\u540d"}')], {"rows": [1, 2], "name": "名"}),
        ([text("3 orders, newest 4711")], {"count": 3, "newest": "4711", "more": False}),
        ([text('{"id": "a1"}'), text('{"id": "\\u00fc"}')],
         {"result": [{"id": "a1"}, {"id": "ü"}]}),
        ([text("a picture"), {"type": "image", "data": b64(b"GIF8"), "mimeType": "image/gif"}],
         {"result": [text("a picture"),
                     {"type": "image", "data": b64(b"GIF8"), "mimeType": "image/gif"}]}),
    ],
)  # fmt: skip
def test_what_the_blocks_say_already_is_not_kept_again(
    blocks: list[dict[str, Any]], structured: dict[str, Any]
) -> None:
    outcome = outcome_of_result({"content": blocks, "structuredContent": structured})
    assert [one.media for one in outcome.attachments if one.media == "application/json"] == []


def test_what_only_the_structured_content_says_is_kept_beside_the_text() -> None:
    rows = {"rows": [{"id": 4711, "状态": "late"}]}
    raw = {"content": [text("Read 1 row; see the structured content.")], "structuredContent": rows}
    outcome = outcome_of_result(raw)
    assert outcome.content == "Read 1 row; see the structured content."
    (kept,) = outcome.attachments
    assert kept.media == "application/json"
    assert json.loads(kept.data) == rows
    assert kept.place == len(outcome.content)


def test_content_that_is_no_list_of_blocks_is_taken_as_it_is_meant() -> None:
    assert outcome_of_result({"content": "plain"}).content == "plain"
    assert outcome_of_result({"content": text("one block")}).content == "one block"
    assert outcome_of_result({"content": ["a", text("b")]}).content == "a\nb"


def test_bytes_stand_beside_the_text_each_at_its_place() -> None:
    image = {"type": "image", "data": b64(picture(40, 30)), "mimeType": "image/png"}
    sound = {"type": "audio", "data": b64(b"RIFF0000WAVE"), "mimeType": "audio/wav"}
    outcome = outcome_of_result({"content": [text("before"), image, text("after"), sound]})
    assert outcome.content == "before\nafter"
    first, second = outcome.attachments
    assert (first.media, first.about, first.place) == ("image/png", "40x30", len("before"))
    assert first.data == picture(40, 30)
    assert (second.media, second.about) == ("audio/wav", "")
    assert second.place == len("before\nafter")


def test_resources_are_text_or_bytes_and_links_are_told() -> None:
    blocks = [
        {"type": "resource", "resource": {"uri": "file:///a.md", "text": "# A"}},
        {
            "type": "resource",
            "resource": {
                "uri": "file:///a.zip",
                "blob": b64(b"PK\3\4"),
                "mimeType": "application/zip",
            },
        },
        {"type": "resource_link", "name": "b", "uri": "file:///b.md", "mimeType": "text/markdown"},
        {"type": "hologram", "depth": 3},
        7,
    ]
    outcome = outcome_of_result({"content": blocks})
    assert outcome.content == (
        "[resource: file:///a.md]\n# A\n[resource: b, file:///b.md, text/markdown]\n"
        '{"type": "hologram", "depth": 3}'
    )
    (attached,) = outcome.attachments
    assert (attached.media, attached.about) == ("application/zip", "file:///a.zip")


def test_a_tool_that_failed_says_so_even_without_words() -> None:
    assert outcome_of_result({"content": [text("no")], "isError": True}).failure == "execution.tool"
    silent = outcome_of_result({"content": [], "isError": True})
    assert silent.status == "error"
    assert silent.content


@pytest.mark.parametrize("raw", [{}, {"content": None}, {"content": 5}, {"content": [None, 5]}])
def test_an_answer_that_is_none_is_an_empty_result(raw: dict[str, Any]) -> None:
    assert outcome_of_result(raw).content == ""


def test_half_a_character_does_not_come_through() -> None:
    assert "\ud800" not in outcome_of_result({"content": [text("a\ud800b")]}).content


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (picture(40, 30), (40, 30)),
        (b"GIF89a" + struct.pack("<HH", 7, 9) + b"\0\0\0", (7, 9)),
        (
            b"\xff\xd8\xff\xe0\x00\x10JFIF"
            + b"\0" * 10
            + b"\xff\xc0\x00\x11\x08\x00\x0a\x00\x14\x03",
            (20, 10),
        ),
        (b"RIFF\0\0\0\0WEBPVP8X" + b"\0" * 8 + b"\x0f\0\0\x07\0\0", (16, 8)),
        (b"BM" + b"\0" * 16 + struct.pack("<ii", 5, -6), (5, 6)),
        (b"%PDF-1.7", None),
        (b"\xff\xd8", None),
        (b"", None),
    ],
)
def test_the_first_bytes_of_an_image_tell_its_size(data: bytes, size: Any) -> None:
    assert dimensions(data) == size
