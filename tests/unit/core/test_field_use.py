"""Which fields were used: a value that stands in something said or called later."""

from __future__ import annotations

import json
from typing import Any

from contextctl.core.explain.field_use import field_uses, is_identity
from contextctl.model.message import Message, ToolCall
from contextctl.model.record import Event, MessageAdded, ResultArrived


def record(result: Any, said: str = "", status: str = "ok") -> list[Event]:
    call = ToolCall("c1", "list", "{}")
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    return [
        MessageAdded(Message("assistant", None, (call,))),
        ResultArrived("c1", "list", text, status),
        MessageAdded(Message("assistant", said)),
    ]


ROWS = [
    {"id": n, "name": f"Item {n}00", "price": 1000 + n, "tags": [f"tag-{n}"], "on": True}
    for n in range(6)
]


def test_a_value_said_later_marks_its_field_as_used() -> None:
    use = field_uses(record(ROWS, "The best is at 1003, tag-4 is out."))["list"]
    used = {one.path: one.used for one in use.fields.values() if one.used}
    assert used == {"price": "step 2", "tags[]": "step 2"}
    assert use.rows == 6


def test_names_and_totals_are_never_offered_for_removal() -> None:
    use = field_uses(record(ROWS, "1003"))["list"]
    assert [one.path for one in use.unused] == ["tags[]"]
    assert {one.path for one in use.kept} == {"id", "name", "price"}
    assert is_identity("customer.id")
    assert is_identity("order_number.total_count")
    assert not is_identity("address.street")


def test_short_and_long_values_prove_nothing() -> None:
    rows = [{"flag": "yes", "text": "x" * 200, "code9": "abcd"} for _ in range(6)]
    use = field_uses(record(rows, "nothing"))["list"]
    assert [one.path for one in use.unused] == ["code9"]


def test_rows_inside_an_object_an_envelope_or_python_are_found() -> None:
    inside = {"data": {"items": ROWS}, "total": 6}
    assert field_uses(record(inside, "1003"))["list"].rows == 6
    wrapped = json.dumps({"content": [{"type": "text", "text": json.dumps(inside)}]})
    assert field_uses(record(wrapped, "1003"))["list"].rows == 6
    assert field_uses(record(repr(ROWS), "1003"))["list"].rows == 6


def test_an_object_with_a_short_list_inside_is_one_record() -> None:
    user = {"user_id": "u-1", "email": "a@b.cd" * 10, "address": "x" * 90, "pets": [{"n": "Rex9"}]}
    use = field_uses(record(user, "u-1"))["list"]
    assert use.rows == 1
    assert "pets[].n" in use.fields


def test_errors_and_texts_are_no_evidence() -> None:
    assert field_uses(record(ROWS, "1003", status="error")) == {}
    assert field_uses(record("plain log line\n" * 30, "log")) == {}


def test_used_in_one_record_is_used_in_both() -> None:
    first = field_uses(record(ROWS, "1003"))["list"]
    second = field_uses(record(ROWS, "tag-2"))["list"]
    both = first.joined(second)
    assert {one.path for one in both.fields.values() if one.used} == {"price", "tags[]"}
    assert both.rows == 12
