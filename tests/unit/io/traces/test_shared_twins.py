"""Every published trace of the shared data against its converted twin, message by message.

The twins were converted by someone else, so they are the expectation. Where a twin holds more or
less than its file, the difference is written down here with its reason.
"""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path

import pytest

from contextctl.core.trace_events import result_text, trace_events
from contextctl.io.models.vocab import counter_for
from contextctl.io.traces import detect, read_traces
from contextctl.model.message import JsonObject, Message, message_from_openai
from contextctl.model.trace import Trace

TRAJECTORIES = Path("data/01_trajectories")

_MINI = ("pylint-dev__astroid-1333", "sqlfluff__sqlfluff-1517", "sqlfluff__sqlfluff-1763")
# file, its format, its twins' file, the part of a twin's id that belongs to this file
TWINS = [
    ("cline_session.messages.json", "cline", "cline_session", ""),
    ("inspect_browser_eval_log.json", "inspect", "inspect_browser", ""),
    ("livemcpbench_claude-sonnet-4.json.gz", "livemcpbench", "livemcpbench", ""),
    ("pi_large-session.jsonl", "pi", "pi_sessions", "large"),
    ("pi_compact.malformed-last-line.jsonl", "pi", "pi_sessions", "compact"),
    ("tau-bench_gpt-4o-airline.json.gz", "tau-bench", "tau1_airline_gpt4o", ""),
    ("tau2_sft-v1-small_train_airline.jsonl.gz", "openai", "tau2_sft_airline", ""),
    ("tau2_gpt-4.1_airline_default_gpt-4.1_1trials.json.gz", "tau2", "tau2-airline-gpt41", ""),
    (
        "tau2_toolorchestra_airline_gpt-5_1trial.json.gz",
        "tau2",
        "tau2-airline-toolorchestra",
        "",
    ),
    *(
        (f"mini-swe-agent/{name}.traj.json.gz", "mini-swe-agent", "mini-swe-agent_dev", name)
        for name in (
            "pylint-dev__astroid-1333",
            "sqlfluff__sqlfluff-1517",
            "sqlfluff__sqlfluff-1763",
        )
    ),
]
OTHERS = {
    "claude_code_jsonl_fixtures": "claude-code",
    "provider_cassettes_anthropic": "cassette",
    "provider_cassettes_openai": "cassette",
    "stabletoolbench_dfs_answers": "stabletoolbench",
    "openhands_fncall": "openhands",
    "swe-agent": "swe-agent",
}


def plain(message: Message) -> tuple[str, str, list[tuple[str, str]]]:
    """Role, text and calls: what both sides hold in their own wrapping."""
    calls = [(call.name, call.arguments) for call in message.tool_calls]
    return message.role, result_text(message.content)[0], calls


def twins(shared: Path, name: str, part: str = "") -> list[list[Message]]:
    path = shared / TRAJECTORIES / "openai" / f"{name}.jsonl"
    raw: list[JsonObject] = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    wanted = [entry for entry in raw if part in str(entry["id"])]
    return [[message_from_openai(m) for m in entry["messages"]] for entry in wanted]  # type: ignore[union-attr, arg-type]


def tokens(messages: list[tuple[str, str, list[tuple[str, str]]]]) -> int:
    count = counter_for("o200k_base", "gpt-4o").text
    texts = chain.from_iterable((text, *chain.from_iterable(calls)) for _, text, calls in messages)
    return sum(count(text) for text in texts)


def expected(name: str, read: list[Message], twin: list[Message]) -> list[Message]:
    """The twin with the known differences undone."""
    out = list(twin)
    if name.startswith("tau2_") and "sft" not in name:
        # The twin wraps the policy in a prompt of its own; the file holds the policy alone.
        policy = read[0].text
        assert policy
        assert policy in out[0].text
        assert len(out[0].text) - len(policy) < 150
        out[0] = read[0]
    for index, message in enumerate(out):
        if message.role == "tool" and message.text.endswith("[image omitted]"):
            # The twin drops the picture; the trace describes it by type and size.
            text = result_text(read[index].content)[0]
            assert "[image/png, " in text
            assert text.rpartition("[image/png")[0] == message.text.removesuffix("[image omitted]")
            out[index] = read[index]
    return out


