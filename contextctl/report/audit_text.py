"""An audit as text: rows, one row whole, two summaries side by side, a verification, an answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from contextctl.model.audited import AuditChecked, Audited, AuditList, Ratios, SummaryDiff
from contextctl.model.message import Json
from contextctl.report.columns import table, wrapped

_HEAD = ("ID", "STEP", "EVENTS", "GEN", "BEFORE", "AFTER", "RATIO", "BY", "OUTCOME")
_RIGHT = (False, True, False, True, True, True, True, False, False)
FLAGS = {
    "wordy": "wordy: the median is above 0.6; shorter summaries would say as much "
    "(compaction.summarizer)",
    "losing": "losing: the median is below 0.1; what later calls need is probably gone "
    "(contextctl audit diff; pin what must stay)",
}


def audit_list_text(listed: AuditList) -> str:
    """One line for each compaction, task by task, newest first, and how they shrink."""
    if not listed.rows:
        return f"no compaction in {listed.store}\n"
    lines = []
    for task in dict.fromkeys(row.compaction.thread_id for row in listed.rows):
        own = [_row(row) for row in listed.rows if row.compaction.thread_id == task]
        lines += [f"task {task}", *table([_HEAD, *own], _RIGHT), ""]
    if listed.ratios is not None:
        lines.append(_ratios(listed.ratios))
    return "\n".join(lines) + "\n"


def audit_row_text(row: Audited) -> str:
    """One compaction whole: what it replaced, what it says now, how it was checked."""
    return "\n".join(_whole(row)) + "\n"


def audit_diff_text(found: SummaryDiff) -> str:
    """What only one of two summaries says: ``-`` the first, ``+`` the second."""
    lines = [f"{sign} {_about(row)}" for sign, row in (("-", found.first), ("+", found.second))]
    for one in found.fields:
        lines.append(f"{one.field}: {one.kept} in both")
        lines += [f"  - {entry}" for entry in one.removed]
        lines += [f"  + {entry}" for entry in one.added]
    if found.is_same:
        lines.append("both say the same")
    return "\n".join(lines) + "\n"


def audit_checked_text(checked: AuditChecked) -> str:
    """What does not hold, or that everything does."""
    lines = [f"  {fault}" for fault in checked.faults]
    what = f"{checked.rows} compactions, {checked.events} events read back"
    verdict = f"{len(checked.faults)} faults" if checked.faults else "verified"
    return "\n".join([f"{verdict}: {what} ({checked.store})", *lines]) + "\n"


def _row(row: Audited) -> tuple[str, ...]:
    one = row.compaction
    return (
        one.compaction_id,
        str(one.step),
        f"e{one.event_from:02d}-e{one.event_to:02d}",
        str(one.generation),
        f"{one.tokens_before:,}",
        f"{one.tokens_after:,}",
        f"{one.ratio:.2f}",
        one.by,
        one.outcome + (f" ({', '.join(one.failed)})" if one.failed else ""),
    )


def _ratios(found: Ratios) -> str:
    flag = f"\n{FLAGS[found.flag]}" if found.flag else ""
    return (
        f"after/before of the last {found.count}: median {found.median:.2f}, "
        f"from {found.lowest:.2f} to {found.highest:.2f}{flag}"
    )


def _about(row: Audited) -> str:
    one = row.compaction
    return (
        f"{one.compaction_id}  {one.thread_id}  step {one.step}, generation {one.generation}, "
        f"e{one.event_from:02d}-e{one.event_to:02d}, {row.created_at}"
    )


def _whole(row: Audited) -> Iterator[str]:
    one = row.compaction
    yield _about(row)
    failed = f": {', '.join(one.failed)}" if one.failed else ""
    yield f"outcome   {one.outcome}{failed} (started by {one.trigger or 'unknown'})"
    yield (
        f"tokens    {one.messages} messages, {one.tokens_before:,} -> {one.tokens_after:,} "
        f"({one.ratio:.2f}); window {one.window_before:,} -> {one.window_after:,}"
    )
    yield f"by        {one.by} {one.version}".rstrip() + _fallback(one.fallback)
    if one.usage:
        yield "usage     " + ", ".join(f"{key} {value}" for key, value in one.usage.items())
    yield "raw       " + ", ".join(dict.fromkeys((one.raw_ref, *one.raw_refs)))
    yield f"pinned    {', '.join(one.pinned_keys) or 'nothing'}"
    for pin in one.pins:
        source = f" ({pin.source})" if pin.source else ""
        yield from wrapped(f"{pin.key}: {pin.text}{source}", indent="            ", first="  ")
    if one.loaded:
        yield f"loaded    schemas that stay: {', '.join(one.loaded)}"
    if one.repaired:
        yield f"repaired  calls without a result: {', '.join(one.repaired)}"
    yield from _summary(one.summary)


def _fallback(reason: str) -> str:
    return f" (the model's summary was not used: {reason})" if reason else ""


def _summary(summary: Mapping[str, Json]) -> Iterator[str]:
    for name, value in summary.items():
        entries = value.items() if isinstance(value, dict) else ()
        listed = [f"{key}: {item}" for key, item in entries]
        listed += [str(item) for item in value] if isinstance(value, list) else []
        if value and not listed:
            listed = [str(value)]
        yield f"{name} ({len(listed)})"
        for entry in listed:
            yield from wrapped(entry, indent="    ", first="  - ")
