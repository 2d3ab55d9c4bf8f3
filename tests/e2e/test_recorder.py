"""The recorder before a real loopback server: what the clients sent is what the file replays."""

from __future__ import annotations

import asyncio
import json
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contextctl.core.trace_events import trace_events
from contextctl.errors import UsageError
from contextctl.io.recorder.record import record
from contextctl.io.traces import detect, read_traces
from contextctl.model.record import MessageAdded, ResultArrived, UsageReported
from contextctl.model.trace import Trace
from tests.servers.two_providers import ANSWER, ARGUMENTS, TwoProviders

KEY = "sk-proj-averysecretkey1234567890"
SCHEMA = {"type": "object", "properties": {"order": {"type": "string"}}}
TOOLS = [{"type": "function", "function": {"name": "look_up", "parameters": SCHEMA}}]
SYSTEM, QUESTION, RESULT = "You keep orders.", "Is SO-1009 paid? 已付款了吗?", "SO-1009: settled"

# The conversation every client below holds, in OpenAI chat form: written by hand, not read back.
CALL = {"id": "call_1", "type": "function"} | {
    "function": {"name": "look_up", "arguments": ARGUMENTS}
}
EXPECTED = [
    {"role": "system", "content": SYSTEM},
    {"role": "user", "content": QUESTION},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "content": RESULT, "tool_call_id": "call_1"},
    {"role": "assistant", "content": ANSWER},
]


@pytest.fixture
def server() -> Iterator[TwoProviders]:
    with TwoProviders() as running:
        yield running


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    return tmp_path / "trace.jsonl"


def chat(ask: Any, *, stream: bool = False) -> None:
    """Hold the conversation: ``ask(messages)`` returns the reply as a dict."""
    messages: list[Any] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": QUESTION},
    ]
    first = ask(messages)
    messages.append(first)
    messages.append({"role": "tool", "tool_call_id": "call_1", "content": RESULT})
    assert ask(messages)["content"] == ANSWER


def said(trace: Trace) -> list[dict[str, Any]]:
    return [message.to_openai() for message in trace.messages]


def only(path: Path) -> Trace:
    assert detect(path) == "recorded"
    (trace,) = read_traces(path)
    assert trace.warnings == ()
    return trace


def joined(chunks: Any) -> dict[str, Any]:
    """What an agent makes of a chat stream: text and one call."""
    text, call = "", {"name": "", "arguments": ""}
    for chunk in chunks:
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for part in choice.delta.tool_calls or []:
                call["name"] += part.function.name or ""
                call["arguments"] += part.function.arguments or ""
    if call["name"]:
        calls = [{"id": "call_1", "type": "function", "function": call}]
        return {"role": "assistant", "content": None, "tool_calls": calls}
    return {"role": "assistant", "content": text}


def openai_client(server: TwoProviders, tape: Path, **options: Any) -> Any:
    import openai

    client = openai.OpenAI(api_key=KEY, base_url=f"{server.url}/v1", max_retries=0)
    return record(client, tape, **options)


def anthropic_client(server: TwoProviders, tape: Path) -> Any:
    anthropic = pytest.importorskip("anthropic")
    return record(anthropic.Anthropic(api_key=KEY, base_url=server.url, max_retries=0), tape)


def test_openai_chat_whole(server: TwoProviders, tape: Path) -> None:
    client = openai_client(server, tape, trace="order-desk")

    def ask(messages: list[Any]) -> dict[str, Any]:
        reply = client.chat.completions.create(model="stub-1", messages=messages, tools=TOOLS)
        return reply.choices[0].message.model_dump(exclude_none=True) | {
            "content": reply.choices[0].message.content
        }

    chat(ask)
    trace = only(tape)
    assert trace.id == "order-desk"
    assert said(trace) == EXPECTED
    assert [tool.name for tool in trace.tools] == ["look_up"]
    assert trace.usages[1].prompt_tokens == 40
    assert trace.usages[2].cached_tokens == 16


