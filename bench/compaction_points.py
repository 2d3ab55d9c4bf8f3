"""What a summary keeps of the values that later calls used, at compactions that agents really made.

    python bench/compaction_points.py --data ../shared/data [--json]

A recorded session may hold the summary that its agent compacted itself with. Everything before the
cut is summarised again here by the mechanical summariser, at the size of the recorded summary and
at others, and both are asked for the same values: those that stand in a call after the compaction
and came from before the cut. *Dependent* ones stand nowhere behind the cut before they are used, so
that only the summary (or reading again) can supply them.

Where a session recorded no summary, points are set by its size in tokens.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextctl.core.assemble import Fold
from contextctl.core.compaction.gather import gather
from contextctl.core.compaction.zone import find_zone, user_pieces
from contextctl.core.measure.needed import message_text, needed_values
from contextctl.core.summary.mechanical import mechanical_summary
from contextctl.core.summary.render import summary_text
from contextctl.core.trace_events import trace_events
from contextctl.io.models.vocab import counter_for
from contextctl.io.traces import read_traces
from contextctl.model.profile import profile_from_mapping
from contextctl.model.record import MessageAdded, Opened, StepTaken
from contextctl.model.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contextctl.model.counter import Counter
    from contextctl.model.message import JsonObject

SETS = "01_trajectories/original"
FILES = ("pi_large-session.jsonl", "pi_compact.malformed-last-line.jsonl")
SIZES = (1_000, 2_000, 4_000, 8_000)
ROLES = frozenset({"user", "assistant", "toolResult", "bashExecution"})
# A point in a session that recorded none: where it had grown to so many tokens, the cut so many
# messages before it (as the recorded compaction kept about a hundred).
SET_POINTS, KEPT_MESSAGES = (100_000, 150_000), 95


@dataclass(slots=True)
class Point:
    """A compaction before message ``at``; messages from ``cut`` on stayed."""

    trace: Trace
    at: int
    cut: int
    tokens_before: int
    summary: str = ""
    rows: dict[str, Any] = field(default_factory=dict)


def main(argv: Sequence[str] | None = None) -> int:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the shared data")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    args = parser.parse_args(argv)
    counter = counter_for("o200k_base", "")
    out = []
    for name in FILES:
        path = args.data / SETS / name
        trace = next(iter(read_traces(path)))
        points = recorded_points(path, trace) or set_points(trace, counter)
        out += [measured(point, counter) for point in points]
    if args.json:
        print(json.dumps({"points": out}, ensure_ascii=False))
    else:
        show(out)
    return 0


def recorded_points(path: Path, trace: Trace) -> list[Point]:
    """The compactions of a pi session: where they stand among its messages, and what they kept."""
    points: list[Point] = []
    places: list[int] = []
    count = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        for entry in _objects(line):
            places.append(count)
            if entry.get("type") == "compaction":
                first = int(entry["firstKeptEntryIndex"])
                cut = places[first] if first < len(places) else count
                points.append(
                    Point(trace, count, cut, int(entry["tokensBefore"]), str(entry["summary"]))
                )
            elif entry.get("type") == "message" and entry["message"].get("role") in ROLES:
                count += 1
    return points


def set_points(trace: Trace, counter: Counter) -> list[Point]:
    """Points of a session that recorded none, by its size."""
    points, total, left = [], 0, list(SET_POINTS)
    for at, message in enumerate(trace.messages):
        total += counter.text(message_text(message.to_openai()))
        if left and total >= left[0]:
            points.append(Point(trace, at, max(at - KEPT_MESSAGES, 0), left.pop(0)))
    return points


def measured(point: Point, counter: Counter) -> JsonObject:
    """Theirs and ours at several sizes."""
    messages = [message.to_openai() for message in point.trace.messages]
    texts = [message_text(message) for message in messages]
    before, kept = "\n".join(texts[: point.cut]), "\n".join(texts[point.cut : point.at])
    needed: list[str] = []
    dependent: list[str] = []
    for place in range(point.at, len(messages)):
        if messages[place]["role"] == "assistant":
            for value in needed_values(messages[place]):
                if value in before:
                    needed.append(value)
                    if value not in kept:
                        dependent.append(value)
        kept += "\n" + texts[place]
    rows: dict[str, Any] = {}
    theirs = counter.text(point.summary) if point.summary else 0
    sizes = [size for size in (theirs, *SIZES) if size]
    if theirs:
        rows["theirs"] = _scores(point.summary, theirs, needed, dependent)
    for size in sizes:
        text = ours(point, size, counter)
        name = f"ours at {size:,}" + (" (their size)" if size == theirs else "")
        rows[name] = _scores(text, counter.text(text), needed, dependent)
    return {
        "trace": point.trace.id,
        "at_message": point.at,
        "cut": point.cut,
        "tokens_before": point.tokens_before,
        "recorded": bool(point.summary),
        "needed": len(needed),
        "dependent": len(dependent),
        "summaries": rows,
    }


def ours(point: Point, size: int, counter: Counter) -> str:
    """Everything before the cut, users' messages included, as one mechanical summary."""
    profile = profile_from_mapping(
        {
            "version": 1,
            "model": {"name": "m", "window": 2_000_000},
            "shaping": {"by_zone": {"safe": "full"}, "max_tokens": 900},
            "workspace": {"offload_over": 900_000},
            "compaction": {"protect_steps": 1},
        }
    )
    fold = Fold(profile, counter)
    fold.advance(Opened(point.trace.id, "s1", "00ff"))
    cut = Trace(point.trace.id, point.trace.messages[: point.cut])
    for event in trace_events(cut):
        if isinstance(event, MessageAdded) and event.message.role == "assistant":
            fold.advance(StepTaken(1))
        fold.advance(event)
    fold.assemble()
    state = fold._state  # noqa: SLF001  # what a summary is made from has no public door
    users = {id(piece) for piece in user_pieces(state)}
    zone = find_zone(state, users=users)
    if zone is None:
        return ""
    material = gather(state, zone)
    low, high, text = 0, 2 * size, ""
    while low < high:  # the budget that comes out at this size
        middle = (low + high + 1) // 2
        summary = mechanical_summary(material, middle, counter.text, lambda _value: False)
        text = summary_text(summary, "", "en")
        if counter.text(text) <= size:
            low = middle
        else:
            high = middle - 1
    summary = mechanical_summary(material, low, counter.text, lambda _value: False)
    return summary_text(summary, "", "en")


