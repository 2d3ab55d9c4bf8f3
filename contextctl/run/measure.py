"""What a profile keeps of a trace: its replay, in memory, scored by what later calls needed."""

from __future__ import annotations

from collections.abc import Sequence

from contextctl.core.measure.probe import Score, StepScore, Window, probe
from contextctl.core.tools.result_pins import with_pins
from contextctl.core.trace_events import trace_events
from contextctl.core.walk import walk
from contextctl.model.counter import Counter
from contextctl.model.message import JsonObject
from contextctl.model.profile import Profile
from contextctl.model.record import Event, MessageAdded, ResultArrived
from contextctl.model.trace import Trace
from contextctl.run.replay import opened


def measure(profile: Profile, counter: Counter, trace: Trace) -> Score:
    """Walk ``trace`` under ``profile`` (its window resolved) and score every window."""
    events = (opened(trace), *with_pins(profile, trace_events(trace)))
    windows: dict[int, Window] = {}
    refs: dict[str, str] = {}
    for walked in walk(profile, counter, events):
        assembly = walked.assembly
        refs.update((one.ref, one.text) for one in assembly.offloads)
        if assembly.ledger.status == "ok":
            windows[assembly.ledger.step] = Window(assembly.messages, assembly.tools)
    usable = (profile.model.window or 0) - profile.model.reserve_output
    score = Score()
    for step in probe(_messages(events), windows, usable, refs, counter.text):
        if isinstance(step, StepScore):
            score.add(step)
        else:
            score.missing += 1
            score.missed += step[1]
    return score


def _messages(events: Sequence[Event]) -> list[JsonObject]:
    """The record as OpenAI chat messages, call ids made distinct."""
    out: list[JsonObject] = []
    for event in events:
        if isinstance(event, MessageAdded):
            out.append(event.message.to_openai())
        elif isinstance(event, ResultArrived):
            content = event.content
            out.append({"role": "tool", "tool_call_id": event.call_id, "content": content})
    return out
