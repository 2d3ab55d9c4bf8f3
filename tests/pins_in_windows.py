"""Pins over a run's windows: each stands verbatim exactly once in every window, compacted or not.

    python tests/pins_in_windows.py RUN [--least-compacted N] [--json]

Reads only what the run wrote: ``record.jsonl`` says which pins hold at each step, ``windows.jsonl``
what was sent. Looked at are the messages that contextctl writes (they begin with a mark in
brackets and stand in no fact of the record); what users and tools say may repeat a pin. Beside the
pins, every call is answered directly after it and nowhere else. Prints one line a task; exits with
1 when anything is wrong, or when fewer than N windows of a task stand behind a compaction.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MARKS = ("[pinned]", "[固定]", "[summary ", "[摘要 ", "[trimmed]", "[已裁剪]", "[now]", "[当前]",
         "[recalled]", "[回忆]")  # fmt: skip
SUMMARIES = ("[summary c", "[摘要 c")
BLOCKS = ("[pinned]", "[固定]")
LIVE = ("todo", "open_tool_calls")
# Shorter values (an id, an amount) are part of many sentences that mean something else.
SENTENCE = 12


@dataclass
class Checked:
    """What was found in one task. ``faults`` name the step."""

    task: str
    windows: int = 0
    compacted: int = 0
    compactions: set[str] = field(default_factory=set)
    pins: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.task}: {self.windows} windows, {self.compacted} behind a compaction "
            f"({len(self.compactions)} summaries), {len(self.pins)} pins, "
            f"{len(self.faults)} faults"
        )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--least-compacted", type=int, default=0, metavar="N")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    found = [check_task(path.parent) for path in sorted(args.run.glob("tasks/*/windows.jsonl"))]
    for one in found:
        if one.compacted < args.least_compacted:
            one.faults.append(f"only {one.compacted} windows stand behind a compaction")
    if args.json:
        rows = [{"task": o.task, "windows": o.windows, "compacted": o.compacted,
                 "summaries": len(o.compactions), "pins": sorted(o.pins), "faults": o.faults}
                for o in found]  # fmt: skip
        print(json.dumps({"tasks": rows}, ensure_ascii=False))
    else:
        for one in found:
            print(one, *one.faults[:5], sep="\n  ")
    return 1 if not found or any(one.faults for one in found) else 0


def check_task(folder: Path) -> Checked:
    """Every window of one task against the pins that held at its step."""
    pins = pins_by_step(folder / "record.jsonl")
    out = Checked(folder.name)
    for window in lines(folder / "windows.jsonl"):
        held = pins[window["step"]]
        out.windows += 1
        out.pins |= set(held)
        texts = own_texts(window["messages"])
        summaries = [text for text in texts if text.startswith(SUMMARIES)]
        out.compacted += bool(summaries)
        out.compactions |= {text.split("]", 1)[0] for text in summaries}
        what = [*faults_of(held, texts), *unpaired(window["messages"])]
        out.faults += [f"step {window['step']}: {fault}" for fault in what]
    return out


def faults_of(pins: dict[str, str], texts: Sequence[str]) -> Iterator[str]:
    """What is wrong with the pins of one window."""
    blocks = [text for text in texts if text.startswith(BLOCKS)]
    if len(blocks) > 1:
        yield f"{len(blocks)} pin blocks"
    whole = "\n".join(["", *texts, ""])
    for key, value in pins.items():
        count = whole.count(f"\n- {key}: {value}\n")
        if count != 1:
            yield f"pin '{key}' stands {count} times"
        elif len(value) >= SENTENCE and whole.count(value) != 1:
            yield f"the text of pin '{key}' stands {whole.count(value)} times"
        elif key.partition(".")[0] in LIVE and any(f"- {key}: " in text for text in blocks):
            yield f"live pin '{key}' stands in the frozen block"


def pins_by_step(record: Path) -> dict[int, dict[str, str]]:
    """The pins that hold at each step, by the facts before it."""
    held: dict[str, str] = {}
    out: dict[int, dict[str, str]] = {}
    for fact in lines(record):
        if fact["kind"] == "task":
            given = fact.get("constraints") or []
            held |= {f"constraints.{n}": text for n, text in enumerate(given, 1)}
            held |= {key: as_text(value) for key, value in (fact.get("pins") or {}).items()}
        elif fact["kind"] == "pin" and fact.get("value") is None:
            held.pop(fact["key"], None)
        elif fact["kind"] == "pin":
            held[fact["key"]] = as_text(fact["value"])
        elif fact["kind"] == "step":
            out[fact["step"]] = dict(held)
    return out


def own_texts(messages: Sequence[Any]) -> list[str]:
    """The messages that contextctl wrote into a window."""
    texts = (m.get("content") for m in messages if m["role"] in ("user", "system"))
    return [text for text in texts if isinstance(text, str) and text.startswith(MARKS)]


def unpaired(messages: Sequence[Any]) -> Iterator[str]:
    """Calls that are not answered right after they were made, and results that answer none."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                yield f"a result of '{message['tool_call_id']}' answers no open call"
                continue
            waiting.remove(message["tool_call_id"])
            continue
        yield from (f"call '{one}' is not answered" for one in waiting)
        waiting = [call["id"] for call in message.get("tool_calls") or []]
    yield from (f"call '{one}' is not answered" for one in waiting)


def as_text(value: Any) -> str:
    """A pinned value as it stands in a block; structured ones stay JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


if __name__ == "__main__":
    sys.exit(main())
