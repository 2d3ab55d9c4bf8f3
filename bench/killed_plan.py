"""A plan of 60 items under a scripted model, killed at random moments of its work.

    python bench/killed_plan.py --data ../shared/data --kills 200

Each item has one effect outside, a line in a file. Plans are run to their end one after the other,
each killed again and again (every fourth time while a second process tries the same run), until
there were enough kills. Prints how often an effect was missing or took place twice, and how many
briefs were wrong. ``--data`` is not needed; all benches take it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.e2e.long_plan import effects, kill_often, start, write_plan  # found by the line above

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parent.parent


def main(argv: Sequence[str] | None = None) -> int:
    """Kill, count, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--items", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    args = parser.parse_args(argv)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    total: dict[str, Any] = dict.fromkeys(
        ("plans", "kills", "resumes", "items", "missing", "twice", "wrong_briefs", "both_won"), 0
    )
    begun = time.monotonic()
    while total["kills"] < args.kills:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            write_plan(folder, args.items)
            seed, left = args.seed + total["plans"], args.kills - total["kills"]
            seen = kill_often(folder, env, left, seed, longest_s=0.5)
            ended = start(folder, env).wait(300)
            if ended:
                raise SystemExit(f"the last run ended with exit code {ended}")
            counted = effects(folder)
        total["plans"] += 1
        total["kills"] += seen.kills
        total["resumes"] += seen.resumes
        total["items"] += args.items
        total["missing"] += args.items - len(counted)
        total["twice"] += sum(number > 1 for number in counted.values())
        total["wrong_briefs"] += len(seen.wrong_briefs)
        total["both_won"] += seen.fights_won_by_both
    total["seconds"] = round(time.monotonic() - begun, 1)
    if args.json:
        print(json.dumps(total))
    else:
        print("  ".join(f"{key} {value}" for key, value in total.items()))
    return 1 if total["missing"] or total["twice"] or total["wrong_briefs"] else 0


if __name__ == "__main__":
    sys.exit(main())
