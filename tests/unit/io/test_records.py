"""Records and JSON-lines files on a real disk: torn, repaired, locked, killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextctl.errors import RecordError, StoreError
from contextctl.io.runs.records import RecordWriter, read_record
from contextctl.io.text.files import write_atomic
from contextctl.io.text.jsonl import JsonlWriter, append_line, read_jsonl
from contextctl.model.message import Message, ToolCall, ToolSpec
from contextctl.model.record import (
    CallStarted,
    Event,
    MessageAdded,
    Noted,
    Opened,
    ResultArrived,
    ToolsListed,
)

ROOT = Path(__file__).resolve().parents[3]
EVENTS: tuple[Event, ...] = (
    Opened("t1", "s1", "ab12"),
    ToolsListed("profile", (ToolSpec("ls", "List.", {"type": "object", "properties": {}}),)),
    MessageAdded(Message("user", "列出文件 👩\u200d👩")),
    MessageAdded(Message("assistant", None, (ToolCall("c1", "ls", '{"a": 1.10}'),))),
    CallStarted("c1", "ls"),
    ResultArrived("c1", "ls", "half \ud800 pair\0\n行"),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tasks" / "t1" / "record.jsonl"


def write(path: Path, events: tuple[Event, ...] = EVENTS) -> None:
    with RecordWriter(path) as writer:
        writer.append(events)


def test_events_come_back_as_they_were(path: Path) -> None:
    write(path)
    assert read_record(path) == (EVENTS, ())
    path.read_bytes().decode("utf-8")


def test_a_missing_record_is_empty(path: Path) -> None:
    assert read_record(path) == ((), ())


def test_appending_continues_the_record(path: Path) -> None:
    write(path, EVENTS[:3])
    write(path, EVENTS[3:])
    assert read_record(path)[0] == EVENTS


def test_every_cut_of_the_last_line_is_tolerated_and_repaired(path: Path) -> None:
    """Wherever the write stopped: inside a character, an escape, or before the newline."""
    write(path)
    whole = path.read_bytes()
    last = whole[:-1].rindex(b"\n") + 1
    more = Noted("ending", {"why": "test"})
    for cut in range(last + 1, len(whole)):
        path.write_bytes(whole[:cut])
        events, warnings = read_record(path)
        complete = cut == len(whole) - 1
        assert events == (EVENTS if complete else EVENTS[:-1])
        assert len(warnings) == (not complete)
        with RecordWriter(path) as writer:
            assert writer.repaired
            writer.append((more,))
        assert read_record(path) == ((*events, more), ())
        assert path.read_bytes().startswith(whole[:last])
    assert path.with_name("record.jsonl.torn").read_bytes().startswith(whole[last : last + 1])


def test_nuls_after_a_power_cut_are_a_torn_line(path: Path) -> None:
    write(path)
    whole = path.read_bytes()
    path.write_bytes(whole + b"\0" * 5000)
    events, warnings = read_record(path)
    assert events == EVENTS
    assert f"{path}:7: torn last line, ignored" in warnings[0]
    write(path, ())
    assert path.read_bytes() == whole


def test_a_torn_line_longer_than_the_look_back_is_found(path: Path) -> None:
    write(path)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"kind":"note","topic":"' + b"x" * 300_000)
    write(path, ())
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{broken", "not JSON"),
        ("[1]", "a JSON list where an object is expected"),
        ('{"kind":"unheard"}', "unknown event kind 'unheard'"),
        ('{"kind":"result"}', "event 'result'"),
    ],
)
def test_a_broken_line_in_the_middle_stops_with_its_number(
    path: Path, line: str, complaint: str
) -> None:
    write(path)
    lines = path.read_text(encoding="utf-8").split("\n")
    lines[2] = line
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(RecordError) as caught:
        read_record(path)
    assert f"{path}:3: " in str(caught.value)
    assert complaint in str(caught.value)


def test_a_second_writer_is_refused_until_the_first_ends(path: Path) -> None:
    first = RecordWriter(path)
    first.append(EVENTS[:1])
    code = "import sys; from pathlib import Path\n"
    code += "from contextctl.io.runs.records import RecordWriter\n"
    code += "RecordWriter(Path(sys.argv[1]))"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    other = [sys.executable, "-c", code, str(path)]
    refused = subprocess.run(other, env=env, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert "is being written by another process" in refused.stderr
    with pytest.raises(RecordError, match="is being written"):
        RecordWriter(path)
    first.close()
    subprocess.run(other, env=env, check=True)


KILLED = """
import sys
from pathlib import Path
from contextctl.io.runs.records import RecordWriter
from contextctl.model.record import CallStarted, ResultArrived
writer = RecordWriter(Path(sys.argv[1]))
number = int(sys.argv[2])
while True:
    writer.append((CallStarted(f"c{number}", "f"), ResultArrived(f"c{number}", "f", "行" * 4000)))
    print(number, flush=True)
    number += 1
