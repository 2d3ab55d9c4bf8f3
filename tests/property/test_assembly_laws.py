"""The laws of assembly, over random records and profiles."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given

from contextctl.core.assemble import Fold, assemble
from contextctl.core.walk import walk
from contextctl.model.assembly import Assembly
from contextctl.model.counter import Approx
from contextctl.model.profile import Profile
from contextctl.model.record import (
    EnvironmentRead,
    Event,
    MessageAdded,
    PinSet,
    StepTaken,
    TaskGiven,
)
from tests.property.records import profiles, records

COUNTER = Approx()


def steps(profile: Profile, events: list[Event]) -> Iterator[tuple[Assembly, list[Event]]]:
    """Each step's assembly with the events it was made from (its StepTaken facts included)."""
    fold, record = Fold(profile, COUNTER), []
    for event in events:
        if isinstance(event, MessageAdded) and event.message.role == "assistant":
            assembly = fold.assemble()
            yield assembly, list(record)
            taken = StepTaken(assembly.ledger.step, digest=assembly.ledger.digest)
            fold.advance(taken)
            record.append(taken)
        fold.advance(event)
        record.append(event)
    yield fold.assemble(), record


@given(profiles(), records())
def test_buckets_and_parts_sum_to_the_total(profile: Profile, events: list[Event]) -> None:
    for assembly, _ in steps(profile, events):
        ledger = assembly.ledger
        assert sum(ledger.buckets.values()) == ledger.total
        assert sum(ledger.parts.values()) == ledger.total
        assert all(tokens >= 0 for tokens in ledger.buckets.values())
        assert all(tokens >= 0 for tokens in ledger.raw_buckets.values())


@given(profiles(), records())
def test_a_window_fits_or_is_an_overflow_without_messages(
    profile: Profile, events: list[Event]
) -> None:
    for assembly, _ in steps(profile, events):
        ledger = assembly.ledger
        if ledger.status == "ok":
            assert ledger.total <= ledger.usable
        else:
            assert ledger.status == "overflow"
            assert assembly.messages == ()


@given(profiles(), records())
def test_calls_and_results_stay_paired(profile: Profile, events: list[Event]) -> None:
    for assembly, _ in steps(profile, events):
        open_ids: list[str] = []
        for message in assembly.messages:
            if message["role"] == "tool":
                assert message["tool_call_id"] in open_ids
                open_ids.remove(str(message["tool_call_id"]))
                continue
            assert open_ids == []
            calls = message.get("tool_calls") or []
            assert isinstance(calls, list)
            open_ids = [str(call["id"]) for call in calls if isinstance(call, dict)]
        assert open_ids == []


@given(profiles(), records())
def test_folding_the_record_gives_what_advancing_gave(
    profile: Profile, events: list[Event]
) -> None:
    for assembly, record in steps(profile, events):
        again = assemble(profile, record, COUNTER)
        assert again.messages == assembly.messages
        assert again.ledger == assembly.ledger
    walked = [step.assembly.ledger.digest for step in walk(profile, COUNTER, record)]
    assert walked == [event.digest for event in record if isinstance(event, StepTaken)]


@given(profiles(), records())
def test_the_newest_user_message_is_whole_and_the_first_is_there_or_one_ref_away(
    profile: Profile, events: list[Event]
) -> None:
    stored: dict[str, str] = {}
    for assembly, record in steps(profile, events):
        stored.update({one.ref: one.text for one in assembly.offloads})
        users = [
            event.message.text
            for event in record
            if isinstance(event, MessageAdded) and event.message.role == "user"
        ]
        if not users or not assembly.messages:
            continue
        shown = [str(m["content"]) for m in assembly.messages if m["role"] == "user"]
        assert users[-1] in shown
        assert any(text.startswith(users[0][:120]) for text in shown) or any(
            users[0] in text for text in _reachable(shown, stored)
        )


def _reachable(shown: list[str], stored: dict[str, str]) -> list[str]:
    """The texts that refs in the window lead to, also through a stored list of refs."""
    found: list[str] = []
    texts = shown
    while texts:
        fresh = [text for ref, text in stored.items() if any(ref in one for one in texts)]
        texts = [text for text in fresh if text not in found]
        found += texts
    return found


@given(profiles(), records())
def test_the_prefix_changes_only_when_an_action_or_a_fact_says_so(
    profile: Profile, events: list[Event]
) -> None:
    previous: tuple[object, ...] | None = None
    for assembly, _ in steps(profile, events):
        if not assembly.messages:
            previous = None
            continue
        stable = assembly.messages[: assembly.stable]
        rewritten = any(action.new for action in assembly.ledger.actions)
        changed = assembly.ledger.prefix.broke_at is not None
        if previous is not None and not rewritten and not changed:
            assert stable[: len(previous)] == previous
        previous = stable


@given(profiles(), records())
def test_pins_stand_verbatim_exactly_once(profile: Profile, events: list[Event]) -> None:
    for assembly, record in steps(profile, events):
        if not assembly.messages:
            continue
        pins: dict[str, str] = {}
        for event in record:
            if isinstance(event, TaskGiven):
                pins.update({f"constraints.{n}": t for n, t in enumerate(event.constraints, 1)})
            elif isinstance(event, PinSet) and event.value is None:
                pins.pop(event.key, None)
            elif isinstance(event, PinSet):
                text = event.value if isinstance(event.value, str) else '{"b":2}'
                pins[event.key] = text
        lines = [
            line
            for message in assembly.messages
            if message["role"] == "user"
            for line in str(message["content"]).splitlines()
        ]
        for key, text in pins.items():
            assert lines.count(f"- {key}: {text}") == 1


@given(profiles(), records())
def test_the_date_of_now_is_always_told(profile: Profile, events: list[Event]) -> None:
    for assembly, record in steps(profile, events):
        dates = [e.values["date"] for e in record if isinstance(e, EnvironmentRead)]
        if dates and assembly.messages:
            text = "\n".join(str(message["content"]) for message in assembly.messages)
            assert f"date: {dates[-1]}" in text or f"date is now: {dates[-1]}" in text