def test_openai_chat_streamed(server: TwoProviders, tape: Path) -> None:
    client = openai_client(server, tape)
    options = {"include_usage": True}
    chat(
        lambda messages: joined(
            client.chat.completions.create(
                model="stub-1", messages=messages, tools=TOOLS, stream=True, stream_options=options
            )
        )
    )
    trace = only(tape)
    assert said(trace) == EXPECTED
    assert trace.usages[2].completion_tokens == 9


def test_openai_raw_and_parsed_streams_are_recorded_too(server: TwoProviders, tape: Path) -> None:
    client = openai_client(server, tape)
    asked = [{"role": "user", "content": QUESTION}]
    raw = client.chat.completions.with_raw_response.create(model="stub-1", messages=asked)
    assert raw.parse().choices[0].message.tool_calls[0].function.name == "look_up"
    with client.chat.completions.stream(model="stub-1", messages=[*asked, *asked]) as stream:
        stream.until_done()
    assert len(tape.read_text("utf-8").splitlines()) == 2


def test_openai_responses_with_previous_id(server: TwoProviders, tape: Path) -> None:
    client = openai_client(server, tape)
    first = client.responses.create(model="stub-1", instructions=SYSTEM, input=QUESTION)
    output = {"type": "function_call_output", "call_id": "call_1", "output": RESULT}
    client.responses.create(model="stub-1", input=[output], previous_response_id=first.id)
    trace = only(tape)
    assert said(trace) == EXPECTED
    assert [trace.usages[turn].prompt_tokens for turn in (1, 2)] == [40, 40]


def test_openai_async(server: TwoProviders, tape: Path) -> None:
    import openai

    async def hold() -> None:
        client = openai.AsyncOpenAI(api_key=KEY, base_url=f"{server.url}/v1")
        recording = record(client, tape)
        assert recording is client
        messages: list[Any] = list(EXPECTED[:2])
        await client.chat.completions.create(model="stub-1", messages=messages, tools=TOOLS)
        messages += EXPECTED[2:4]
        stream = await client.chat.completions.create(
            model="stub-1", messages=messages, tools=TOOLS, stream=True
        )
        chunks = [chunk async for chunk in stream]
        assert joined(chunks)["content"] == ANSWER

    asyncio.run(hold())
    assert said(only(tape)) == EXPECTED


@pytest.mark.parametrize("streamed", [False, True])
def test_anthropic_messages(server: TwoProviders, tape: Path, streamed: bool) -> None:
    client = anthropic_client(server, tape)
    tools = [{"name": "look_up", "description": "Looks.", "input_schema": SCHEMA}]
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    fixed = {"model": "claude-stub", "max_tokens": 50, "system": SYSTEM, "tools": tools}

    def ask() -> Any:
        if not streamed:
            return client.messages.create(messages=messages, **fixed)
        with client.messages.stream(messages=messages, **fixed) as stream:
            return stream.get_final_message()

    first = ask()
    messages.append({"role": "assistant", "content": first.content})
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": RESULT}
    messages.append({"role": "user", "content": [result]})
    assert ask().content[0].text == ANSWER

    trace = only(tape)
    call = {"id": "toolu_1", "type": "function", "function": CALL["function"]}
    assert said(trace) == [
        *EXPECTED[:2],
        {"role": "assistant", "content": "I look it up.", "tool_calls": [call]},
        {"role": "tool", "content": RESULT, "tool_call_id": "toolu_1"},
        EXPECTED[4],
    ]
    # Anthropic counts cached tokens apart; a usage fact includes them.
    assert (trace.usages[1].prompt_tokens, trace.usages[1].cached_tokens) == (40, 16)
    assert trace.usages[2].completion_tokens == 9
    assert trace.tools[0].description == "Looks."


