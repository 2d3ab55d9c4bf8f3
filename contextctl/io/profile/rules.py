"""What a profile's values mean together: rules that no single key can break alone.

A rule is a function from a profile to its findings; ``RULES`` is all of them. A finding is at a
JSON pointer, and ``problem`` places it. ``error``: cannot work. ``warning``: works, and most likely
not as meant. ``note``: a better way is at hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import NamedTuple

from contextctl.errors import Problem
from contextctl.io.profile.chain import dotted
from contextctl.model.ledger import BUCKETS
from contextctl.model.profile import STABILITIES, Profile, pointer_parts, pointer_to

PARTS = {
    "history": ("text", "tool_calls", "summary", "pins"),
    "query": ("reminders", "pins"),
}


_VARIABLE = re.compile(r"\$\{[A-Za-z_]")


class Found(NamedTuple):
    """One finding of a rule."""

    pointer: str
    message: str
    suggestion: str = ""
    severity: str = "error"


Rule = Callable[[Profile], Iterator[Found]]


def placed(profile: Profile, found: Found) -> Problem:
    """``found`` at the origin of its value; the column is not known there."""
    origin = profile.origin_of(found.pointer)
    path, line = (origin.path, origin.line) if origin else (profile.path or "profile", 0)
    parts = tuple(int(p) if p.isdecimal() else p for p in pointer_parts(found.pointer))
    return Problem(path, line, 0, dotted(parts), found.message, found.suggestion, found.severity)


def layers(profile: Profile) -> Iterator[Found]:
    """Layer ids are unique, and the declared order agrees with the declared stability (P1)."""
    seen: dict[str, int] = {}
    loosest = 0
    before = ""
    for index, layer in enumerate(profile.prefix):
        if layer.id in seen:
            yield Found(f"/prefix/{index}/id", f"the layer '{layer.id}' is declared twice")
        seen[layer.id] = index
        rank = STABILITIES.index(layer.stability)
        if rank < loosest:
            yield Found(
                f"/prefix/{index}",
                f"the layer '{layer.id}' ({layer.stability}) stands after '{before}' "
                f"({STABILITIES[loosest]}), which changes more often",
                f"move '{layer.id}' before '{before}'",
                "warning",
            )
        else:
            loosest, before = rank, layer.id
    yield from _empty_layers(profile)


def _empty_layers(profile: Profile) -> Iterator[Found]:
    for index, layer in enumerate(profile.prefix):
        at = f"/prefix/{index}/index"
        if layer.index == "memory" and not profile.memory.enabled:
            yield Found(at, "memory is off, so this layer stays empty", severity="warning")
        if layer.index == "skills" and not profile.disclosure.skills:
            hint = "name folders in 'disclosure.skills'"
            yield Found(at, "there are no skills, so this layer stays empty", hint, "warning")
    if profile.memory.enabled and all(layer.index != "memory" for layer in profile.prefix):
        message = "no layer lists what is remembered; only what fits a question is shown"
        hint = "add {id: memory, index: memory} to 'prefix'"
        yield Found("/memory/enabled", message, hint, severity="note")


def thresholds(profile: Profile) -> Iterator[Found]:
    """Zones and the reduce trigger stand in an order that can work (L5, L9)."""
    zones, reduce = profile.budget.zones, profile.budget.reduce
    if zones.warn >= zones.danger:
        message = f"warn ({zones.warn:g}) must begin below danger ({zones.danger:g})"
        yield Found("/budget/zones", message)
    if reduce.target >= reduce.trigger:
        message = f"target ({reduce.target:g}) must be below trigger ({reduce.trigger:g})"
        yield Found("/budget/reduce", message)
    elif reduce.trigger < zones.warn:
        message = (
            f"a batch starts at {reduce.trigger:g}, before the warn zone ({zones.warn:g}): "
            "results are never shown by the rules of that zone"
        )
        yield Found("/budget/reduce", message, severity="warning")
    recent, live = profile.history.recent_share, profile.history.live_share
    if recent is not None and live is not None and recent >= live:
        message = (
            f"a batch leaves {recent:g} of recent steps untouched, "
            f"not less than the {live:g} that starts one"
        )
        yield Found("/history/recent_share", message)


def zone_values(profile: Profile) -> Iterator[Found]:
    """Per-zone numbers do not grow as the window fills (L6)."""
    turns, top_k = profile.history.keep_turns, profile.retrieval.top_k
    for pointer, by_zone in (("/history/keep_turns", turns), ("/retrieval/top_k", top_k)):
        if not by_zone.safe >= by_zone.warn >= by_zone.danger:
            message = f"{by_zone.safe}/{by_zone.warn}/{by_zone.danger} grows as the window fills"
            yield Found(pointer, message, "order them safe >= warn >= danger", "warning")
    modes = profile.shaping.by_zone
    shown = (modes.safe, modes.warn, modes.danger)
    if "full" in shown[shown.index("ref") :] if "ref" in shown else False:
        message = "results are shown as refs first and in full again as the window fills"
        yield Found("/shaping/by_zone", message, severity="warning")


def sizes(profile: Profile) -> Iterator[Found]:
    """Token numbers that must fit into each other (L4)."""
    model = profile.model
    if model.window is not None and model.reserve_output >= model.window:
        message = (
            f"reserve_output ({model.reserve_output:,}) leaves nothing of the window "
            f"({model.window:,})"
        )
        declared = "/model/reserve_output" in profile.origins
        at = "/model/reserve_output" if declared else "/model/window"
        yield Found(at, message, f"set reserve_output below {model.window:,}")
    if "max_tokens" in model.params:
        message = "max_tokens is sent from 'model.reserve_output'"
        yield Found("/model/params/max_tokens", message, "set that key instead", "warning")
    workspace, shaping = profile.workspace, profile.shaping
    if workspace.offload_over < shaping.max_tokens:
        message = (
            f"offload_over ({workspace.offload_over:,}) is below shaping.max_tokens "
            f"({shaping.max_tokens:,}): results in between are never shown shaped"
        )
        yield Found("/workspace/offload_over", message, severity="warning")
    removes = profile.remedies.shape or profile.remedies.trim or profile.remedies.offload
    if removes and not {"read_workspace", "fetch"} & set(workspace.tools):
        message = "the model gets no tool to read back what is removed from its window"
        yield Found("/workspace/tools", message, "add 'read_workspace'", "warning")
    summarizer = profile.compaction.summarizer
    asked = summarizer.chunk_tokens + summarizer.max_tokens
    if summarizer.window is not None and asked > summarizer.window:
        message = f"chunk_tokens and max_tokens ({asked:,}) are more than its window"
        yield Found("/compaction/summarizer", f"{message} ({summarizer.window:,})")


def caps(profile: Profile) -> Iterator[Found]:
    """A cap names a bucket or a part of one (L7)."""
    layer_ids = [layer.id for layer in profile.prefix]
    for name in profile.budget.caps:
        pointer = pointer_to(("budget", "caps", name))
        bucket, dot, part = name.partition(".")
        if bucket not in BUCKETS:
            close = get_close_matches(bucket, BUCKETS, 1)
            hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(BUCKETS)}"
            yield Found(pointer, f"there is no bucket '{bucket}'", hint)
            continue
        known = layer_ids if bucket == "system" else PARTS.get(bucket)
        if dot and known is not None and part not in known:
            close = get_close_matches(part, known, 1)
            hint = f"did you mean '{bucket}.{close[0]}'?" if close else ""
            yield Found(pointer, f"'{bucket}' has no part '{part}'", hint, "warning")


def endings(profile: Profile) -> Iterator[Found]:
    """Sections that switch each other off."""
    if profile.limits.done_when == "plan_complete" and not profile.plan.enabled:
        message = "no plan is kept, so it can never be complete"
        yield Found("/limits/done_when", message, "set 'plan.enabled: true' or 'done_when: answer'")
    if profile.tokenizer == "approx":
        message = "estimates are 20 to 55 % off on Chinese, JSON and logs"
        yield Found("/tokenizer", message, "use auto, o200k_base or hf:<file>", "note")


def secrets(profile: Profile) -> Iterator[Found]:
    """Keys and tokens come from the environment, and never stand in text the model sees (Q2)."""
    for name, value in profile.model.params.items():
        pointer = pointer_to(("model", "params", name))
        secret = name.lower().endswith(("api_key", "token", "secret", "password"))
        if secret and isinstance(value, str) and pointer not in profile.raw_texts:
            hint = f"write {name}: ${{{name.upper()}}}"
            yield Found(pointer, "a secret stands in the file", hint, "warning")
    for pointer, raw in profile.raw_texts.items():
        shown = pointer.startswith("/reminders/") or pointer.endswith(("/text", "/description"))
        if shown and _VARIABLE.search(raw.replace("$${", "")):
            message = f"'{raw[:40]}' enters the window, so its value is written to run folders"
            yield Found(pointer, message, severity="warning")
