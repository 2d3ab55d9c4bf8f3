"""Laws of trace files: however broken, they give traces or one clear refusal, never a crash."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextctl.core.trace_events import trace_events
from contextctl.errors import UsageError
from contextctl.io.traces import detect, read_traces
from contextctl.model.record_json import event_to_json
from contextctl.model.trace import Trace
from tests.unit.io.traces.spelled import FIXTURES

FILES = sorted(FIXTURES.iterdir())
NAMES = [path.name for path in FILES]
WRONG: Any = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.text(max_size=3),
    st.sampled_from([[], {}, [None], [[]], {"type": None}, {"role": 5}, 1e400, "\ud800"]),
)


def read(path: Path, wanted: str = "auto") -> list[Trace]:
    """All traces, each turned into events that can be written; none when the file is refused."""
    try:
        traces = list(read_traces(path, wanted))
    except UsageError:
        return []
    for trace in traces:
        facts = [event_to_json(event) for event in trace_events(trace)]
        assert json.dumps(facts, ensure_ascii=False).encode("utf-8")
        assert len(facts) >= len(trace.messages)
    return traces


@pytest.mark.parametrize("path", FILES, ids=NAMES)
@given(share=st.floats(0, 1))
@settings(max_examples=30)
def test_a_file_cut_anywhere(path: Path, share: float, tmp_path_factory: Any) -> None:
    whole = path.read_bytes()
    cut = tmp_path_factory.mktemp("cut") / "t"
    cut.write_bytes(whole[: int(len(whole) * share)])
    read(cut)
    read(cut, detect(path))


@pytest.mark.parametrize("path", FILES, ids=NAMES)
@given(data=st.data())
@settings(max_examples=60)
def test_a_value_of_the_wrong_type_anywhere(path: Path, data: Any, tmp_path_factory: Any) -> None:
    if path.suffix not in (".json", ".jsonl", ".traj"):
        pytest.skip("not JSON")
    lines = path.suffix == ".jsonl"
    texts = path.read_text("utf-8").splitlines() if lines else [path.read_text("utf-8")]
    values = [value for value in map(parsed, texts) if value is not None]
    doors = [door for value in values for door in places(value)]
    for _ in range(data.draw(st.integers(1, 3))):
        holder, key = doors[data.draw(st.integers(0, len(doors) - 1))]
        holder[key] = data.draw(WRONG)
    broken = tmp_path_factory.mktemp("broken") / "t"
    broken.write_text("\n".join(json.dumps(value) for value in values), encoding="utf-8")
    read(broken)
    read(broken, detect(path))


@given(raw=st.binary(max_size=200))
def test_any_bytes(raw: bytes, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.mktemp("raw") / "t"
    path.write_bytes(raw)
    read(path)


def parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place of a JSON value that can be overwritten."""
    keys: list[Any] = list(value) if isinstance(value, dict) else []
    if isinstance(value, list):
        keys = list(range(len(value)))
    inner = [place for key in keys for place in places(value[key])]
    return [(value, key) for key in keys] + inner
