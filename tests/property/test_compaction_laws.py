"""The laws of compaction, over random records, profiles, and summarisers that fail in every way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from hypothesis import given
from hypothesis import strategies as st

from contextctl.core.assemble import Fold, assemble
from contextctl.model.assembly import Assembly
from contextctl.model.counter import Approx
from contextctl.model.profile import (
    Compaction,
    CompactWhen,
    Pause,
    Profile,
    Summarizer,
)
from contextctl.model.record import (
    Event,
    MessageAdded,
    Noted,
    PinSet,
    StageEnded,
    StepTaken,
    SummaryMade,
    TaskGiven,
    Todo,
    TodoSet,
)
from tests.property.records import profiles, records

COUNTER = Approx()
RULE = "only ship to the office"
GOOD = {
    "done": ["1: read the order"],
    "findings": ["order SO-77 is paid [p1]"],
    "open_questions": [],
    "negatives": ["no courier"],
    "entities": {"order": "SO-77"},
}
BODIES = st.sampled_from(
    (
        None,
        {},
        GOOD,
        {**GOOD, "done": [f"the user said: {RULE}"], "entities": {"rule": RULE}},
        {**GOOD, "findings": ["a long tale " * 3_000]},
        {**GOOD, "findings": "not a list"},
        {"done": [], "findings": [], "open_questions": [], "negatives": [], "entities": {}},
        {"summary": "prose"},
    )
)


@st.composite
def compacting(draw: st.DrawFn) -> Profile:
    """Profiles that compact often, for every reason, with either summariser."""
    profile = draw(profiles())
    kind = draw(st.sampled_from(("mechanical", "model")))
    compaction = Compaction(
        when=CompactWhen(
            stage_end=draw(st.booleans()),
            ratio=draw(st.sampled_from((0.2, 0.5, 0.85))),
            every_steps=draw(st.sampled_from((None, 1, 2, 4))),
        ),
        protect_steps=draw(st.integers(0, 3)),
        summarizer=Summarizer(kind=kind, model="scripted/s", window=4_000),
        pause=Pause(after=draw(st.sampled_from((1, 2, 50)))),
        max_generation=draw(st.sampled_from((1, 2, 5))),
    )
    history = replace(profile.history, strategy="summary_recent")
    return replace(profile, compaction=compaction, history=history)


@st.composite
def long_records(draw: st.DrawFn) -> list[Event]:
    """Two records after each other, with stages that end and a plan that changes."""
    events = draw(records())
    events += [event for event in draw(records())[1:] if not isinstance(event, TaskGiven)]
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(1, len(events)))
        fresh: Event = StageEnded("a stage")
        if draw(st.booleans()):
            statuses = draw(st.lists(st.sampled_from(("pending", "active", "done")), max_size=4))
            fresh = TodoSet(tuple(Todo(f"item {i}", s) for i, s in enumerate(statuses)))
        events.insert(at, fresh)
    return events


@dataclass
class Walk:
    """A record walked as a run walks it, each need answered or left alone as ``answers`` say."""

    profile: Profile
    events: list[Event]
    answers: list[object]
    record: list[Event] = field(default_factory=list)
    asked: int = 0

    def steps(self) -> Iterator[Assembly]:
        fold = Fold(self.profile, COUNTER)

        def take(event: Event) -> None:
            fold.advance(event)
            self.record.append(event)

        for event in self.events:
            if isinstance(event, MessageAdded) and event.message.role == "assistant":
                assembly = fold.assemble()
                for need in assembly.needs:
                    self.asked += 1
                    body = self.answers[self.asked % len(self.answers)]
                    if isinstance(body, dict):
                        take(Noted("asked", {}))
                        take(SummaryMade(need.id, 1, body, by="model"))
                        assembly = fold.assemble()
                        assert assembly.needs == ()
                yield assembly
                take(StepTaken(assembly.ledger.step, digest=assembly.ledger.digest))
            take(event)


WALKS = st.builds(Walk, compacting(), long_records(), st.lists(BODIES, min_size=1, max_size=4))


def texts(assembly: Assembly, start: str) -> list[str]:
    """The messages of a window that begin with ``start``."""
    contents = (str(message["content"]) for message in assembly.messages)
    return [content for content in contents if content.startswith(start)]


@given(WALKS)
def test_what_was_sent_comes_out_again_from_the_record(walk: Walk) -> None:
    sent = [(assembly.messages, assembly.ledger) for assembly in walk.steps()]
    fold, again = Fold(walk.profile, COUNTER), []
    for event in walk.record:
        if isinstance(event, StepTaken):
            assembly = fold.assemble()
            again.append((assembly.messages, assembly.ledger))
        fold.advance(event)
    assert again == sent


@given(WALKS)
def test_windows_stay_valid_within_budget_and_counted(walk: Walk) -> None:
    for assembly in walk.steps():
        ledger = assembly.ledger
        assert sum(ledger.parts.values()) == ledger.total
        if ledger.status == "ok":
            assert ledger.total <= ledger.usable
        open_ids: list[str] = []
        for message in assembly.messages:
            if message["role"] == "tool":
                open_ids.remove(str(message["tool_call_id"]))
                continue
            assert open_ids == []
            calls = message.get("tool_calls") or []
            assert isinstance(calls, list)
            open_ids = [str(call["id"]) for call in calls if isinstance(call, dict)]
        assert open_ids == []


@given(WALKS)
def test_pins_stand_exactly_once_and_in_no_summary(walk: Walk) -> None:
    for assembly in walk.steps():
        pins: dict[str, str] = {}
        for event in walk.record:
            if isinstance(event, TaskGiven):
                pins.update({f"constraints.{n}": t for n, t in enumerate(event.constraints, 1)})
            elif isinstance(event, PinSet) and event.value is None:
                pins.pop(event.key, None)
            elif isinstance(event, PinSet):
                text = event.value if isinstance(event.value, str) else '{"b":2}'
                pins[event.key] = text
        if not assembly.messages:
            continue
        lines = [
            line
            for message in assembly.messages
            if message["role"] == "user"
            for line in str(message["content"]).splitlines()
        ]
        for key, text in pins.items():
            assert lines.count(f"- {key}: {text}") == 1
        for summary in texts(assembly, "[summary ") + texts(assembly, "[摘要 "):
            assert RULE not in summary or RULE not in pins.values()


@given(WALKS)
def test_the_plan_is_counted_in_every_window(walk: Walk) -> None:
    for assembly in walk.steps():
        lists = [event for event in walk.record if isinstance(event, TodoSet)]
        count = len(lists[-1].items) if lists else 0
        if assembly.messages and count:
            assert f" of {count} " in str(assembly.messages[-1]["content"]) or (
                f"共 {count} 项" in str(assembly.messages[-1]["content"])
            )


@given(WALKS)
def test_every_try_is_audited_and_only_good_ones_are_shown(walk: Walk) -> None:
    for assembly in walk.steps():
        for one in assembly.compactions:
            if one.outcome == "discarded":
                assert one.failed
                assert not any(one.compaction_id in str(m["content"]) for m in assembly.messages)
                continue
            assert one.tokens_after < one.tokens_before
            assert one.window_after < one.window_before
            assert one.generation <= walk.profile.compaction.max_generation
            assert one.event_from <= one.event_to <= len(walk.record)
            stored = {offload.ref for offload in assembly.offloads}
            assert one.raw_ref in stored or one.raw_ref in one.raw_refs
            if one.generation:
                fields = ("done", "findings", "open_questions", "negatives", "entities")
                assert tuple(one.summary) == fields


@given(WALKS)
def test_after_poor_compactions_in_a_row_there_is_a_pause(walk: Walk) -> None:
    rule, poor, paused_at = walk.profile.compaction.pause, 0, 0
    for assembly in walk.steps():
        tried = assembly.compactions
        if paused_at and tried:
            grown = paused_at * (1 + rule.resume_growth)
            allowed = int(assembly.ledger.usable / assembly.ledger.factor)
            assert tried[0].window_before >= min(grown, allowed)
            poor = 0
        pauses = [action for action in assembly.ledger.actions if action.kind == "pause"]
        if paused_at and not pauses:
            poor = 0
        for one in tried:
            saved = one.window_before - one.window_after
            poor = poor + 1 if saved < rule.min_saving * one.window_before else 0
        paused_at = pauses[0].tokens_before if pauses else 0
        if poor >= rule.after and tried:
            assert paused_at


@given(WALKS)
def test_the_answer_may_be_followed_by_facts_of_a_run_that_goes_on(walk: Walk) -> None:
    """A crash after the answer: what comes next is folded, and the window is the same twice."""
    for assembly in walk.steps():
        if not any(one.by == "model" for one in assembly.compactions):
            continue
        record = [*walk.record, PinSet("confirmed_slots.late", "1")]
        first = assemble(walk.profile, record, COUNTER)
        assert first.ledger == assemble(walk.profile, record, COUNTER).ledger
        return
