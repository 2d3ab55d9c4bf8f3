"""The published schemas say what the values and their defaults are."""

import json
import types
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from jsonschema import Draft202012Validator

from contextctl.io.profile.shipped import SCHEMAS, schema
from contextctl.model.from_mapping import to_mapping
from contextctl.model.ledger import (
    BUCKETS,
    Action,
    LayerUse,
    LedgerReport,
    PrefixUse,
    Usage,
)
from contextctl.model.message import Message, ToolCall, ToolSpec
from contextctl.model.profile import SECTIONS, Profile
from contextctl.model.record import (
    BriefMade,
    CallStarted,
    EnvironmentRead,
    Event,
    IndexRead,
    MemoryForgotten,
    MemoryRead,
    MessageAdded,
    Noted,
    Opened,
    OutputSaved,
    PinSet,
    ResultArrived,
    RetrievedAdded,
    SlotDelivered,
    SlotSet,
    StageEnded,
    StepTaken,
    SummaryMade,
    TaskGiven,
    Todo,
    TodoSet,
    ToolsActivated,
    ToolsListed,
    UsageReported,
)
from contextctl.model.record_json import EVENTS, event_to_json

# Written as 'auto' in a file; None is its value.
AUTO = {"model.window"}
# The default depends on another key, and the description says on which.
DEPENDENT = {"prefix.stability", "tools.result.max_tokens", "tools.result.text"}


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_is_a_valid_schema_and_documents_every_key(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))
    undocumented = [way for way, inner in _keys(schema(name), "") if not inner.get("description")]
    assert undocumented == []


def test_the_profile_schema_and_the_dataclasses_have_the_same_keys_and_defaults() -> None:
    properties = schema("profile")["properties"]
    assert isinstance(properties, dict)
    assert set(properties) == {*SECTIONS, "extends"}
    for section in SECTIONS:
        _compare(get_type_hints(Profile)[section], properties[section], section)


