"""Names, schemas and lists: what a server says, made into what every provider takes."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema.validators import Draft202012Validator

from contextctl.io.mcp.listing import listing, read_pages
from contextctl.io.mcp.names import NameBook
from contextctl.io.mcp.schemas import Unusable, mended

EMPTY = {"type": "object", "properties": {}}
TEXT = {"type": "string"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "properties",
                    "items",
                    "required",
                    "anyOf",
                    "oneOf",
                    "allOf",
                    "$ref",
                    "$defs",
                    "enum",
                    "pattern",
                    "minimum",
                    "a",
                    "b",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


class TestSchemas:
    @pytest.mark.parametrize(
        ("raw", "made"),
        [
            (None, EMPTY),
            ({}, EMPTY),
            ({"type": "object"}, EMPTY),
            ({"properties": {"q": TEXT}}, {"type": "object", "properties": {"q": TEXT}}),
            ({"type": ["object", "null"]}, EMPTY),
            (
                {"type": "object", "properties": {"ids": {"type": "array"}}},
                {"type": "object", "properties": {"ids": {"type": "array", "items": {}}}},
            ),
            (
                {"type": "object", "properties": {"q": True}, "required": ["q", "gone"]},
                {"type": "object", "properties": {"q": {}}, "required": ["q"]},
            ),
            (
                {
                    "$ref": "#/$defs/In",
                    "$defs": {"In": {"type": "object", "properties": {"q": TEXT}}},
                },
                {
                    "type": "object",
                    "properties": {"q": TEXT},
                    "$defs": {"In": {"type": "object", "properties": {"q": TEXT}}},
                },
            ),
            (
                {"properties": {"q": {"$ref": "https://example.org/schema.json"}}},
                {"type": "object", "properties": {"q": {}}},
            ),
            (
                {"properties": {"n": {"type": "number", "minimum": 0, "exclusiveMinimum": True}}},
                {"type": "object", "properties": {"n": {"type": "number", "minimum": 0}}},
            ),
            (
                {"properties": {"q": {"type": "string", "pattern": r"^\p{L}+$"}}},
                {"type": "object", "properties": {"q": TEXT}},
            ),
        ],
    )
    def test_it_is_mended(self, raw: Any, made: Any) -> None:
        assert mended(raw) == made

    def test_alternatives_become_one_object_that_requires_what_all_of_them_do(self) -> None:
        one = {"properties": {"id": TEXT, "note": TEXT}, "required": ["id", "note"]}
        two = {"properties": {"id": {"type": "integer"}, "name": TEXT}, "required": ["id"]}
        assert mended({"oneOf": [one, two]}) == {
            "type": "object",
            "properties": {
                "id": {"anyOf": [TEXT, {"type": "integer"}]},
                "note": TEXT,
                "name": TEXT,
            },
            "required": ["id"],
        }
        assert mended({"allOf": [one, two]})["required"] == ["id", "note"]

    @pytest.mark.parametrize("raw", [{"type": "string"}, "text", 5, [], {"type": 7}])
    def test_what_can_take_no_arguments_is_unusable(self, raw: Any) -> None:
        with pytest.raises(Unusable):
            mended(raw)

    @given(JSON)
    def test_whatever_comes_is_refused_or_is_a_schema_that_providers_take(self, raw: Any) -> None:
        try:
            made = mended(raw)
        except Unusable:
            return
        Draft202012Validator.check_schema(made)
        assert made["type"] == "object"
        assert not {"anyOf", "oneOf", "allOf", "enum", "not"} & made.keys()
        assert set(made.get("required") or []) <= set(made["properties"])  # type: ignore[arg-type, call-overload]
        assert not list(without_items(made))
        assert mended(made) == made

    def test_a_schema_within_itself_and_one_without_end(self) -> None:
        node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/N"}}}
        made = mended({"$ref": "#/$defs/N", "$defs": {"N": node}})
        Draft202012Validator(made).validate({"next": {"next": {}}})
        deep: Any = TEXT
        for _ in range(300):
            deep = {"type": "array", "items": deep}
        Draft202012Validator.check_schema(mended({"properties": {"q": deep}}))


def without_items(node: Any) -> Any:
    """Arrays that do not say what is in them."""
    if isinstance(node, dict):
        if node.get("type") == "array" and "items" not in node:
            yield node
        for key, inner in node.items():
            if key not in ("enum", "const", "default", "examples", "required"):
                yield from without_items(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from without_items(inner)


class TestNames:
    @given(st.lists(st.tuples(st.sampled_from("ab"), st.text(min_size=1, max_size=90)), max_size=8))
    def test_every_name_is_taken_by_providers_and_leads_back(
        self, found: list[tuple[str, str]]
    ) -> None:
        book = NameBook(["taken"])
        names = book.give(found)
        assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in names.values())
        assert len(set(names.values())) == len(set(found))
        assert "taken" not in names.values()
        for key, name in names.items():
            assert book.owner(name) == key
        assert NameBook(["taken"]).give(found) == names
        assert book.give(found) == names

    def test_a_fine_name_stays_and_one_that_two_want_gets_its_server(self) -> None:
        book = NameBook(["search"])
        found = [("a", "read"), ("b", "read"), ("a", "write"), ("b", "search")]
        assert list(book.give(found).values()) == ["a__read", "b__read", "write", "b__search"]
        assert book.owner("search") is None
        assert book.owner("nobody") is None

    def test_names_given_before_do_not_change_when_more_tools_come(self) -> None:
        book = NameBook()
        assert book.give([("a", "read")]) == {("a", "read"): "read"}
        assert book.give([("a", "read"), ("b", "read")]) == {
            ("a", "read"): "read",
            ("b", "read"): "b__read",
        }


class TestLists:
    def test_tools_that_are_none_are_left_out_one_by_one(self) -> None:
        raw: list[Any] = [
            {"name": "fine", "description": "x", "inputSchema": EMPTY},
            "text",
            {"description": "no name"},
            {"name": "bad", "inputSchema": 5},
            {"name": "fine", "description": "again"},
            {"name": "titled", "title": "A title", "description": None},
        ]
        listed = listing(raw, ["*"])
        assert [(tool.name, tool.description) for tool in listed.tools] == [
            ("fine", "x"),
            ("titled", "A title"),
        ]
        assert [name for name, _ in listed.left_out] == ["number 2", "number 3", "bad"]

    @pytest.mark.parametrize(
        ("hints", "effects"),
        [
            (None, False),
            ({}, False),
            ({"readOnlyHint": True}, False),
            ({"readOnlyHint": False}, True),
            ({"readOnlyHint": False, "idempotentHint": True}, False),
            ("text", False),
        ],
    )
    def test_a_tool_that_says_it_changes_something_is_not_repeated(
        self, hints: Any, effects: bool
    ) -> None:
        (listed,) = listing([{"name": "a", "annotations": hints}], ["*"]).tools
        assert listed.effects == effects

    def test_patterns_choose_and_one_that_matches_nothing_is_told(self) -> None:
        raw: list[Any] = [{"name": name} for name in ("read_file", "read_folder", "write_file")]
        listed = listing(raw, ["read_*", "delete_*"])
        assert [tool.name for tool in listed.tools] == ["read_file", "read_folder"]
        assert listed.warnings == ("'include' has 'delete_*', which matches none of its tools",)

    def test_pages_that_go_in_a_circle_end(self) -> None:
        asked: list[str | None] = []

        async def page(cursor: str | None) -> dict[str, Any]:
            asked.append(cursor)
            following = {None: "x", "x": "y", "y": "x"}[cursor]
            return {"tools": [{"name": str(cursor)}], "nextCursor": following}

        tools, warnings = asyncio.run(read_pages(page))
        assert asked == [None, "x", "y"]
        assert len(tools) == 3
        assert "never ends" in warnings[0]

    def test_a_later_page_that_fails_leaves_the_earlier_ones(self) -> None:
        async def page(cursor: str | None) -> dict[str, Any]:
            if cursor is not None:
                raise ValueError("unknown cursor")
            return {"tools": [{"name": "one"}], "nextCursor": "two"}

        tools, warnings = asyncio.run(read_pages(page))
        assert tools == [{"name": "one"}]
        assert "page 2" in warnings[0]