"""


def test_a_killed_writer_leaves_a_record_that_goes_on(path: Path) -> None:
    told = 0
    for _ in range(5):
        child = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(path), str(told)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
        )
        time.sleep(0.5)
        child.send_signal(signal.SIGKILL)
        out, _ = child.communicate(timeout=30)
        numbers = [int(line) for line in out.splitlines(keepends=True) if line.endswith("\n")]
        told = numbers[-1] + 1 if numbers else told
        events, _ = read_record(path)
        written = [e.call_id for e in events if isinstance(e, ResultArrived)]
        assert set(written) >= {f"c{number}" for number in range(told)}
    assert told > 5
    for line in path.read_bytes().split(b"\n")[:-1]:
        json.loads(line)


def test_what_the_disk_refuses_leaves_no_part_behind(path: Path) -> None:
    code = """
import resource, sys
from pathlib import Path
from contextctl.errors import StoreError
from contextctl.io.text.jsonl import JsonlWriter
writer = JsonlWriter(Path(sys.argv[1]))
writer.append([{"n": 1}])
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
try:
    writer.append([{"n": 2, "x": "y" * 9000}])
except StoreError as error:
    print(error)
writer.append([{"n": 3}])
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], env=env, capture_output=True, text=True, check=True
    )
    assert "cannot write" in done.stdout
    assert [line["n"] for line in read_jsonl(path).values] == [1, 3]


@given(
    st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=30), max_size=3), max_size=6),
    st.binary(max_size=40).filter(lambda b: b"\n" not in b),
)
def test_any_fragment_at_the_end_costs_nothing_but_itself(
    tmp_path_factory: pytest.TempPathFactory, values: list[dict[str, str]], fragment: bytes
) -> None:
    path = tmp_path_factory.mktemp("lines") / "results.jsonl"
    with JsonlWriter(path) as writer:
        writer.append(values)
    with path.open("ab") as file:
        file.write(fragment)
    append_line(path, {"last": "one"})
    lines = read_jsonl(path)
    assert lines.broken == ()
    kept = [line for line in lines.values if line in values]
    assert kept[: len(values)] == values
    assert lines.values[-1] == {"last": "one"}


# BAT-01: the results file of a batch


@pytest.fixture
def bat(shared: Path, tmp_path: Path) -> Path:
    for source in (shared / "cases" / "inputs" / "BAT-01").glob("*.jsonl"):
        (tmp_path / source.name).write_bytes(source.read_bytes())
    return tmp_path


def ids(path: Path) -> list[object]:
    return [line["id"] for line in read_jsonl(path).values]


def test_bat_01_torn(bat: Path) -> None:
    path = bat / "results_torn.jsonl"
    before = read_jsonl(path)
    assert ids(path) == ["t1", "t2"]
    assert f"{path}:3: torn last line" in before.warnings[0]
    assert "torn last line was cut off" in append_line(path, {"id": "t3", "status": "ok"})
    assert ids(path) == ["t1", "t2", "t3"]
    assert read_jsonl(path).broken == ()
    assert (bat / "results_torn.jsonl.torn").read_bytes().startswith(b'{"id": "t3"')


def test_bat_01_no_final_newline(bat: Path) -> None:
    path = bat / "results_nonl.jsonl"
    before = path.read_bytes()
    assert ids(path) == ["t1", "t2", "t3"]
    assert read_jsonl(path).warnings == ()
    assert "it was complete and is kept" in append_line(path, {"id": "t4"})
    assert path.read_bytes() == before + b'\n{"id":"t4"}\n'


def test_bat_01_broken_in_the_middle(bat: Path) -> None:
    path = bat / "results_mid.jsonl"
    before = path.read_bytes()
    lines = read_jsonl(path)
    assert ids(path) == ["t1", "t3"]
    assert [bad.number for bad in lines.broken] == [2]
    assert f"{path}:2: not used: not JSON" in lines.warnings[0]
    assert append_line(path, {"id": "t2"}) == ""
    assert path.read_bytes() == before + b'{"id":"t2"}\n'


# Whole files


def test_a_whole_file_is_replaced_in_one_piece(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "run.json"
    write_atomic(path, "旧\r\n")
    write_atomic(path, b"\xffnew")
    assert path.read_bytes() == b"\xffnew"
    assert [entry.name for entry in path.parent.iterdir()] == ["run.json"]
    plain = tmp_path / "plain"
    plain.write_text("x")
    assert path.stat().st_mode == plain.stat().st_mode


def test_a_file_that_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(StoreError, match="cannot write"):
        write_atomic(tmp_path / "taken", "x")
    assert [entry.name for entry in tmp_path.iterdir()] == ["taken"]
