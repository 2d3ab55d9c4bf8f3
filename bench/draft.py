"""Drafted profiles against the defaults, on recorded traces at half their size.

    python bench/draft.py --data ../shared/data [--json]

For each trace a profile is drafted with a window of half the trace, written, read back and
validated; then both profiles walk the trace, and ``core.probe`` counts what later calls needed.
``worth`` is the share of needed values in the window for each million billed input tokens.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextctl.core.explain.draft import trace_tokens
from contextctl.io.models.vocab import counter_for
from contextctl.io.profile.draft_file import draft_text
from contextctl.io.profile.load import check_profile, profile_from_values
from contextctl.io.traces import read_traces
from contextctl.run.draft import draft_profile, kept_of
from contextctl.run.measure import measure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from contextctl.core.measure.probe import Score
    from contextctl.model.profile import Profile
    from contextctl.model.trace import Trace

MODEL = "openai/gpt-4.1-mini"
RESERVE = 1024
# Two of the largest traces of each of five families, by what the agents did.
FAMILIES = {
    "shell": ("mini-swe-agent_dev",),
    "mcp": ("livemcpbench",),
    "airline": ("tau1_airline_gpt4o",),
    "parallel calls": ("tau2-airline-toolorchestra",),
    "coding sessions": ("pi_sessions",),
}
EACH = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with 01_trajectories")
    parser.add_argument("--each", type=int, default=EACH, help="traces of each family")
    parser.add_argument("--skip", type=int, default=0, help="leave out the largest ones")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    rows = [row for name in FAMILIES for row in _family(args, name)]
    better = sum(row["better"] for row in rows)
    if args.json:
        print(json.dumps({"traces": rows, "better": better, "of": len(rows)}, ensure_ascii=False))
        return 0
    for row in rows:
        print(
            f"{row['family']:<16}{row['trace'][-28:]:<30}{row['tokens']:>8,} {row['settings']:<8}"
            f" in window {row['draft']['in_window_share']:.3f} /"
            f" {row['default']['in_window_share']:.3f}"
            f"  billed {row['draft']['billed']:>9,} / {row['default']['billed']:>9,}"
            f"  worth {row['draft']['worth']:.2f} / {row['default']['worth']:.2f}"
            f"  unfit {row['draft']['unfit']} / {row['default']['unfit']}"
            f"  {row['seconds']:.1f} s{'' if row['valid'] else '  INVALID'}"
        )
    print(f"the draft is better on {better} of {len(rows)}")
    return 0


def _family(args: argparse.Namespace, name: str) -> Iterator[dict[str, Any]]:
    counter = counter_for("auto", MODEL)
    folder = args.data / "01_trajectories" / "openai"
    traces = [t for file in FAMILIES[name] for t in read_traces(folder / f"{file}.jsonl")]
    traces.sort(key=lambda trace: -trace_tokens(trace, counter))
    for trace in traces[args.skip : args.skip + args.each]:
        yield _row(name, trace, trace_tokens(trace, counter))


def _row(family: str, trace: Trace, tokens: int) -> dict[str, Any]:
    counter = counter_for("auto", MODEL)
    window = tokens // 2 + RESERVE
    started = time.monotonic()
    draft = draft_profile(
        [trace], name="draft", source=family, model=MODEL, window=window, reserve_output=RESERVE
    )
    seconds = time.monotonic() - started
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "draft.yaml"
        path.write_text(draft_text(draft), encoding="utf-8")
        profile, problems = check_profile(path)
    base = {"version": 1, "model": {"name": MODEL, "window": window, "reserve_output": RESERVE}}
    default = profile_from_values(base)
    ours = _score(profile, trace) if profile is not None else {}
    theirs = _score(default, trace)
    return {
        "family": family,
        "trace": trace.id,
        "tokens": tokens,
        "window": window,
        "settings": draft.menu,
        "valid": profile is not None,
        "problems": [str(problem) for problem in problems],
        "draft": ours,
        "default": theirs,
        "better": bool(ours) and ours["worth"] > theirs["worth"],
        "seconds": round(seconds, 2),
        "tokenizer": counter.name,
    }


def _score(profile: Profile, trace: Trace) -> dict[str, Any]:
    score: Score = measure(profile, counter_for("auto", MODEL), trace)
    kept = kept_of([score])
    return {
        "needed": kept.needed,
        "in_window_share": round(kept.share, 5),
        "kept_share": round((kept.in_window + kept.recoverable) / (kept.needed or 1), 5),
        "billed": kept.billed,
        "worth": round(kept.worth, 3),
        "unfit": kept.unfit,
        "invalid": score.invalid,
    }


if __name__ == "__main__":
    sys.exit(main())