@pytest.fixture
def litellm(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    monkeypatch.setenv("LITELLM_MODE", "PRODUCTION")
    import litellm as module

    module.suppress_debug_info = True
    return module


def litellm_options(server: TwoProviders) -> dict[str, Any]:
    return {"model": "openai/stub-1", "api_base": f"{server.url}/v1", "api_key": KEY}


@pytest.mark.parametrize("streamed", [False, True])
def test_litellm(server: TwoProviders, tape: Path, litellm: Any, streamed: bool) -> None:
    real = litellm.completion
    llm = record(litellm, tape)

    def ask(messages: list[Any]) -> dict[str, Any]:
        options = litellm_options(server) | {"messages": messages, "tools": TOOLS}
        if streamed:
            return joined(llm.completion(**options, stream=True))
        message = llm.completion(**options).choices[0].message
        calls = [call.model_dump() for call in message.tool_calls or []]
        reply = {"role": "assistant", "content": message.content}
        return reply | ({"tool_calls": calls} if calls else {})

    chat(ask)
    assert said(only(tape)) == EXPECTED
    assert litellm.completion is real, "the module itself stays as it was"
    assert llm.get_model_info is litellm.get_model_info


def test_litellm_async_stream(server: TwoProviders, tape: Path, litellm: Any) -> None:
    async def hold() -> None:
        llm = record(litellm, tape)
        messages: list[Any] = list(EXPECTED[:2])
        options = litellm_options(server) | {"tools": TOOLS}
        await llm.acompletion(messages=messages, **options)
        messages += EXPECTED[2:4]
        stream = await llm.acompletion(messages=messages, **options, stream=True)
        assert joined([chunk async for chunk in stream])["content"] == ANSWER

    asyncio.run(hold())
    assert said(only(tape)) == EXPECTED


def test_a_with_block_records_all_three_once_each_and_puts_everything_back(
    server: TwoProviders, tape: Path, litellm: Any
) -> None:
    import openai

    anthropic = pytest.importorskip("anthropic")
    asked: list[Any] = [{"role": "user", "content": QUESTION}]
    chat_client = openai.OpenAI(api_key=KEY, base_url=f"{server.url}/v1")
    messages_client = anthropic.Anthropic(api_key=KEY, base_url=server.url)
    before = (litellm.completion, litellm.acompletion)
    with record(tape) as recording:
        chat_client.chat.completions.create(model="stub-1", messages=asked)
        messages_client.messages.create(model="claude-stub", max_tokens=9, messages=[*asked])
        litellm.completion(messages=[*asked, *asked], **litellm_options(server))
    assert recording.tape.failures == 0
    assert (litellm.completion, litellm.acompletion) == before
    chat_client.chat.completions.create(model="stub-1", messages=asked)
    apis = [json.loads(line)["api"] for line in tape.read_text("utf-8").splitlines()]
    assert apis == ["openai", "anthropic", "openai"]


def test_only_what_is_new_is_written(server: TwoProviders, tape: Path) -> None:
    client = openai_client(server, tape)
    messages: list[Any] = [{"role": "system", "content": "x" * 5000}]
    for number in range(20):
        messages.append({"role": "user", "content": f"question {number} " + "y" * 500})
        client.chat.completions.create(model="stub-1", messages=messages, tools=TOOLS)
        messages.append({"role": "assistant", "content": f"answer {number}"})
    lines = tape.read_text("utf-8").splitlines()
    # The prompt once, each question once: 15 kB, where whole requests would be over 200 kB.
    assert sum(len(line) for line in lines) < 30_000
    assert "tools" not in json.loads(lines[1])["request"]
    trace = only(tape)
    assert [m.role for m in trace.messages[:4]] == ["system", "user", "assistant", "user"]
    assert len(trace.messages) == 1 + 20 * 2
    assert trace.messages[2].content == "answer 0", "what the agent kept, not what was replied"


def test_a_rewritten_history_begins_a_new_trace(server: TwoProviders, tape: Path) -> None:
    client = openai_client(server, tape, trace="run")
    for messages in (["a"], ["a", "b"], ["a", "b", "c"], ["summary", "c"], ["summary", "c", "d"]):
        asked = [{"role": "user", "content": text} for text in messages]
        client.chat.completions.create(model="stub-1", messages=asked)
    traces = list(read_traces(tape))
    users = [[m.content for m in trace.messages if m.role == "user"] for trace in traces]
    assert [trace.id for trace in traces] == ["run", "run-2"]
    assert users == [["a", "b", "c"], ["summary", "c", "d"]]


def test_interleaved_conversations_are_told_apart(server: TwoProviders, tape: Path) -> None:
    client = openai_client(server, tape)
    for texts in (["a"], ["b"], ["a", "a2"], ["b", "b2"], ["a", "a2", "a3"]):
        asked = [{"role": "user", "content": text} for text in texts]
        client.chat.completions.create(model="stub-1", messages=asked)
    users = [[m.content for m in t.messages if m.role == "user"] for t in read_traces(tape)]
    assert users == [["a", "a2", "a3"], ["b", "b2"]]


def test_no_secret_reaches_the_file(
    server: TwoProviders, tape: Path, litellm: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = "opaque-value-without-a-shape-77"
    monkeypatch.setenv("MY_SERVICE_TOKEN", plain)
    text = f"printenv: {KEY} {plain} ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    asked: list[Any] = [{"role": "user", "content": text}]
    mcp = {"type": "mcp", "server_label": "s", "server_url": "https://example.invalid"}
    headers = {"authorization": "Basic c2VjcmV0LXNlY3JldA==", "x-team": "hidden-team-value"}
    openai_client(server, tape).responses.create(
        model="stub-1", input=text, tools=[{**mcp, "headers": headers}]
    )
    record(litellm, tape).completion(messages=asked, **litellm_options(server))
    server.fail_next = 1
    with pytest.raises(Exception, match="no such model"):
        openai_client(server, tape).chat.completions.create(model="stub-1", messages=asked)
    written = tape.read_text("utf-8")
    assert len(written.splitlines()) == 3
    for secret in (KEY, plain, "ghp_", "c2VjcmV0", "hidden-team-value", "127.0.0.1"):
        assert secret not in written
    assert "printenv: *** *** ***" in written
    assert stat.S_IMODE(tape.stat().st_mode) == 0o600


def test_a_failed_call_is_a_fact_and_its_retry_continues_the_trace(
    server: TwoProviders, tape: Path
) -> None:
    client = openai_client(server, tape)
    asked: list[Any] = [{"role": "user", "content": QUESTION}]
    server.fail_next = 1
    with pytest.raises(Exception, match="no such model"):
        client.chat.completions.create(model="stub-1", messages=asked)
    client.chat.completions.create(model="stub-1", messages=asked)
    trace = only(tape)
    assert [message.role for message in trace.messages] == ["user", "assistant"]
    (note,) = [note for note in trace.notes if note.topic == "error"]
    assert "HTTP 400" in str(note.body["error"])


def test_a_file_that_cannot_be_written_never_reaches_the_call(
    server: TwoProviders, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = tmp_path / "folder"
    blocked.mkdir()
    client = openai_client(server, blocked)
    asked: list[Any] = [{"role": "user", "content": QUESTION}]
    for _ in range(2):
        reply = client.chat.completions.create(model="stub-1", messages=asked)
        assert reply.choices[0].message.tool_calls
    assert [r.message.count("could not be recorded") for r in caplog.records] == [1]


def test_a_torn_last_line_is_left_alone(server: TwoProviders, tape: Path) -> None:
    tape.write_text('{"contextctl_call": 1, "trace": "torn", "req', encoding="utf-8")
    openai_client(server, tape).chat.completions.create(
        model="stub-1", messages=[{"role": "user", "content": QUESTION}]
    )
    (trace,) = read_traces(tape)
    assert trace.messages[0].content == QUESTION
    assert f"{tape}:1: skipped" in trace.warnings[0]


def test_a_stream_that_is_left_early_is_recorded_as_far_as_it_came(
    server: TwoProviders, tape: Path
) -> None:
    client = openai_client(server, tape)
    asked: list[Any] = [{"role": "user", "content": QUESTION}, *EXPECTED[2:4]]
    with client.chat.completions.create(model="stub-1", messages=asked, stream=True) as stream:
        for _, chunk in zip(range(4), stream, strict=False):
            assert chunk.choices
    trace = only(tape)
    last = trace.messages[-1]
    assert last.role == "assistant"
    assert ANSWER.startswith(last.text)
    assert last.text


def test_the_events_of_a_recording(server: TwoProviders, tape: Path) -> None:
    test_openai_chat_streamed(server, tape)
    kinds = [event.kind for event in trace_events(only(tape))]
    assert kinds == [
        "tools",
        "message",
        "message",
        "message",
        "usage",
        "result",
        "message",
        "usage",
    ]
    (result,) = [e for e in trace_events(only(tape)) if isinstance(e, ResultArrived)]
    assert (result.call_id, result.name, result.content) == ("call_1", "look_up", RESULT)
    assert sum(isinstance(e, (MessageAdded, UsageReported)) for e in trace_events(only(tape))) == 6


@pytest.mark.parametrize("client", ["openai", "litellm", "anthropic"])
def test_replay_sends_what_was_sent(
    server: TwoProviders, tape: Path, litellm: Any, cli: Any, client: str
) -> None:
    """The command on the file: each window's messages are those of the request it was."""
    if client == "openai":
        test_openai_chat_streamed(server, tape)
    elif client == "litellm":
        test_litellm(server, tape, litellm, streamed=False)
    else:
        test_anthropic_messages(server, tape, streamed=True)
    profile = tape.with_name("p.yaml")
    profile.write_text("version: 1\nmodel: {name: openai/gpt-4.1-mini}\n", encoding="utf-8")
    ran = cli("replay", profile, tape, "--windows", "--out", "run")
    assert ran.code == 0, ran.err
    (written,) = (tape.parent / "run" / "tasks").glob("*/windows.jsonl")
    windows = [json.loads(line) for line in written.read_text("utf-8").splitlines()]
    assert len(windows) == len(server.bodies) == 2
    if client == "anthropic":
        assert [window["messages"] for window in windows] == [said(only(tape))[:n] for n in (2, 4)]
        return
    for window, body in zip(windows, server.bodies, strict=True):
        # litellm leaves "content": null out on the wire.
        assert window["messages"] == [{"content": None, **message} for message in body["messages"]]
        assert body["tools"][0]["function"]["name"] in json.dumps(window["tools"])


def test_what_cannot_be_recorded_says_so(tape: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot record a builtins\.object: give an OpenAI"):
        record(object(), tape)
    with pytest.raises(UsageError, match="needs a trace file"):
        record(42)  # type: ignore[call-overload]


def test_recording_costs_little(server: TwoProviders, tape: Path) -> None:
    """A window of 200 kB: recording adds well under what the smallest model call takes.

    Counted in the caller's own processor time, so that a busy machine says nothing about it.
    """
    import openai

    messages = [{"role": "user", "content": f"{n} " + "word " * 200} for n in range(200)]
    client = openai.OpenAI(api_key=KEY, base_url=f"{server.url}/v1")

    def timed() -> float:
        begun = time.thread_time()
        for n in range(10):
            asked: Any = [*messages, {"role": "user", "content": f"more {n}"}]
            client.chat.completions.create(model="stub-1", messages=asked)
        return (time.thread_time() - begun) / 10

    bare = min(timed() for _ in range(3))
    record(client, tape)
    taped = min(timed() for _ in range(3))
    assert taped - bare < 0.05, f"{(taped - bare) * 1000:.1f} ms a call"
    assert tape.stat().st_size > 0
