"""A tool-heavy trace that keeps growing: one call and one result a step, made from a seed.

``light`` results are logs of 1-6 KB; in ``heavy`` every tenth result is a JSON list of 200 records
with 60 fields (about 250 KB). The same seed gives the same trace; another gives texts that no
counter has seen before.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAVY_EVERY = 10
ROWS, FIELDS = 200, 60
WORDS = (
    "order", "invoice", "depot", "parcel", "worker", "queue", "retry", "socket", "thread", "buffer",
    "commit", "branch", "merge", "driver", "schema", "column", "index", "cursor", "bucket", "zone",
    "replica", "shard", "lease", "token", "window", "budget", "ledger", "batch", "customer", "ship",
    "carrier", "address", "amount", "currency", "refund", "pending", "shipped", "delivered", "lost",
)  # fmt: skip
TASK = "Find out why parcels of depot D-4471 are late. Constraint: change nothing in production."


@dataclass(frozen=True, slots=True)
class Step:
    """One assistant turn: its words, its call and what the call returned."""

    call_id: str
    thought: str
    name: str
    arguments: str
    result: str


def steps(seed: int, *, heavy: bool = False, texts: tuple[str, ...] = ()) -> Iterator[Step]:
    """An endless trace. With ``texts`` (real tool outputs), the light results are cut from them."""
    rng = random.Random(seed)
    number = 0
    while True:
        number += 1
        if heavy and number % HEAVY_EVERY == 0:
            name, arguments, result = "list_orders", {"page": number}, _records(rng)
        else:
            path = f"var/log/{rng.choice(WORDS)}-{rng.randrange(10**6)}.log"
            name, arguments = "read_log", {"path": path}
            result = _cut(rng, texts) if texts else _log(rng)
        thought = f"Step {number}: the {rng.choice(WORDS)} points to {rng.choice(WORDS)} {number}."
        yield Step(f"call_{number}", thought, name, json.dumps(arguments), result)


def real_outputs(data: Path) -> tuple[str, ...]:
    """Tool outputs of at least 1 KB from the recorded traces below ``data``."""
    source = data / "01_trajectories" / "openai" / "mini-swe-agent_dev.jsonl"
    texts = []
    with source.open(encoding="utf-8") as lines:
        for line in lines:
            for message in json.loads(line)["messages"]:
                content = message.get("content")
                if message["role"] in {"tool", "user"} and isinstance(content, str):
                    texts.append(content)
    return tuple(text for text in texts if len(text) >= 1024)


def _log(rng: random.Random) -> str:
    size, lines, length = rng.randint(1_024, 6_144), [], 0
    while length < size:
        words = " ".join(rng.choices(WORDS, k=rng.randint(4, 10)))
        clock = f"12:{rng.randrange(60):02d}:{rng.randrange(60):02d}"
        line = f"{clock} INFO {words} id={rng.randrange(10**9)}"
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines)


def _cut(rng: random.Random, texts: tuple[str, ...]) -> str:
    """A stretch of a real output under a line that makes it new."""
    text = rng.choice(texts)
    size = rng.randint(1_024, 6_144)
    start = rng.randrange(max(1, len(text) - size))
    return f"# {rng.randrange(10**12)}\n{text[start : start + size]}"


def _records(rng: random.Random) -> str:
    names = [f"{WORDS[i % len(WORDS)]}_{i}" for i in range(FIELDS - 2)]
    rows = []
    for _ in range(ROWS):
        row: dict[str, object] = {"id": rng.randrange(10**9), "status": rng.choice(WORDS)}
        row.update({name: rng.randrange(10**5) for name in names})
        rows.append(row)
    return json.dumps(rows)
