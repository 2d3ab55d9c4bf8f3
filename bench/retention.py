"""Retention, cost and validity of windows over recorded traces.

    python bench/retention.py --data ../shared/data --run RUN      what a finished replay kept
    python bench/retention.py --data ../shared/data --policy slide what a naive policy keeps

``--run`` reads ``tasks/*/windows.jsonl`` and ``ledger.jsonl`` of a run made with ``--windows``, the
texts behind its refs (exported from its workspace, or from ``--refs DIR``), and the traces below
``--data`` (or the record of the run, where no trace of that id is found).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent))

from naive_policies import POLICIES, windows_of

from contextctl.core.measure.needed import content_text
from contextctl.core.measure.probe import Score, Window, probe
from contextctl.io.models.vocab import counter_for
from contextctl.model.record import MessageAdded, ResultArrived
from contextctl.model.record_json import event_from_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# The sets and the usable sizes of the reference measurements (window less a reserve of 4,096).
SETS = {"mini-swe-agent_dev": 12_288, "livemcpbench": 4_096, "pi_sessions": 61_440}
TRACES = "01_trajectories/openai"


def main(argv: Sequence[str] | None = None) -> int:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of traces (JSON lines)")
    parser.add_argument("--run", type=Path, help="a finished replay made with --windows")
    parser.add_argument("--refs", type=Path, help="exported workspace: one file per ref")
    parser.add_argument("--policy", choices=POLICIES, help="measure a naive policy instead")
    parser.add_argument("--set", action="append", choices=sorted(SETS), help="only these sets")
    parser.add_argument("--usable", type=int, help="budget in tokens, else that of the run or set")
    parser.add_argument("--per-task", action="store_true", help="scores of each task as well")
    parser.add_argument("--lost", action="store_true", help="name every value not in its window")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    args = parser.parse_args(argv)
    if (args.run is None) == (args.policy is None):
        parser.error("give --run RUN or --policy NAME")
    rows = _policy_rows(args) if args.policy else _run_rows(args)
    _print(rows, as_json=args.json)
    return 0


def _policy_rows(args: argparse.Namespace) -> dict[str, Any]:
    count = counter_for("o200k_base", "").text
    rows: dict[str, Any] = {}
    for name in args.set or SETS:
        usable = args.usable or SETS[name]
        score = Score()
        for trace in _lines(args.data / TRACES / f"{name}.jsonl"):
            tools = trace.get("tools") or []
            windows = windows_of(
                args.policy, trace["messages"], tools, usable, lambda m: _size(m, count),
                count(json.dumps(tools, ensure_ascii=False)) if tools else 0,
            )  # fmt: skip
            _add(score, probe(trace["messages"], windows, usable, {}, count))
        rows[f"{args.policy} {name}"] = score.to_json()
    return rows


def _run_rows(args: argparse.Namespace) -> dict[str, Any]:
    count = counter_for("o200k_base", "").text
    refs = _refs(args)
    total, rows, lost = Score(), {}, []
    for folder in sorted(path.parent for path in args.run.glob("tasks/*/windows.jsonl")):
        ledger = list(_lines(folder / "ledger.jsonl"))
        usable = args.usable or int(ledger[0]["usable"])
        windows, task = {}, folder.name
        for line in _lines(folder / "windows.jsonl"):
            task = line.get("task", task)
            windows[int(line["step"])] = Window(line["messages"], line.get("tools") or [])
        score = Score()
        for result in probe(_messages(args.data, task, folder), windows, usable, refs, count):
            _add(score, [result])
            _add(total, [result])
            if not isinstance(result, tuple):
                lost += [[task, result.step, "lost", value] for value in result.lost]
                lost += [[task, result.step, "ref", value] for value in result.recoverable]
        if args.per_task:
            rows[task] = score.to_json()
    rows["total"] = total.to_json()
    if args.lost:
        rows["not_in_window"] = lost
    return rows


def _add(score: Score, results: Any) -> None:
    for result in results:
        if isinstance(result, tuple):
            score.missing += 1
            score.missed += result[1]
        else:
            score.add(result)


def _messages(data: Path, task: str, folder: Path) -> Sequence[Any]:
    """The trace of a task: by id below ``data``, else what the run's record holds."""
    for path in [data] if data.is_file() else sorted((data / TRACES).glob("*.jsonl")):
        for trace in _lines(path):
            if task in (trace.get("id"), str(trace.get("id", "")).removeprefix("pi-")):
                return trace["messages"]
    messages: list[Any] = []
    for line in _lines(folder / "record.jsonl"):
        event = event_from_json(line)
        if isinstance(event, MessageAdded):
            messages.append(event.message.to_openai())
        elif isinstance(event, ResultArrived):
            result = {"role": "tool", "tool_call_id": event.call_id, "content": event.content}
            messages.append(result)
    return messages


def _refs(args: argparse.Namespace) -> Mapping[str, str]:
    """What each ref of the run leads to."""
    if args.refs:
        return _read_refs(args.refs)
    with tempfile.TemporaryDirectory() as folder:
        command = "from contextctl.cli.app import main; main()"
        words = ["workspace", "export", str(args.run), "--out", folder]
        subprocess.run([sys.executable, "-c", command, *words], check=True, stdout=2)
        return _read_refs(Path(folder))


def _read_refs(folder: Path) -> Mapping[str, str]:
    files = (path for path in folder.iterdir() if path.suffix in (".txt", ".json"))
    return {path.stem: path.read_text(encoding="utf-8", errors="replace") for path in files}


def _size(message: Any, count: Any) -> int:
    calls = [call["function"] for call in message.get("tool_calls") or []]
    called = sum(count(call["name"]) + count(call["arguments"]) for call in calls)
    return int(3 + count(content_text(message)) + called)


def _lines(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.strip():
                try:
                    yield json.loads(line)
                except ValueError:  # the torn last line of a record that was being written
                    return


def _print(rows: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(rows, ensure_ascii=False))
        return
    for name, row in rows.items():
        if not isinstance(row, dict):
            for item in row:
                print("  ", *item)
            continue
        print(
            f"{name:34} in window {row['in_window_share']:.4f} kept {row['kept_share']:.4f} "
            f"(n {row['needed']}, ref {row['recoverable']}, lost {row['lost']}) "
            f"billed {row['billed'] / 1e6:.3f} M of {row['tokens'] / 1e6:.2f} M "
            f"held {row['held_share']:.3f} over {row['over_budget']} invalid {row['invalid']} "
            f"without window {row['steps_without_window']} user text {row['user_text_kept']:.4f}"
        )


if __name__ == "__main__":
    sys.exit(main())
