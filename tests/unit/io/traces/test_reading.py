"""Detection, refusals, and files as broken as real ones."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from contextctl.errors import UsageError
from contextctl.io.traces import FORMATS, detect, read_traces
from tests.unit.io.traces.spelled import FIXTURES, spelled

HELLO = '{"id": "a", "messages": [{"role": "user", "content": "你好"}]}'
AGAIN = '{"id": "b", "messages": [{"role": "user", "content": "again"}]}'


def written(folder: Path, data: str | bytes, name: str = "t.jsonl") -> Path:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def test_every_format_has_a_fixture_that_is_found_by_content() -> None:
    found = {detect(path) for path in sorted(FIXTURES.iterdir())}
    assert found == set(FORMATS)


@pytest.mark.parametrize("path", sorted(FIXTURES.iterdir()), ids=lambda path: path.name)
def test_a_name_says_nothing_and_gzip_is_seen_by_content(path: Path, tmp_path: Path) -> None:
    packed = written(tmp_path, gzip.compress(path.read_bytes()), "unnamed.bin")
    assert detect(packed) == detect(path)
    assert [spelled(t) for t in read_traces(packed)] == [spelled(t) for t in read_traces(path)]


def test_a_named_format_is_not_guessed(tmp_path: Path) -> None:
    path = FIXTURES / "openai.jsonl"
    assert {trace.source for trace in read_traces(path, "openai")} == {"openai"}
    with pytest.raises(UsageError, match="no trace format 'opnai'; there are: aider, anthropic"):
        list(read_traces(path, "opnai"))
    with pytest.raises(UsageError, match="holds no message when read as 'tau2'"):
        list(read_traces(path, "tau2"))


@pytest.mark.parametrize(
    ("data", "seen"),
    [
        ('{"rows": [1], "next": null}', r"an object with the keys rows, next"),
        ("[1, 2, 3]", r"a list of 3 a int: '1'"),
        ("[]", r"a list of 0"),
        ("version: 1\nname: x\n", r"the text 'version: 1"),
        ("just prose\n", r"the text 'just prose"),
        ("42\n", r"a int: '42'"),
    ],
)
def test_an_unknown_format_says_what_was_seen(tmp_path: Path, data: str, seen: str) -> None:
    path = written(tmp_path, data)
    with pytest.raises(UsageError, match=seen) as caught:
        list(read_traces(path))
    for name in FORMATS:
        assert name in str(caught.value)
    assert "--from" in str(caught.value)


@pytest.mark.parametrize("data", [b"", b"\n \n", b"\xef\xbb\xbf", b"\x00\x00\x00"])
def test_an_empty_file_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(UsageError, match="is empty"):
        list(read_traces(written(tmp_path, data)))


def test_missing_and_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no trace file"):
        list(read_traces(tmp_path / "none.jsonl"))
    with pytest.raises(UsageError, match="is a folder"):
        list(read_traces(tmp_path))


def test_a_damaged_gzip_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress((HELLO + "\n").encode() * 50)
    with pytest.raises(UsageError, match="cannot read the trace file"):
        list(read_traces(written(tmp_path, whole[: len(whole) // 2])))


def test_a_torn_last_line_costs_only_itself(tmp_path: Path) -> None:
    # The line ends inside the three bytes of 好.
    torn = AGAIN.encode()[:-20] + "你好".encode()[:-1]
    path = written(tmp_path, HELLO.encode() + b"\n" + torn)
    (trace,) = read_traces(path)
    assert (trace.id, spelled(trace)) == ("a", ["user: 你好"])
    assert len(trace.warnings) == 1
    assert f"{path}:2: skipped" in trace.warnings[0]


def test_a_broken_line_in_the_middle(tmp_path: Path) -> None:
    path = written(tmp_path, f"{HELLO}\n{{oops\n{AGAIN}\n")
    first, second = read_traces(path)
    assert (first.id, second.id) == ("a", "b")
    assert f"{path}:2: skipped 5 characters that are not JSON" in second.warnings[0]


def test_a_broken_first_line(tmp_path: Path) -> None:
    path = written(tmp_path, f'user", "content": "x"}}]}}\n{HELLO}\n{AGAIN}\n')
    assert [trace.id for trace in read_traces(path)] == ["a", "b"]
    path = written(tmp_path, f'{{"id": "x", "messa\n{HELLO}\n{AGAIN}\n')
    assert [trace.id for trace in read_traces(path)] == ["a", "b"]


def test_two_objects_on_one_line_are_both_read(tmp_path: Path) -> None:
    path = written(tmp_path, f"{HELLO}{AGAIN}\n")
    first, second = read_traces(path)
    assert [first.id, second.id] == ["a", "b"]
    assert f"{path}:1: several JSON values" in (first.warnings + second.warnings)[0]


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + HELLO.encode() + b"\r\n",
        HELLO.encode().replace(b'"a"', b'"a\x00"') + b"\x00\x00\n",
        HELLO.encode("utf-16"),
        b"\n\n" + HELLO.encode(),
        json.dumps(json.loads(HELLO), indent=2).replace("\n", "\r\n").encode(),
    ],
    ids=["bom-crlf", "nul", "utf-16", "blank-lines", "pretty"],
)
def test_encodings_and_line_ends(tmp_path: Path, data: bytes) -> None:
    (trace,) = read_traces(written(tmp_path, data))
    assert (trace.id, spelled(trace)) == ("a", ["user: 你好"])


def test_half_a_surrogate_pair_becomes_writable(tmp_path: Path) -> None:
    path = written(tmp_path, '{"id": "a", "messages": [{"role": "user", "content": "x\\ud83d y"}]}')
    (trace,) = read_traces(path)
    assert str(trace.messages[0].content).encode() == b"x? y"
    assert "surrogate" in trace.warnings[0]


def test_deep_nesting_is_a_warning_not_a_crash(tmp_path: Path) -> None:
    path = written(tmp_path, HELLO + "\n" + "[" * 200_000 + "\n" + AGAIN + "\n")
    assert [trace.id for trace in read_traces(path)] == ["a", "b"]


def test_ids_missing_and_doubled(tmp_path: Path) -> None:
    bare = '{"messages": [{"role": "user", "content": "x"}]}'
    path = written(tmp_path, f"{bare}\n{bare}\n{HELLO}\n{HELLO}", "night.run.jsonl")
    assert [trace.id for trace in read_traces(path)] == ["night.run", "night.run-2", "a", "a-2"]


def test_messages_one_a_line_are_one_trace(tmp_path: Path) -> None:
    lines = '{"role": "user", "content": "a"}\n{"role": "assistant", "content": "b"}\n'
    (trace,) = read_traces(written(tmp_path, lines, "log.jsonl"))
    assert (trace.id, spelled(trace)) == ("log", ["user: a", "assistant: b"])


def test_a_message_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    bad = '{"role": "user", "content": 5}'
    path = written(tmp_path, HELLO.replace("]", f", {bad}]"))
    (trace,) = read_traces(path)
    assert spelled(trace) == ["user: 你好"]
    assert f"{path}:1: skipped message 2: 'content' must be text" in trace.warnings[0]


def test_traces_come_while_the_file_is_read(tmp_path: Path) -> None:
    """The second line is not JSON at all: the first trace is out before it is reached."""
    path = written(tmp_path, HELLO + "\n" + AGAIN + "\n" + "x" * 100 + "\n")
    traces = read_traces(path)
    assert next(traces).id == "a"
    path.unlink()
    assert next(traces).id == "b"


def test_numbers_keep_their_digits(tmp_path: Path) -> None:
    call = '{"id": "c", "function": {"name": "f", "arguments": {"id": 9007199254740993123}}}'
    message = f'{{"role": "assistant", "content": null, "tool_calls": [{call}]}}'
    (trace,) = read_traces(written(tmp_path, f'{{"messages": [{message}]}}'))
    assert trace.messages[0].tool_calls[0].arguments == '{"id": 9007199254740993123}'
