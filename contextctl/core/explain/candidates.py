"""What a remedy could be told otherwise: for each rung its changes of a profile, mildest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contextctl.core.explain.growth import largest_tool
from contextctl.model.explanation import Edit
from contextctl.model.ledger import LedgerReport
from contextctl.model.message import Json
from contextctl.model.profile import Profile, pointer_parts, pointer_to
from contextctl.model.profile_parts import READER_TOOLS

Change = tuple[Edit, ...]

_CAPS = (1200, 600, 300)
_OFFLOADS = (2000, 1000, 500)
_PROTECTED = (3, 1)
_DEFERRED = (20, 10, 5)
_RATIOS = (0.65, 0.35)


def changes_of(
    number: int, profile: Profile, now: LedgerReport, fields: Mapping[str, tuple[str, ...]]
) -> list[Change]:
    """The changes of remedy ``number``; none where it is no matter of a profile.

    ``fields`` are the fields of each tool's records that were read, where that is known. A remedy
    that is switched off is switched on first, and with each of its changes.
    """
    on = profile.remedies
    if number == 1:
        return _switched("shape", on=on.shape, changes=_shapes(profile, now, fields))
    if number == 2:
        pointer, now_protected = "/compaction/protect_steps", profile.compaction.protect_steps
        fewer: list[Change] = [(Edit(pointer, n),) for n in _PROTECTED if n < now_protected]
        return _switched("trim", on=on.trim, changes=fewer)
    if number == 3 and now.buckets["tools_schema"]:
        totals: list[Change] = [
            (Edit("/defer/total", count), Edit("/defer/per_server", count))
            for count in _DEFERRED
            if count < profile.defer.total
        ]
        return _switched("disclose", on=on.disclose, changes=totals)
    if number == 4:
        pointer, over = "/workspace/offload_over", profile.workspace.offload_over
        smaller: list[Change] = [(Edit(pointer, size),) for size in _OFFLOADS if size < over]
        return _switched("offload", on=on.offload, changes=smaller)
    if number == 6:
        pointer, ratio = "/compaction/when/ratio", profile.compaction.when.ratio
        earlier: list[Change] = [(Edit(pointer, share),) for share in _RATIOS if share < ratio]
        return _switched("compact", on=on.compact, changes=earlier)
    return []


def _switched(remedy: str, *, on: bool, changes: Sequence[Change]) -> list[Change]:
    """A switch needs the reader tools with it: what leaves the window has to be readable."""
    if on:
        return list(changes)
    switch = (Edit(f"/remedies/{remedy}", value=True), Edit("/workspace/tools", [*READER_TOOLS]))
    return [switch, *((*switch, *change) for change in changes)]


def _shapes(
    profile: Profile, now: LedgerReport, fields: Mapping[str, tuple[str, ...]]
) -> list[Change]:
    """For the tool whose results take most: the fields that are read, then a smaller cap; then a
    smaller cap for all tools."""
    tool = largest_tool(now)
    if not tool:
        return []
    own = pointer_to(("tools", tool, "result", "max_tokens"))
    out: list[Change] = []
    if tool in fields and profile.result_rule(tool).fields is None:
        whitelist: list[Json] = [*fields[tool]]
        out.append((Edit(pointer_to(("tools", tool, "result", "fields")), whitelist),))
    for cap in _CAPS:
        if cap < profile.max_tokens_for(tool):
            out.append((Edit(own, cap),))
        if cap < profile.shaping.max_tokens:
            out.append((Edit("/shaping/max_tokens", cap),))
    return out


def written(change: Change) -> str:
    """Edits as a person would set them. Switching a remedy on needs no word of its readers."""
    own = [edit for edit in change if edit.pointer != "/workspace/tools"]
    return ", ".join(f"{'.'.join(pointer_parts(e.pointer))}: {_value(e.value)}" for e in own)


def _value(value: Json) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)
