"""The Python API: facts in, windows out, with the same laws as a run."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import contextctl
from contextctl import ContextOverflow, Session, UsageError, load_profile
from contextctl.core.assemble import assemble
from contextctl.core.measure.validity import window_problems
from contextctl.io.models.vocab import counter_for
from contextctl.model.message import JsonObject, ToolCall
from contextctl.model.profile import Profile, profile_from_mapping

PROFILE = """\
version: 1
model: {name: scripted/none, window: 8192, reserve_output: 1024}
tokenizer: o200k_base
tools:
  list_orders:
    result: {fields: [id, state], page: {limit: 5}, pin: {confirmed_slots.first: "[0].id"}}
reminders: {style: Answer briefly.}
"""
TOOLS: list[JsonObject] = [
    {
        "type": "function",
        "function": {"name": "list_orders", "parameters": {"type": "object", "properties": {}}},
    }
]
ROWS = [{"id": f"PX-{n}", "state": "late", "note": "x" * 90} for n in range(40)]


@pytest.fixture
def profile(tmp_path: Path) -> Callable[..., Profile]:
    path = tmp_path / "p.yaml"
    path.write_text(PROFILE, encoding="utf-8")
    return lambda *sets: load_profile(path, sets)


def calls(call_id: str, name: str = "list_orders", arguments: str = "{}") -> JsonObject:
    function: JsonObject = {"name": name, "arguments": arguments}
    call: JsonObject = {"id": call_id, "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def test_a_task_becomes_the_question_and_its_constraints_are_pinned(
    profile: Callable[..., Profile],
) -> None:
    session = Session(profile(), task="Which are late?", constraints=["only ours"], tools=TOOLS)
    window = session.assemble()
    texts = [str(message["content"]) for message in window.messages]
    assert "Which are late?" in texts
    assert sum("only ours" in text for text in texts) == 1
    assert window.tools[0]["function"]["name"] == "list_orders"  # type: ignore[index,call-overload]
    assert window.ledger.total <= window.ledger.usable


def test_who_speaks_first_is_the_question(profile: Callable[..., Profile]) -> None:
    session = Session(profile(), task="t-17")
    session.add({"role": "user", "content": "Which are late?"})
    texts = [str(message["content"]) for message in session.assemble().messages]
    assert "t-17" not in texts
    assert "Which are late?" in texts


def test_a_result_is_shown_shaped_and_recorded_whole(profile: Callable[..., Profile]) -> None:
    session = Session(profile(), task="Which are late?", tools=TOOLS)
    session.assemble()
    session.add(calls("c1"))
    shown = session.add_tool_result("c1", "list_orders", ROWS)
    page = json.loads(shown)
    assert (page["returned"], page["total"], page["truncated"]) == (5, 40, True)
    assert "note" not in shown
    window = session.assemble()
    assert shown in [message.get("content") for message in window.messages]
    assert window.actions[0].kind == "shape"
    raw = next(event for event in session.record if event.kind == "result")
    assert json.loads(raw.content) == ROWS  # type: ignore[union-attr]
    assert any(event.kind == "pin" for event in session.record)


@pytest.mark.parametrize("folder", [None, "kept"])
def test_what_left_the_window_is_read_back(
    profile: Callable[..., Profile], tmp_path: Path, folder: str | None
) -> None:
    place = tmp_path / folder if folder else None
    session = Session(profile(), task="Read the log", workspace=place)
    session.assemble()
    session.add(calls("c1", "read_log"))
    log = "\n".join(f"line {n} of the log" for n in range(3_000))
    shown = session.add_tool_result("c1", "read_log", log)
    assert len(shown) < len(log) / 4
    window = session.assemble()
    assert "read_workspace" in str(window.tools)
    assert session.answers("view_tool_call")
    assert not session.answers("read_log")
    session.add(calls("c2", "view_tool_call", '{"call_id": "c1", "start": 1500, "limit": 2}'))
    answer = session.answer(session.open_calls[0])
    assert "line 1500 of the log" in answer
    assert session.open_calls == ()
    session.close()


def test_the_window_stays_until_something_is_added(profile: Callable[..., Profile]) -> None:
    session = Session(profile(), task="go")
    first = session.assemble()
    assert session.assemble() is first
    session.remind("style", "Answer in Chinese.")
    assert "Answer in Chinese." in str(session.assemble().messages)


def test_the_record_gives_the_same_windows_again(profile: Callable[..., Profile]) -> None:
    session = Session(profile(), task="Which are late?", tools=TOOLS)
    for number in range(30):
        session.assemble()
        session.add(calls(f"c{number}"))
        session.add_tool_result(f"c{number}", "list_orders", ROWS)
        session.add_usage({"prompt_tokens": session.assemble().ledger.total + 50})
    window = session.assemble()
    assert window_problems(window.messages, window.messages) == ()
    again = Session(profile(), record=session.record)
    assert again.assemble().ledger.digest == window.ledger.digest
    counter = counter_for("o200k_base", "scripted/none")
    assert assemble(profile(), session.record, counter).ledger.digest == window.ledger.digest


def test_a_window_that_does_not_fit_is_an_error_and_never_cut(
    profile: Callable[..., Profile],
) -> None:
    session = Session(profile("model.window=2048"), task="word " * 3_000)
    with pytest.raises(ContextOverflow) as caught:
        session.assemble()
    assert caught.value.shortfall > 0
    assert session.record[-1].kind == "step"


def test_messages_are_checked_where_they_come_in(profile: Callable[..., Profile]) -> None:
    session = Session(profile(), task="go")
    with pytest.raises(ValueError, match="'role'"):
        session.add({"content": "no role"})
    with pytest.raises(UsageError, match="opened"):
        Session(profile(), record=session.record[1:])


def test_tool_messages_of_other_loops_are_results(profile: Callable[..., Profile]) -> None:
    session = Session(profile(), task="go", tools=TOOLS)
    session.assemble()
    session.add(calls("c1"))
    session.add({"role": "tool", "tool_call_id": "c1", "content": json.dumps(ROWS)})
    assert session.open_calls == ()
    assert '"total":40' in str(session.assemble().messages[-2]["content"])


def test_public_names_are_there_and_cost_nothing() -> None:
    for name in contextctl.__all__:
        assert getattr(contextctl, name) is not None
    assert set(contextctl.__all__) <= set(dir(contextctl))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        contextctl.nothing  # noqa: B018  # the access is the test
    code = "import contextctl, sys; print(*(m for m in sys.modules if m.startswith('contextctl.')))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "contextctl.version"


def many_tools() -> list[dict[str, Any]]:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    functions = [{"name": f"send_{n}", "parameters": schema} for n in range(40)]
    functions.append({"name": "refund", "description": "退款", "parameters": schema})
    return [{"type": "function", "function": function} for function in functions]


def called(session: Session, call_id: str, name: str, arguments: str) -> ToolCall:
    call = ToolCall(call_id, name, arguments)
    session.assemble()
    message = {"role": "assistant", "content": None, "tool_calls": [call.to_openai()]}
    session.add(message)
    return session.meant(call)


@pytest.mark.parametrize("activation", ["array", "call"])
def test_a_session_answers_the_search_for_its_deferred_tools(activation):
    profile = profile_from_mapping(
        {
            "version": 1,
            "model": {"name": "scripted/x", "window": 20_000},
            "defer": {"activation": activation},
        }
    )
    session = Session(profile, "refund it", tools=many_tools())

    def offered() -> list[str]:
        return [tool["function"]["name"] for tool in session.assemble().tools]

    assert "refund" not in offered()
    assert session.answers("tool_search")
    assert session.answers("refund")  # by saying that it has to be searched for
    early = called(session, "c1", "refund", "{}")
    assert "not loaded" in session.answer(early)
    search = called(session, "c2", "tool_search", '{"query": "退款"}')
    assert "refund" in session.answer(search)
    assert not session.answers("refund")
    assert ("refund" in offered()) == (activation == "array")
    again = Session(profile, record=session.record)
    assert not again.answers("refund")
    if activation == "call":
        inner = called(session, "c3", "call_tool", '{"name": "refund", "arguments": {"q": "1"}}')
        assert (inner.name, inner.arguments) == ("refund", '{"q": "1"}')
