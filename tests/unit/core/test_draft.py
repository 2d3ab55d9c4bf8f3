"""What a trace says about the profile its agent needs."""

from __future__ import annotations

import json

import pytest

from contextctl.core.explain.draft import fitting_window, page_rules, tools_seen
from contextctl.io.models.vocab import counter_for
from contextctl.io.profile.draft_file import draft_text
from contextctl.io.profile.load import check_profile
from contextctl.model.message import JsonObject, Message, ToolCall, message_from_openai
from contextctl.model.record import Event, MessageAdded, ResultArrived
from contextctl.model.trace import Trace
from contextctl.run.draft import draft_profile
from tests.unit.core.folding import Words


def record(tool: str, results: list[str], said: str = "") -> list[Event]:
    events: list[Event] = []
    for number, result in enumerate(results):
        call = ToolCall(f"{tool}{number}", tool, "{}")
        events += [MessageAdded(Message("assistant", None, (call,)))]
        events += [ResultArrived(call.id, tool, result)]
    return [*events, MessageAdded(Message("assistant", said))]


@pytest.mark.parametrize(
    ("largest", "fixed", "reserve", "model", "window"),
    [
        (50_000, 1_000, 4_096, 1_000_000, 29_696),  # half, in steps of 1,024
        (50_000, 1_000, 4_096, 16_384, 16_384),  # never more than the model takes
        (3_000, 200, 1_024, None, 8_192),  # never less than a model can work in
        (20_000, 9_000, 4_096, 200_000, 31_744),  # three times what stands in every window
    ],
)
def test_a_window_that_fits(
    largest: int, fixed: int, reserve: int, model: int | None, window: int
) -> None:
    assert fitting_window(largest, fixed, reserve, model) == window


def test_tools_come_by_what_their_results_take() -> None:
    seen = tools_seen(
        [record("small", ["a b"] * 3), record("large", ["w " * 50, "w " * 10])], Words()
    )
    assert [tool.name for tool in seen] == ["large", "small"]
    assert (seen[0].results, seen[0].median, seen[0].largest, seen[0].total) == (2, 30, 50, 60)


def test_long_lists_get_a_page_by_their_own_keys() -> None:
    rows = [{"id": n} for n in range(30)]
    listed = json.dumps({"items": rows, "total": 900, "next_cursor": "30"})
    seen = tools_seen([record("list", [listed])], Words())
    page: JsonObject = {"limit": 20, "total": "total", "cursor": "next_cursor"}
    assert page_rules(seen) == {"list": {"result": {"page": page}}}
    short = tools_seen([record("list", [json.dumps(rows[:20])])], Words())
    assert page_rules(short) == {}


def test_a_whitelist_needs_evidence_from_all_records_together() -> None:
    rows = [
        {"id": n, "city": f"Town{n}", "note": "word " * 9, "hash": f"{n}abcdef"} for n in range(4)
    ]
    one = record("list", [json.dumps(rows)], "Town1")
    assert tools_seen([one], Words())[0].unused == ()  # four rows are too few
    two = tools_seen([one, record("list", [json.dumps(rows)], "nothing")], Words())[0]
    assert two.unused == ("note", "hash")
    assert dict(two.kept) == {"id": "", "city": "step 2"}


def long_trace() -> Trace:
    messages: list[Message] = [message_from_openai({"role": "user", "content": "Fix PX-10042."})]
    for number in range(24):
        function: JsonObject = {
            "name": "bash",
            "arguments": json.dumps({"command": f"cat f{number}"}),
        }
        call: JsonObject = {"id": f"c{number}", "type": "function", "function": function}
        messages.append(message_from_openai({"role": "assistant", "tool_calls": [call]}))
        text = f"file f{number + 1} holds the next part\n" + f"line {number} of it\n" * 120
        messages.append(Message("tool", text, tool_call_id=f"c{number}"))
    return Trace("t", tuple(messages))


def test_a_draft_is_a_valid_profile_with_its_reasons(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    draft = draft_profile(
        [long_trace()], name="t: 1", source="t.jsonl", model="openai/gpt-4.1-mini"
    )
    assert draft.with_draft.unfit == 0
    assert draft.with_draft.worth >= draft.with_default.worth
    text = draft_text(draft)
    assert "bash: 24 results" in text
    assert max(map(len, text.splitlines())) <= 100
    path = tmp_path_factory.mktemp("draft") / "t.yaml"
    path.write_text(text, encoding="utf-8")
    profile, problems = check_profile(path)
    assert profile is not None, problems
    assert profile.name == "t: 1"
    assert profile.model.window == draft.window
    assert profile.history.live_share is not None


def test_the_same_trace_gives_the_same_draft() -> None:
    drafts = [
        draft_profile([long_trace()], name="t", source="t.jsonl", model="openai/gpt-4.1-mini")
        for _ in range(2)
    ]
    assert draft_text(drafts[0]) == draft_text(drafts[1])
    assert drafts[0].with_draft == drafts[1].with_draft
    assert counter_for("auto", "openai/gpt-4.1-mini").exact
