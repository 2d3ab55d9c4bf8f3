"""One compaction before it is carried out: what it takes, how much may stay, which generation."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from contextctl.core.compaction.due import is_early, saved_enough, threshold
from contextctl.core.compaction.gather import gather
from contextctl.core.compaction.zone import Zone, find_zone, summary_tokens, user_pieces
from contextctl.core.digest.small_talk import is_small_talk
from contextctl.core.fold.state import State
from contextctl.core.summary.material import Material
from contextctl.model.assembly import Need

# What a summary keeps of the lines that the same steps would have in digests, and of the window.
KEEP_LINES, KEEP_WINDOW = 0.8, 0.5
# Lines that take no more than this of what they stand for may all stay.
KEEP_WHOLE = 0.15
# What it may take beside that for messages of users, of which a digest holds nothing.
KEEP_USERS = 0.2
LEAST_BUDGET = 100
# Summaries that take more of the room than this are merged at the next compaction.
SUMMARY_SHARE = 0.25
# About what a large result takes as a reference.
REFERENCE_TOKENS = 250


@dataclass(frozen=True, slots=True)
class Planned:
    """``budget`` is in tokens. ``generation`` 0: another one is refused, refs take over.

    ``steps`` and ``events`` are the first and the last that leave.
    """

    id: str
    trigger: str
    zone: Zone
    material: Material
    budget: int
    generation: int
    steps: tuple[int, int]
    events: tuple[int, int]


def plan_compaction(state: State, trigger: str) -> Planned | None:
    """What to compact and how far; None when there is nothing, or nothing to be gained."""
    room = max(state.allowance.usable - state.fixed, 1)
    merge = summary_tokens(state) > SUMMARY_SHARE * room
    users = _pinned_users(state)
    zone = find_zone(state, merge=merge, users=users)
    if trigger == "ratio":
        zone = _wide_enough(state, zone, users, merge=merge)
    if zone is None or (trigger == "ratio" and _is_vain(state, zone)):
        return None
    material = gather(state, zone)
    lines = state.counter.text("\n".join(f"- {line}" for line in material.lines))
    said = sum(piece.tokens for piece in zone.leaving if piece.kind == "user")
    most = int(KEEP_WINDOW * zone.tokens)
    whole = min(lines, int(KEEP_WHOLE * zone.tokens))
    told = max(int(KEEP_LINES * lines), whole, LEAST_BUDGET)
    steps, events = _covers(state, zone)
    return Planned(
        id=_compaction_id(state, events, zone),
        trigger=trigger,
        zone=zone,
        material=material,
        budget=min(told + int(KEEP_USERS * said), most),
        generation=_generation(state, zone),
        steps=steps,
        events=events,
    )


def need_of(state: State, plan: Planned) -> Need:
    """What the loop is asked for: a summary of some events of the record, by a model."""
    return Need(
        id=plan.id,
        kind="summary",
        body={
            "compaction_id": plan.id,
            "generation": plan.generation,
            "event_from": plan.events[0],
            "event_to": plan.events[1],
            "step_from": plan.steps[0],
            "step_to": plan.steps[1],
            "pinned_keys": list(state.pins),
            "previous": [str(piece.message.get("content")) for piece in plan.zone.merged],
        },
    )


def _pinned_users(state: State) -> set[int]:
    """Messages of users that say what is pinned, and nothing else: the block says it already."""
    pinned = {text.strip() for text in state.pins.values()}
    return {id(piece) for piece in user_pieces(state) if piece.raw.strip() in pinned}


def _wide_enough(state: State, zone: Zone | None, users: set[int], *, merge: bool) -> Zone | None:
    """The zone, with as many users' messages, small talk and then the oldest first, as the window
    has to do without.

    They stay for as long as they fit: with what leaves gone, and results of the last steps shown
    as references if it comes to that. Else the window goes down to the target. Where a profile
    wants its history compacted early, that ratio is what they have to fit.
    """
    allowed = state.allowance
    limit = threshold(state) if is_early(state) else allowed.usable
    after = state.total - int((1 - KEEP_WINDOW) * (zone.tokens if zone else 0))
    results = (piece.tokens for piece in state.view.pieces if piece.kind == "result")
    if after - sum(max(tokens - REFERENCE_TOKENS, 0) for tokens in results) <= limit:
        return zone
    excess = after - min(limit, allowed.tokens(allowed.target, state.fixed))
    for piece in sorted(user_pieces(state), key=lambda one: not is_small_talk(one.raw)):
        if excess <= 0:
            break
        users = users | {id(piece)}
        excess -= int((1 - KEEP_WINDOW) * piece.tokens)
    return find_zone(state, merge=merge, users=users)


def _is_vain(state: State, zone: Zone) -> bool:
    """Whether what may leave is too little to help, as long as the window fits as it is."""
    if state.total > state.allowance.usable:
        return False
    after = state.total - int((1 - KEEP_WINDOW) * zone.tokens)
    return not saved_enough(state, state.total, after)


def _generation(state: State, zone: Zone) -> int:
    merged = [piece.summarised.generation for piece in zone.merged if piece.summarised]
    generation = 1 + max(merged, default=0)
    return 0 if generation > state.profile.compaction.max_generation else generation


def _covers(state: State, zone: Zone) -> tuple[tuple[int, int], tuple[int, int]]:
    """First and last step, first and last event of what leaves."""
    steps: list[int] = []
    events: list[int] = []
    for piece in zone.leaving:
        known = piece.summarised
        steps += known.steps if known else (piece.step,)
        events += known.events if known else (int(piece.event[1:]),)
        if piece.segment is not None:
            steps += [line.number for line in piece.segment.lines[-1:]]
            steps += [one.last for one in piece.segment.stretches[-1:]]
    behind = state.view.pieces[zone.stop : zone.stop + 1]
    last_event = int(behind[0].event[1:]) - 1 if behind else state.at
    return (min(steps), max(steps)), (min(events), max(last_event, *events))


def _compaction_id(state: State, events: tuple[int, int], zone: Zone) -> str:
    """Runs of one trace under several profiles may share an audit table, and then not an id."""
    sizes = f"{zone.tokens} {state.total} {state.allowance.usable}"
    kind = state.profile.compaction.summarizer.kind
    text = f"{state.key} {state.task} {state.step} {events[0]} {events[1]} {sizes} {kind}"
    return "c" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]