def _compare(hint: Any, inner: Any, way: str) -> None:
    """``inner`` documents exactly what a value of ``hint`` holds."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (types.UnionType, Union):
        _compare(next(arg for arg in args if arg is not type(None)), inner, way)
    elif origin is tuple:
        _compare(args[0], inner["items"], way)
    elif origin is not None and issubclass(origin, Mapping) and is_dataclass(args[1]):
        _compare(args[1], inner["additionalProperties"], way)
    elif is_dataclass(hint):
        hints = get_type_hints(hint)
        own = {f.name: f for f in fields(hint)}
        assert set(inner["properties"]) == set(own), way
        for name, field in own.items():
            below, at = inner["properties"][name], f"{way}.{name}"
            if "default" in below and at not in AUTO | DEPENDENT and _has_default(field):
                default = field.default_factory() if field.default is MISSING else field.default
                assert to_mapping(default) == below["default"], at
            _compare(hints[name], below, at)


def test_zone_defaults_agree() -> None:
    profile = Profile(1, None)  # type: ignore[arg-type]  # only its sections are looked at
    keep = schema("profile")["properties"]["history"]["properties"]["keep_turns"]["properties"]  # type: ignore[index, call-overload]
    top_k = schema("profile")["properties"]["retrieval"]["properties"]["top_k"]["properties"]  # type: ignore[index, call-overload]
    for zone in ("safe", "warn", "danger"):
        assert keep[zone]["default"] == profile.history.keep_turns.at(zone)
        assert top_k[zone]["default"] == profile.retrieval.top_k.at(zone)


def _has_default(field: Any) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def _keys(inner: Any, way: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if not isinstance(inner, dict):
        return
    for name, below in inner.get("properties", {}).items():
        if isinstance(below, dict):
            yield f"{way}.{name}", below
            yield from _keys(below, f"{way}.{name}")
    for holder in ("additionalProperties", "items"):
        yield from _keys(inner.get(holder), f"{way}[]")


EVENT_EXAMPLES: tuple[Event, ...] = (
    Opened("t1", "s1", "00ff"),
    EnvironmentRead({"date": "2024-05-01"}),
    TaskGiven("do it", ("drafts only",), {"confirmed_slots": {"id": 7}}),
    ToolsListed("trace", (ToolSpec("f", "d", {"type": "object"}),)),
    ToolsActivated(("f",), "c1"),
    IndexRead("skills", ({"name": "refunds", "about": "When money goes back"},)),
    MessageAdded(Message("assistant", None, (ToolCall("c1", "f", "{}"),))),
    RetrievedAdded(({"id": "d1", "text": "t"},)),
    CallStarted("c1", "f"),
    ResultArrived("c1", "f", "done", extra={"exit_code": 0}),
    StepTaken(1, "sha256:aa", "sha256:bb", "m"),
    UsageReported(1, "m", 10, 2, first_token_s=0.5),
    PinSet("confirmed_slots.id", 7),
    SlotSet("style", "short"),
    SlotDelivered(("once:hello",), 3),
    MemoryRead("ship", ({"id": "m1", "kind": "fact", "text": "x", "month": "2026-03"},)),
    MemoryForgotten(("m1",)),
    StageEnded(),
    TodoSet((Todo("read the log", "done", "a"), Todo("fix it", id="b", after=("a",)))),
    OutputSaved("a", "log", "s1-abc"),
    BriefMade("done: read the log"),
    SummaryMade("n1", 12, {"done": []}, usage={"requests": 2, "cost_usd": 0.1}),
    Noted("thinking", {"text": "…"}),
)


def test_the_record_schema_knows_every_event() -> None:
    assert {event.kind for event in EVENT_EXAMPLES} == set(EVENTS)
    validator = Draft202012Validator(schema("record"))
    for event in EVENT_EXAMPLES:
        line = json.loads(json.dumps(event_to_json(event)))
        assert [error.message for error in validator.iter_errors(line)] == [], event.kind


def test_the_record_schema_refuses_what_is_no_event() -> None:
    validator = Draft202012Validator(schema("record"))
    for line in ({"kind": "opend"}, {"kind": "opened"}, {"kind": "result", "call_id": "c"}, {}):
        assert not validator.is_valid(line), line


def _report(**changes: Any) -> dict[str, Any]:
    buckets = dict.fromkeys(BUCKETS, 0)
    report = LedgerReport(
        task="t", step=1, status="ok", model="m", tokenizer="o200k_base", exact=True, factor=1.0,
        window=8192, reserve_output=4096, usable=4096, buckets=buckets, parts={"system.core": 3},
        raw_buckets=buckets, total=3, ratio=0.1, zone="safe", zone_before="safe",
        actions=(Action("trim", "e1..e3", "history", 9, 3, "/history", new=True),),
        prefix=PrefixUse((LayerUse("core", 3, "sha256:aa", changed=False),), 3, None),
        usage=Usage(10), digest="sha256:" + "0" * 64,
    )  # fmt: skip
    return {**json.loads(json.dumps(report.to_json())), **changes}


def test_the_ledger_schema_fits_a_report() -> None:
    validator = Draft202012Validator(schema("ledger"))
    assert [error.message for error in validator.iter_errors(_report())] == []
    assert [error.message for error in validator.iter_errors(_report(usage=None))] == []
    assert set(_report(warnings=["w"], measured={})) == set(schema("ledger")["properties"])  # type: ignore[arg-type]
    for wrong in ({"zone": "red"}, {"total": -1}, {"buckets": {}}, {"digest": "abc"}):
        assert not validator.is_valid(_report(**wrong)), wrong


@pytest.mark.parametrize(
    ("task", "valid"),
    [
        ({"id": "a", "input": "hi"}, True),
        ({"input": "hi", "tags": ["x"], "tools": ["grep"], "expect": {"contains": "h"}}, True),
        ({"id": 7, "messages": [{"role": "user", "content": "hi"}]}, True),
        ({"id": "a"}, False),
        ({"id": "a", "input": "hi", "messages": [{"role": "user"}]}, False),
        ({"id": "a", "input": "hi", "expects": {}}, False),
        ({"id": "a", "messages": [{"content": "hi"}]}, False),
    ],
)
def test_the_task_schema(task: dict[str, Any], valid: bool) -> None:
    assert Draft202012Validator(schema("task")).is_valid(task) is valid


def test_schemas_are_found_in_a_checkout(root: Path) -> None:
    assert {path.name for path in (root / "schemas").iterdir()} == {
        f"{name}.schema.json" for name in SCHEMAS
    }
