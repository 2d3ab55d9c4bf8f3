"""The gates of memory against tables of candidates with the verdict each should meet.

    python bench/memory_gates.py tests/fixtures/memory/gates.jsonl

A line of a table is a candidate with ``want``: ``ok``, ``unconfirmed`` (held) or the code of a
refusal. ``precision``: of what was let in, how much should have been. ``recall``: of what should
have been let in, how much was. ``right_code``: how often the gate that should speak spoke.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextctl.core.memory.gates import admit
from contextctl.model.memory import STORE, Candidate
from contextctl.model.profile_parts import MemoryRule

if TYPE_CHECKING:
    from collections.abc import Sequence

RULE = MemoryRule(enabled=True)
TABLES = Path(__file__).resolve().parent.parent / "tests/fixtures/memory"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; 1 when something was let in that should not have been."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", type=Path, nargs="*", default=sorted(TABLES.glob("gates*.jsonl")))
    parser.add_argument("--data", type=Path, help="not needed; all benches take it")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    args = parser.parse_args(argv)
    rows = [
        json.loads(line)
        for table in args.tables
        for line in table.read_text(encoding="utf-8").splitlines()
    ]
    chinese = [row for row in rows if any("一" <= char <= "鿿" for char in row["text"])]
    english = [row for row in rows if row not in chinese]
    out = {name: measured(some) for name, some in
           (("all", rows), ("chinese", chinese), ("english", english)) if some}  # fmt: skip
    wrong = [f"{row['want']} -> {code}: {row['text']}" for row, code in judged(rows)
             if code != row["want"]]  # fmt: skip
    if args.json:
        print(json.dumps({**out, "wrong": wrong}, ensure_ascii=False))
    else:
        for name, one in out.items():
            print(name.ljust(9), "  ".join(f"{key} {value}" for key, value in one.items()))
        print(*(f"  {line}" for line in wrong), sep="\n")
    return 1 if out["all"]["precision"] < 1 else 0


def judged(rows: Sequence[dict[str, Any]]) -> list[tuple[dict[str, Any], str]]:
    """Each row with the code of its verdict."""
    return [(row, admit(candidate(row), RULE).code) for row in rows]


def measured(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Precision and recall of what is let in, and how often the right gate spoke."""
    counts: Counter[tuple[bool, bool]] = Counter()
    for row in rows:
        counts[row["want"] == "ok", admit(candidate(row), RULE).outcome == STORE] += 1
    right, missed, wrong = counts[True, True], counts[True, False], counts[False, True]
    same = sum(code == row["want"] for row, code in judged(rows))
    return {
        "candidates": len(rows),
        "admissible": right + missed,
        "precision": round(right / max(right + wrong, 1), 3),
        "recall": round(right / max(right + missed, 1), 3),
        "right_code": round(same / len(rows), 3),
    }


def candidate(row: dict[str, Any]) -> Candidate:
    """The candidate of a row; it belongs to somebody and is the user's unless it says otherwise."""
    return Candidate(**{"subject": "user:7", **{k: v for k, v in row.items() if k != "want"}})


if __name__ == "__main__":
    sys.exit(main())
