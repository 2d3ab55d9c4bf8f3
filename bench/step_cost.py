"""What one more step costs, at 50 to 800 steps, against thirty lines written by hand.

    python bench/step_cost.py [--data ../shared/data] [--json]

A step is: take in the reply and the result, assemble the next window, render its ledger line,
record that it was sent. ``cold`` counts every text for the first time; ``warm`` walks the same
trace again, with the counts remembered (as after a resume). Times are milliseconds of CPU; compare
them within one run only. With ``--data`` the light results are cut from recorded tool outputs.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

sys.path.insert(0, str(Path(__file__).parent))

from growing_trace import TASK, Step, real_outputs, steps
from thirty_lines import ByHand

from contextctl.core.assemble import Fold
from contextctl.io.models.vocab import counter_for
from contextctl.model.message import Message, ToolCall
from contextctl.model.profile import Profile, profile_from_mapping
from contextctl.model.record import MessageAdded, Opened, ResultArrived, StepTaken, TaskGiven

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

AT = (50, 100, 200, 400, 800)
SPAN = 50  # a figure at N is taken over the 50 steps up to N, of every repeat
WINDOW, RESERVE = 32_768, 4_096
AIMS = {"flat": 1.5, "p95_light_ms": 5.0, "p95_heavy_ms": 15.0, "times_by_hand": 3.0}
SYSTEM = "You are a careful engineer. Call one tool at a time and say what you learnt."
PROFILE: dict[str, Any] = {
    "version": 1,
    "model": {"name": "openai/gpt-4.1-mini", "window": WINDOW, "reserve_output": RESERVE},
    "tokenizer": "o200k_base",
    "tools": {
        "list_orders": {
            "result": {"fields": ["id", "status", "customer_40"], "page": {"limit": 20}}
        }
    },
}


class Walker(Protocol):
    """Something that takes steps."""

    def step(self, step: Step) -> None:
        """Take in one step and make the next window."""


class Ours:
    """contextctl with ledger, actions and digests on, as ``run`` uses it, without the disk."""

    def __init__(self, profile: Profile) -> None:
        self.overflows = 0
        self._profile = profile
        self._fold = Fold(profile, counter_for(profile.tokenizer, profile.model.name))
        self._fold.advance(Opened(task="bench", session="bench", key="00" * 16))
        self._fold.advance(TaskGiven(input=TASK))
        self._fold.advance(MessageAdded(Message("system", SYSTEM)))
        self._fold.advance(MessageAdded(Message("user", TASK)))

    def step(self, step: Step) -> None:
        """Reply and result in, the next window out."""
        calls = (ToolCall(step.call_id, step.name, step.arguments),)
        self._fold.advance(MessageAdded(Message("assistant", step.thought, calls)))
        self._fold.advance(ResultArrived(step.call_id, step.name, step.result))
        assembly = self._fold.assemble()
        ledger = assembly.ledger
        self.overflows += ledger.status != "ok"
        json.dumps(ledger.to_json(), ensure_ascii=False)
        self._fold.advance(StepTaken(ledger.step, self._profile.digest, ledger.digest))


class Baseline:
    """The thirty lines, fed the same messages."""

    def __init__(self) -> None:
        count = counter_for("o200k_base", "").text
        self._hand = ByHand(count, WINDOW - RESERVE)
        self._hand.add({"role": "system", "content": SYSTEM})
        self._hand.add({"role": "user", "content": TASK})

    def step(self, step: Step) -> None:
        """Reply and result in, the next window out."""
        function = {"name": step.name, "arguments": step.arguments}
        call = {"id": step.call_id, "type": "function", "function": function}
        self._hand.add({"role": "assistant", "content": step.thought, "tool_calls": [call]})
        self._hand.add({"role": "tool", "tool_call_id": step.call_id, "content": step.result})
        self._hand.fit()


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; 0 whatever the figures say: they are judged by who reads them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="recorded traces to cut light results from")
    parser.add_argument("--repeats", type=int, default=3, help="traces walked for each figure")
    parser.add_argument("--long", type=int, default=10_000, help="steps of the memory walk")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    args = parser.parse_args(argv)
    texts = real_outputs(args.data) if args.data else ()
    profile = profile_from_mapping(PROFILE)
    result: dict[str, Any] = {"window": WINDOW, "repeats": args.repeats, "real_texts": bool(texts)}
    for weight in ("light", "heavy"):
        result[weight] = compare(
            profile, heavy=weight == "heavy", texts=texts, repeats=args.repeats
        )
    result["long"] = memory_walk(profile, args.long, texts)
    result["aims"] = AIMS
    print(json.dumps(result) if args.json else table(result))
    return 0


def compare(
    profile: Profile, *, heavy: bool, texts: tuple[str, ...], repeats: int
) -> dict[str, Any]:
    """Both walkers over the same traces, cold and warm, one after the other in every repeat."""
    times: dict[str, list[list[float]]] = {
        f"{who}_{state}": [] for who in ("ours", "by_hand") for state in ("cold", "warm")
    }
    makers: dict[str, Callable[[], Walker]] = {"ours": lambda: Ours(profile), "by_hand": Baseline}
    for repeat in range(repeats):
        for offset, (who, make) in enumerate(makers.items()):
            # Each walker has traces of its own, because both count through one memory.
            seed = 1 + 2 * repeat + offset
            trace = list(itertools.islice(steps(seed, heavy=heavy, texts=texts), AT[-1]))
            for state in ("cold", "warm"):
                times[f"{who}_{state}"].append(walk(make(), trace))
    out: dict[str, Any] = {name: figures(runs) for name, runs in times.items()}
    for state in ("cold", "warm"):
        ours, hand = out[f"ours_{state}"], out[f"by_hand_{state}"]
        out[state] = {
            "flat_800_over_50": round(ours["800"]["mean_ms"] / ours["50"]["mean_ms"], 2),
            "p95_at_400_ms": ours["400"]["p95_ms"],
            "times_by_hand_at_400": round(ours["400"]["mean_ms"] / hand["400"]["mean_ms"], 2),
        }
    return out


def walk(walker: Walker, trace: Sequence[Step]) -> list[float]:
    """CPU milliseconds of every step."""
    gc.collect()
    times = []
    for step in trace:
        started = time.process_time_ns()
        walker.step(step)
        times.append((time.process_time_ns() - started) / 1e6)
    return times


def figures(runs: list[list[float]]) -> dict[str, dict[str, float]]:
    """Mean, median and 95th percentile at each length, over all repeats."""
    out = {}
    for at in AT:
        pooled = sorted(ms for run in runs for ms in run[at - SPAN : at])
        out[str(at)] = {
            "mean_ms": round(statistics.fmean(pooled), 3),
            "p50_ms": round(statistics.median(pooled), 3),
            "p95_ms": round(pooled[int(0.95 * (len(pooled) - 1))], 3),
        }
    return out


def memory_walk(profile: Profile, length: int, texts: tuple[str, ...]) -> dict[str, float]:
    """One long trace, made as it is walked: resident memory at a fifth and at the end."""
    walker, early = Ours(profile), 0.0
    started = time.process_time()
    for number, step in enumerate(itertools.islice(steps(99, texts=texts), length), start=1):
        walker.step(step)
        if number == length // 5:
            gc.collect()
            early = resident_mb()
    seconds = time.process_time() - started
    gc.collect()
    end = resident_mb()
    return {
        "steps": length,
        "overflows": walker.overflows,
        "ms_per_step": round(1000 * seconds / length, 3),
        "rss_mb_at_a_fifth": round(early, 1),
        "rss_mb_at_the_end": round(end, 1),
        "growth_kb_per_step": round(1024 * (end - early) / (0.8 * length), 3),
    }


def resident_mb() -> float:
    """Resident memory of this process in MB (Linux; 0.0 where it cannot be read)."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return 0.0
    return int(statm.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def table(result: dict[str, Any]) -> str:
    """The figures as text."""
    lines = []
    for weight in ("light", "heavy"):
        lines.append(f"{weight:<16}" + "".join(f"{at:>18}" for at in AT) + "  steps")
        for who in ("ours_cold", "by_hand_cold", "ours_warm", "by_hand_warm"):
            row = result[weight][who]
            cells = (f"{row[str(at)]['mean_ms']:.2f} / {row[str(at)]['p95_ms']:.2f}" for at in AT)
            lines.append(
                f"  {who:<14}" + "".join(f"{cell:>18}" for cell in cells) + "  mean/p95 ms"
            )
        lines += [f"  {state}: {_pairs(result[weight][state])}" for state in ("cold", "warm")]
    lines.append(f"long: {_pairs(result['long'])}")
    return "\n".join(lines)


def _pairs(figures: dict[str, float]) -> str:
    return ", ".join(f"{name} {value}" for name, value in figures.items())


if __name__ == "__main__":
    raise SystemExit(main())