@pytest.mark.parametrize(("name", "source", "twin", "part"), TWINS, ids=[row[0] for row in TWINS])
def test_a_trace_is_its_twin(shared: Path, name: str, source: str, twin: str, part: str) -> None:
    path = shared / TRAJECTORIES / "original" / name
    traces = list(read_traces(path))
    wanted = twins(shared, twin, part)
    assert detect(path) == source
    if source == "tau-bench":
        # Four trials of fifty tasks; the twins are the first trial.
        assert len(traces) == 200
        traces = [trace for trace in traces if trace.id.endswith("-r0")]
    assert len(traces) == len(wanted)
    for trace, messages in zip(traces, wanted, strict=True):
        read = list(trace.messages)
        want = [plain(message) for message in expected(name, read, messages)]
        assert [plain(message) for message in read] == want
        assert tokens([plain(message) for message in read]) == tokens(want)


@pytest.mark.parametrize("position", range(4))
def test_swe_agent_twins(shared: Path, position: int) -> None:
    entry = json.loads(
        (shared / TRAJECTORIES / "openai/swe-agent.jsonl").read_text("utf-8").splitlines()[position]
    )
    name = entry["id"].removeprefix("sweagent-")
    (trace,) = read_traces(shared / TRAJECTORIES / "original/swe-agent" / name)
    twin = [message_from_openai(message) for message in entry["messages"]]
    assert [(*plain(m), m.name) for m in trace.messages] == [(*plain(m), m.name) for m in twin]


def test_the_last_openhands_call_is_its_twin_and_the_reply(shared: Path) -> None:
    (twin,) = twins(shared, "openhands_fncall")
    last = max((shared / TRAJECTORIES / "original/openhands_fncall").iterdir())
    (trace,) = read_traces(last)
    read = [plain(message) for message in trace.messages]
    assert read[:-1] == [plain(message) for message in twin]
    assert read[-1][0] == "assistant", "the twin stops at the request; the file has the reply"
    assert trace.usages[6].prompt_tokens == 6729
    assert [tool.name for tool in trace.tools] == ["terminal", "str_replace_editor", "finish"]


def every_file(shared: Path) -> list[Path]:
    folders = (shared / TRAJECTORIES / "original", shared / TRAJECTORIES / "provider_native")
    return sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())


def test_every_published_file_is_imported_by_content(shared: Path) -> None:
    found = {}
    for path in every_file(shared):
        traces = list(read_traces(path))
        found[path.relative_to(shared / TRAJECTORIES).as_posix()] = traces[0].source
        assert all(trace.messages for trace in traces)
        assert len({trace.id for trace in traces}) == len(traces)
        for trace in traces:
            assert_events(trace)
    assert len(found) == 40
    for name, source in found.items():
        folder = name.split("/")[1]
        if folder in OTHERS:
            assert source == OTHERS[folder], name
    assert found["provider_native/anthropic_requests.jsonl"] == "exchanges"
    assert found["provider_native/openai_requests.jsonl"] == "exchanges"


def assert_events(trace: Trace) -> None:
    events = list(trace_events(trace))
    spoken = [e for e in events if e.kind in ("message", "result")]
    assert len(spoken) == len(trace.messages)
    asked = [c.id for e in events if e.kind == "message" for c in e.message.tool_calls]  # type: ignore[union-attr]
    assert len(set(asked)) == len(asked), "an id names one call"
    turns = sum(message.role == "assistant" for message in trace.messages)
    assert all(1 <= turn <= turns for turn in trace.usages)


def test_pi_usage_includes_what_was_cached(shared: Path) -> None:
    (trace,) = read_traces(shared / TRAJECTORIES / "original/pi_large-session.jsonl")
    # Its third entry with usage: 3 input, 0 read, 1,684 written; the next reads those 1,684.
    second, third = trace.usages[2], trace.usages[3]
    assert (second.prompt_tokens, second.cached_tokens, second.cache_write_tokens) == (
        1687,
        0,
        1684,
    )
    assert (third.prompt_tokens, third.cached_tokens) == (7 + 1684 + 9518, 1684)


def test_the_torn_pi_session_keeps_both_objects_of_its_last_line(shared: Path) -> None:
    (trace,) = read_traces(shared / TRAJECTORIES / "original/pi_compact.malformed-last-line.jsonl")
    assert trace.messages[-1].text.startswith('Done. Removed the "Common patterns" section')
    assert [note.topic for note in trace.notes].count("compaction") == 2
    assert ":1013: several JSON values" in trace.warnings[0]
