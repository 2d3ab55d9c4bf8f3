"""A trace as events: order, pairing facts, distinct ids. Expectations by hand."""

from __future__ import annotations

import pytest

from contextctl.core.trace_events import result_text, trace_events
from contextctl.model.message import Json, Message, ToolCall, ToolSpec
from contextctl.model.record import Event, MessageAdded, Noted, ResultArrived, ToolsListed
from contextctl.model.trace import Trace, TraceNote, UsageFact


def asks(*calls: str, name: str = "f") -> Message:
    return Message("assistant", None, tool_calls=tuple(ToolCall(c, name, "{}") for c in calls))


def answers(call_id: str, text: str) -> Message:
    return Message("tool", text, tool_call_id=call_id)


def events(*messages: Message) -> list[Event]:
    return list(trace_events(Trace("t", messages)))


def results(*messages: Message) -> list[tuple[str, str, str]]:
    return [
        (event.call_id, event.name, event.content)
        for event in events(*messages)
        if isinstance(event, ResultArrived)
    ]


def test_everything_stands_where_it_happened() -> None:
    tool = ToolSpec("f", "", {"type": "object"}, "trace")
    trace = Trace(
        "t",
        (Message("system", "s"), Message("user", "u"), asks("a"), answers("a", "r"), asks()),
        tools=(tool,),
        usages={1: UsageFact("m", 10, 2, 5, 1, 0.5), 2: UsageFact("m", 20)},
        notes=(TraceNote(5, "compaction"), TraceNote(2, "model", {"modelId": "m"})),
    )
    got = list(trace_events(trace))
    assert [event.kind for event in got] == [
        "tools",
        "message",
        "message",
        "note",
        "message",
        "usage",
        "result",
        "message",
        "usage",
        "note",
    ]
    assert got[0] == ToolsListed("trace", (tool,))
    assert got[3] == Noted("model", {"modelId": "m"})
    usage = got[5]
    assert (usage.step, usage.prompt_tokens, usage.cached_tokens) == (1, 10, 5)  # type: ignore[union-attr]
    assert (usage.cache_write_tokens, usage.cost_usd) == (1, 0.5)  # type: ignore[union-attr]


def test_a_result_is_named_after_its_call() -> None:
    assert results(asks("a", name="look_up"), answers("a", "r")) == [("a", "look_up", "r")]


def test_late_duplicate_and_orphan_results_stay_facts() -> None:
    assert results(
        answers("ghost", "before any call"),
        asks("a"),
        answers("a", "one"),
        answers("a", "again"),
        Message("user", "u"),
        answers("a", "late"),
    ) == [
        ("ghost", "", "before any call"),
        ("a", "f", "one"),
        ("a", "f", "again"),
        ("a", "f", "late"),
    ]


def test_an_orphan_keeps_the_name_the_trace_gives_it() -> None:
    orphan = Message("tool", "r", tool_call_id="x", name="read")
    assert results(orphan) == [("x", "read", "r")]


def test_an_id_used_again_is_made_distinct_with_its_result() -> None:
    got = events(asks("call_0"), answers("call_0", "1"), asks("call_0"), answers("call_0", "2"))
    asked = [c.id for e in got if isinstance(e, MessageAdded) for c in e.message.tool_calls]
    answered = [e.call_id for e in got if isinstance(e, ResultArrived)]
    assert asked == answered == ["call_0", "call_0_2"]


def test_one_id_for_two_parallel_calls() -> None:
    messages = (asks("x", "x"), answers("x", "1"), answers("x", "2"))
    assert [(call, text) for call, _, text in results(*messages)] == [("x", "1"), ("x_2", "2")]
    (asked,) = [e.message for e in events(*messages) if isinstance(e, MessageAdded)]
    assert [call.id for call in asked.tool_calls] == ["x", "x_2"]


def test_a_made_up_id_never_meets_a_real_one() -> None:
    got = events(asks("x_2"), asks("x"), asks("x"), asks("x_2"))
    asked = [c.id for e in got if isinstance(e, MessageAdded) for c in e.message.tool_calls]
    assert len(set(asked)) == 4
    assert asked[:2] == ["x_2", "x"]


@pytest.mark.parametrize(
    ("content", "text", "media"),
    [
        (None, "", ""),
        ("plain", "plain", ""),
        ([], "", ""),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb", ""),
        (["bare", 5], "bare\n5", ""),
        ([{"query": "q", "result": "订单"}], '{"query": "q", "result": "订单"}', ""),
        (
            [{"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}],
            "[image/png, 3 bytes, not shown as text]",
            "image/png",
        ),
        (
            [{"type": "image_url", "image_url": "https://example.org/x.png"}],
            "[image/*, 0 bytes, not shown as text]",
            "image/*",
        ),
        (
            [{"type": "input_audio", "input_audio": {"data": "QUJDRA==", "format": "wav"}}],
            "[audio/*, 4 bytes, not shown as text]",
            "audio/*",
        ),
    ],
)
def test_bytes_are_described_never_shown(
    content: str | list[Json] | None, text: str, media: str
) -> None:
    assert result_text(content) == (text, media)


def test_an_error_the_agent_saw_is_a_status() -> None:
    failed = Message("tool", "no", tool_call_id="a", extra={"is_error": True, "note": 1})
    (event,) = [e for e in events(asks("a"), failed) if isinstance(e, ResultArrived)]
    assert (event.status, event.extra) == ("error", {"note": 1})
