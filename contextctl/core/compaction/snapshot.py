"""Where a summary that a model wrote is found again: an address made of what it was made from.

Two runs of one task have sessions, clocks and refs of their own, and still say the same. So the
address leaves out whatever only one of them can have: it is made of the profile, of what was said
and returned up to the last event that leaves, and of which part of it leaves (SPEC C10).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from contextctl.core.count import json_text
from contextctl.model.assembly import Need
from contextctl.model.message import Json
from contextctl.model.record import (
    Event,
    MessageAdded,
    PinSet,
    ResultArrived,
    RetrievedAdded,
    StageEnded,
    SummaryMade,
    TaskGiven,
)
from contextctl.model.record_json import event_to_json

VERSION = 1
# The facts a summary says something about, or is told to leave out.
SAID = (MessageAdded, PinSet, ResultArrived, RetrievedAdded, StageEnded, TaskGiven)


def snapshot_address(profile_digest: str, record: Sequence[Event], need: Need) -> str:
    """The address (64 hexadecimal digits) of the answer to ``need``, a summary of ``record``."""
    first, last = _number(need, "event_from"), _number(need, "event_to")
    hashed = hashlib.sha256(f"{VERSION} {profile_digest}\n".encode())
    for line in _facts(record[:last]):
        hashed.update(line)
    before = sum(isinstance(event, SAID) for event in record[: max(first - 1, 0)])
    merged = need.body.get("previous")
    told = [_without_heading(text) for text in merged] if isinstance(merged, list) else []
    about = [before, need.body.get("generation"), need.body.get("pinned_keys"), told]
    hashed.update(json_text(about).encode("utf-8", "surrogatepass"))
    return hashed.hexdigest()


def _facts(events: Iterable[Event]) -> Iterator[bytes]:
    for event in events:
        if isinstance(event, SAID):
            yield json_text(event_to_json(event)).encode("utf-8", "surrogatepass") + b"\n"
        elif isinstance(event, SummaryMade):
            yield json_text(dict(event.body)).encode("utf-8", "surrogatepass") + b"\n"


def _without_heading(text: Json) -> str:
    """A summary's own words: its heading names the compaction and refs, which are the session's."""
    return str(text).partition("\n")[2]


def _number(need: Need, key: str) -> int:
    value = need.body.get(key)
    return value if isinstance(value, int) else 0