def show(points: Sequence[Any]) -> None:
    """As a table."""
    for point in points:
        what = "recorded" if point["recorded"] else "set here"
        print(
            f"{point['trace']}: compaction before message {point['at_message']} ({what}, "
            f"{point['tokens_before']:,} tokens), cut at {point['cut']}: {point['needed']} values "
            f"needed later from before the cut, {point['dependent']} of them nowhere else"
        )
        for name, row in point["summaries"].items():
            print(
                f"  {name:28} {row['tokens']:6,} tokens: {row['kept']:4} of {point['needed']}"
                f" ({row['share']:.1%}), dependent {row['dependent_kept']:4} of "
                f"{point['dependent']} ({row['dependent_share']:.1%})"
            )


def _scores(
    text: str, tokens: int, needed: Sequence[str], dependent: Sequence[str]
) -> dict[str, Any]:
    kept = sum(value in text for value in needed)
    only = sum(value in text for value in dependent)
    return {
        "tokens": tokens,
        "kept": kept,
        "share": round(kept / (len(needed) or 1), 4),
        "dependent_kept": only,
        "dependent_share": round(only / (len(dependent) or 1), 4),
    }


def _objects(line: str) -> list[Any]:
    """The JSON objects of a line; a torn file may hold two on one."""
    out, decoder, at = [], json.JSONDecoder(), 0
    while at < len(line):
        value, at = decoder.raw_decode(line, at)
        out.append(value)
        while at < len(line) and line[at].isspace():
            at += 1
    return out


if __name__ == "__main__":
    sys.exit(main())
