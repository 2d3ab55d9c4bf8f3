"""Assembly is pure: it neither touches the world nor depends on anything but its record."""

from __future__ import annotations

import builtins
import hashlib
import json
import logging
import os
import random
import socket
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextctl.core.assemble import Fold, assemble
from contextctl.model.counter import Approx
from contextctl.model.message import Message, ToolCall
from contextctl.model.profile import profile_from_mapping
from contextctl.model.record import (
    EnvironmentRead,
    Event,
    MessageAdded,
    Opened,
    ResultArrived,
    StepTaken,
    TaskGiven,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
BLOCKED = [
    (builtins, ("open", "print", "input")),
    (os, ("open", "getenv", "urandom", "getcwd", "listdir", "stat")),
    (socket, ("socket", "create_connection", "getaddrinfo")),
    (time, ("time", "time_ns", "monotonic", "perf_counter", "localtime", "gmtime", "sleep")),
    (random, ("random", "randint", "choice", "shuffle", "getrandbits", "Random")),
    (uuid, ("uuid1", "uuid4")),
    (subprocess, ("Popen", "run")),
    (logging.Logger, ("_log",)),
]
# A window that a handful of results fill, so that shaping, batches and the last resorts all run.
PROFILE = profile_from_mapping(
    {
        "version": 1,
        "name": "pure",
        "model": {"name": "openai/gpt-4.1-mini", "window": 3000, "reserve_output": 500},
        "tokenizer": "approx",
        "prefix": [
            {"id": "core", "text": "You look into orders.", "stability": "static"},
            {"id": "environment", "environment": ["date", "timezone"], "stability": "step"},
        ],
        "tools": {"list_orders": {"result": {"fields": ["id"], "page": {"limit": 3}}}},
    }
)


class TouchedError(AssertionError):
    """Assembly reached for the world."""


class _NoEnvironment(dict[str, str]):
    def __missing__(self, key: str) -> NoReturn:
        raise TouchedError(f"os.environ[{key!r}]")

    def get(self, key: str, default: object = None) -> NoReturn:
        raise TouchedError(f"os.environ.get({key!r})")

    def __contains__(self, key: object) -> NoReturn:
        raise TouchedError(f"{key!r} in os.environ")


@contextmanager
def sealed() -> Iterator[None]:
    """Everything outside raises: files, sockets, clock, randomness, environment, output."""

    def deny(name: str) -> Any:
        def denied(*_args: object, **_kwargs: object) -> NoReturn:
            raise TouchedError(name)

        return denied

    with pytest.MonkeyPatch.context() as block:
        for place, names in BLOCKED:
            for name in names:
                block.setattr(place, name, deny(f"{place.__name__}.{name}"))
        block.setattr(os, "environ", _NoEnvironment())
        yield


@pytest.mark.parametrize(
    "reach",
    [
        lambda: open(__file__, encoding="utf-8"),  # noqa: SIM115, PTH123  # it must never open
        lambda: Path(__file__).stat(),
        lambda: socket.socket(),
        lambda: time.time(),
        lambda: random.random(),
        lambda: os.environ["HOME"],
        lambda: uuid.uuid4(),
        lambda: logging.getLogger("contextctl").error("told"),
        lambda: print("told"),
    ],
)
def test_the_seal_holds(reach: Any) -> None:
    with sealed(), pytest.raises(TouchedError):
        reach()


rows = st.lists(
    st.fixed_dictionaries({"id": st.integers(0, 10**18), "note": st.text(max_size=20)}),
    max_size=40,
)
results = st.one_of(
    st.text(max_size=300),
    st.text(min_size=1, max_size=20).map(lambda text: f"{text}\n" * 200),
    rows.map(lambda found: json.dumps(found, ensure_ascii=False)),
)


def record_of(found: list[str]) -> list[Event]:
    """A task in which every step calls a tool and gets one of ``found``."""
    events: list[Event] = [
        Opened(task="t", session="s", key="0f" * 16),
        EnvironmentRead({"date": "2026-11-30", "timezone": "UTC"}),
        TaskGiven(input="Count the late orders.", constraints=("Change nothing.",)),
        MessageAdded(Message("user", "Count the late orders.")),
    ]
    for number, text in enumerate(found, start=1):
        call = ToolCall(f"c{number}", "list_orders", json.dumps({"page": number}))
        events.append(StepTaken(number))
        events.append(MessageAdded(Message("assistant", "I look.", (call,))))
        events.append(ResultArrived(call.id, call.name, text))
    return events


@given(st.lists(results, max_size=25))
def test_assembly_touches_nothing(found: list[str]) -> None:
    record = record_of(found)
    with sealed():
        inside = assemble(PROFILE, record, Approx())
    outside = assemble(PROFILE, record, Approx())
    assert inside.messages == outside.messages
    assert inside.ledger.to_json() == outside.ledger.to_json()
    assert inside.ledger.digest


@given(st.lists(results, max_size=25))
def test_every_step_touches_nothing(found: list[str]) -> None:
    fold = Fold(PROFILE, Approx())
    with sealed():
        for event in record_of(found):
            if isinstance(event, StepTaken):
                ledger = fold.assemble().ledger
                assert sum(ledger.buckets.values()) == ledger.total
            fold.advance(event)


REPLAY = """
import hashlib, json
from pathlib import Path
from contextctl.core.assemble import Fold
from contextctl.core.trace_events import trace_events
from contextctl.io.traces import read_traces
from contextctl.model.counter import Approx
from contextctl.model.profile import profile_from_mapping
from contextctl.model.record import MessageAdded, Opened, StepTaken

profile = profile_from_mapping(json.loads(%(profile)r))
trace = next(iter(read_traces(Path(%(trace)r))))
fold, seen = Fold(profile, Approx()), hashlib.sha256()
fold.advance(Opened(task="t", session="s", key="0f" * 16))
for event in trace_events(trace):
    if isinstance(event, MessageAdded) and event.message.role == "assistant":
        made = fold.assemble()
        line = {"messages": made.messages, "tools": made.tools, "ledger": made.ledger.to_json()}
        seen.update(json.dumps(line, ensure_ascii=False).encode())
        fold.advance(StepTaken(made.ledger.step))
    fold.advance(event)
print(seen.hexdigest(), made.ledger.step)
"""


def test_the_same_bytes_whatever_the_process() -> None:
    """Hash seed, locale and zone differ; every window and ledger of the demo trace is the same."""
    profile = json.dumps(
        {
            "version": 1,
            "model": {"name": "openai/gpt-4.1-mini", "window": 10000, "reserve_output": 1000},
            "tokenizer": "approx",
        }
    )
    script = REPLAY % {
        "profile": profile,
        "trace": str(ROOT / "contextctl" / "demo" / "trace.jsonl"),
    }
    settings = [
        {"PYTHONHASHSEED": "0", "LANG": "C.UTF-8", "TZ": "UTC"},
        {"PYTHONHASHSEED": "1", "LANG": "C", "TZ": "Asia/Tokyo"},
        {"PYTHONHASHSEED": "4242", "LANG": "tr_TR.UTF-8", "TZ": "America/Lima"},
    ]
    outputs = set()
    for setting in settings:
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **setting}
        done = subprocess.run(
            [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1
    digest, steps = outputs.pop().split()
    assert len(digest) == len(hashlib.sha256().hexdigest())
    assert steps == "31"  # the demo trace has 30 calls and a last answer
