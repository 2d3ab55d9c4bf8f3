"""Whether deferring a profile's tools is worth it, by the lists its servers gave last (SPEC D3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from contextctl.core.assemble import assemble
from contextctl.core.tools.defer import split
from contextctl.errors import Problem, ProfileError, UsageError
from contextctl.io.mcp.recorded import recorded_servers
from contextctl.io.models.vocab import counter_for
from contextctl.io.profile.rules import Found, placed
from contextctl.io.profile.windows import resolve_window
from contextctl.model.message import Message
from contextctl.model.profile import Profile
from contextctl.model.record import Event, MessageAdded, Opened
from contextctl.run.offers import lists

LITTLE = 0.10
"""Schemas and system text under this share of usable: deferral saves less than a search costs."""


def deferral_notes(profile: Profile, base: Path) -> Iterator[Problem]:
    """A note where tools are deferred that would hardly be felt. Nothing is started for it.

    Tools of servers that were never listed here are not known, and nothing is said.
    """
    if not profile.mcp or profile.defer.via == "off":
        return
    try:
        known = recorded_servers(profile, base).specs()
        resolved = resolve_window(profile)
    except (UsageError, ProfileError):
        return
    listed = lists(known, None)
    by_source = {event.source: event.tools for event in listed}
    waiting = split(by_source, profile.defer, enabled=profile.remedies.disclose).deferred
    if not waiting:
        return
    whole = replace(resolved, defer=replace(resolved.defer, via="off"))
    record: list[Event] = [Opened("t", "s", "00"), *listed, MessageAdded(Message("user", "go"))]
    ledger = assemble(whole, record, counter_for(whole.tokenizer, whole.model.name)).ledger
    taken = ledger.buckets["system"] + ledger.buckets["tools_schema"]
    share = taken / ledger.usable if ledger.usable > 0 else 1.0
    if share < LITTLE:
        message = (
            f"{len(waiting)} tools are deferred, and all schemas with the system text would take"
            f" {taken:,} of {ledger.usable:,} usable tokens ({share:.0%}): deferral gains little"
        )
        hint = "set defer.via: off to keep them in view"
        yield placed(profile, Found("/defer", message, hint, severity="note"))
