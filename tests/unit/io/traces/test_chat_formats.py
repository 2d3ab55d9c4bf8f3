"""Formats that hold OpenAI chat messages in wrappers of their own. Expectations by hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from contextctl.io.traces import read_traces
from tests.unit.io.traces.spelled import fixture, spelled, topics

if TYPE_CHECKING:
    from pathlib import Path

    from contextctl.model.trace import Trace


def test_openai_chat() -> None:
    desk, hello, legacy = fixture("openai.jsonl")
    assert (desk.id, desk.source, desk.model) == ("desk-1", "openai", "stub-1")
    assert spelled(desk) == [
        "system: You keep orders.",
        "user: 两张订单都付款了吗?",
        "assistant: ",
        '-> look_up({"order": "SO-1"}) #c1',
        '-> look_up({"order": "SO-2"}) #c2',
        "tool #c1: paid",
        "tool #c2: open",
        "assistant: Only SO-1 is.",
    ]
    assert desk.tools[0].parameters == {
        "type": "object",
        "properties": {"order": {"type": "string"}},
    }
    assert desk.tools[0].source == "trace"
    assert hello.id == "openai"
    assert spelled(hello) == ["user: hello", "assistant: hi"]
    assert legacy.id == "openai-2"
    assert spelled(legacy) == [
        "user: sum 1 2",
        "assistant: ",
        '-> add({"a": 1, "b": 2}) #call_1',
        "tool #call_1: 3",
        "assistant: 3",
    ]
    assert legacy.messages[-1].extra == {}
    assert [tool.name for tool in legacy.tools] == ["add"]


def test_openhands() -> None:
    (trace,) = fixture("openhands.json")
    assert trace.source == "openhands"
    assert spelled(trace) == [
        "system: You are an agent.",
        "user: write\nhello.py",
        "assistant: I write.",
        '-> terminal({"command": "ls"}) #t1',
    ]
    assert trace.messages[1].content == "write\nhello.py"
    assert [tool.name for tool in trace.tools] == ["terminal"]
    usage = trace.usages[1]
    assert (usage.prompt_tokens, usage.cached_tokens, usage.cost_usd) == (200, 128, 0.003)


def test_swe_agent_names_what_the_environment_printed() -> None:
    (trace,) = fixture("swe_agent.traj")
    assert (trace.source, trace.id) == ("swe-agent", "swe_agent")
    assert spelled(trace) == [
        "system: You are a programmer.",
        "user: Fix the till.",
        "assistant: I look.",
        '-> bash({"command":"ls"}) #c1',
        "tool #c1: till.py",
        "assistant: Then:\n```\ncat till.py\n```",
        "user (observation): total = 0\nbash-$",
    ]
    assert all(not message.extra for message in trace.messages)


def test_mini_swe_agent_keeps_the_submission_out_of_the_messages() -> None:
    (trace,) = fixture("mini_swe_agent.traj.json")
    assert (trace.source, trace.id) == ("mini-swe-agent", "shop__till-1")
    assert spelled(trace) == [
        "system: You have a shell.",
        "user: Fix it.",
        "assistant: I look.",
        '-> bash({"command": "ls"}) #c1',
        "tool #c1: <output>\nt.py\n</output>",
        "assistant: I submit.",
        '-> bash({"command": "submit"}) #c2',
    ]
    assert list(trace.usages) == [1]
    usage = trace.usages[1]
    assert (usage.model, usage.prompt_tokens, usage.cached_tokens) == ("deepseek/stub", 90, 64)
    assert usage.cost_usd == 0.0005
    assert topics(trace) == {"exit": 1}
    assert all(not message.extra for message in trace.messages)


def test_tau_bench() -> None:
    first, second = fixture("tau_bench.json")
    assert (first.source, first.id, second.id) == ("tau-bench", "t4-r0", "t4-r1")
    assert spelled(first) == [
        "system: Policy.",
        "user: Cancel ZFA04Y",
        "assistant: ",
        '-> cancel({"id": "ZFA04Y"}) #c1',
        "tool #c1: done",
    ]
    assert first.messages[-1].name == "cancel"
    assert len(second.messages) == 2


def test_tau2_is_the_agents_view() -> None:
    (trace,) = fixture("tau2.json")
    assert (trace.source, trace.id, trace.model) == ("tau2", "7-r1", "stub-1")
    assert spelled(trace) == [
        "system: Be kind.",
        "assistant: Hi!",
        "user: My id is mia_1",
        "assistant: ",
        '-> get_user({"user_id": "mia_1"}) #c1',
        '-> get_user({"user_id": "米娅"}) #c2',
        'tool #c1: {"name": "Mia"}',
        "tool #c2!: Error: no such user",
    ]
    assert list(trace.usages) == [2], "the greeting cost nothing: turn 1 has no usage"
    assert (trace.usages[2].prompt_tokens, trace.usages[2].cost_usd) == (3437, 0.007)
    assert topics(trace) == {"user_tool": 2, "ending": 1}


def test_livemcpbench() -> None:
    (trace,) = fixture("livemcpbench.json")
    assert (trace.source, trace.id) == ("livemcpbench", "dd-1")
    assert spelled(trace)[3:6] == [
        '-> route({"query": "停车"}) #t1',
        (
            "tool #t1: meta=None content=[TextContent(type='text', "
            "text='server: osm\\nname: 停车场')] isError=False"
        ),
        "assistant: There.",
    ]


def test_inspect_puts_attachments_back_and_finds_usage_by_reply() -> None:
    (trace,) = fixture("inspect_log.json")
    assert (trace.source, trace.id) == ("inspect", "browser-1")
    assert spelled(trace) == [
        "user: Open the page and sum it up.",
        "assistant: I go.",
        '-> go({"url": "https://example.org"}) #c1',
        "tool #c1!: timed out",
        "assistant: It is down.",
    ]
    assert [(tool.name, tool.description) for tool in trace.tools] == [("go", "Opens a page.")]
    # The first total is input + output: the input holds the cached tokens already. The second is
    # 100 larger: it does not.
    assert [trace.usages[turn].prompt_tokens for turn in (1, 2)] == [100, 150]
    assert topics(trace) == {"thinking": 1, "scores": 1}


def test_aider_sessions() -> None:
    first, second = fixture("aider.chat.history.md")
    assert (first.source, first.model) == ("aider", "stub-1")
    assert spelled(first) == [
        "user: fix the till in till.py\nand test it",
        (
            "assistant: The fix:\n\ntill.py\n```python\n#### not a heading of the user\n"
            "> no output either\ntotal = 1\n```"
        ),
    ]
    usage = first.usages[1]
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cost_usd) == (2300, 1150, 0.01)
    assert spelled(second) == ["user: 谢谢", "assistant: 不客气。"]
    assert first.id != second.id


def test_stabletoolbench_is_the_path_that_ended_the_search() -> None:
    (trace,) = fixture("stabletoolbench.json")
    assert trace.source == "stabletoolbench"
    assert spelled(trace) == [
        "system: Use tools.",
        "user: Find cakes.",
        "assistant: ",
        '-> search({"q": "cake"}) #call_2',
        'tool #call_2: {"hits": 3}',
        "assistant: Found.",
        '-> Finish({"final_answer": "3"}) #call_4',
    ]
    assert trace.messages[1].extra == {}
    (note,) = trace.notes
    assert (note.topic, note.body["branches"], note.body["finish_type"]) == (
        "search",
        2,
        "give_answer",
    )


def _read(tmp_path: Path, value: object) -> Trace:
    path = tmp_path / "t.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    (trace,) = read_traces(path)
    return trace


@pytest.mark.parametrize("empty", [None, ""])
def test_results_and_calls_without_an_id_are_paired_in_order(
    tmp_path: Path, empty: str | None
) -> None:
    calls = [{"id": empty, "function": {"name": name, "arguments": "{}"}} for name in "fg"]
    turn = {"role": "assistant", "content": None, "tool_calls": calls}
    results = [{"role": "tool", "tool_call_id": empty, "content": f"of {name}"} for name in "fg"]
    again = [turn, *results]
    trace = _read(tmp_path, {"messages": [{"role": "user", "content": "q"}, *again, *again]})
    ids = [call.id for message in trace.messages for call in message.tool_calls]
    answers = [m.tool_call_id for m in trace.messages if m.role == "tool"]
    assert len(set(ids)) == 4
    assert answers == ids


def test_a_role_of_its_own_making_is_said_by_the_user(tmp_path: Path) -> None:
    said = [("user", "q"), ("critic", "bad"), ("assistant", "x")]
    trace = _read(tmp_path, {"messages": [{"role": r, "content": c} for r, c in said]})
    assert spelled(trace) == ["user: q", "user: critic: bad", "assistant: x"]
    assert "the role 'critic' is read as 'user'" in trace.warnings[0]


def test_a_list_of_responses_items_is_recognised(tmp_path: Path) -> None:
    trace = _read(
        tmp_path,
        [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "q"}]},
            {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": "done"},
        ],
    )
    assert trace.source == "responses"
    assert [m.role for m in trace.messages] == ["user", "assistant", "tool"]
