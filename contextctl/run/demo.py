"""The demo: the shipped trace, replayed through the shipped profile `coding`."""

from __future__ import annotations

import json
from pathlib import Path

from contextctl.io.models.vocab import counter_for
from contextctl.io.profile.load import load_profile
from contextctl.io.profile.shipped import shipped_folder
from contextctl.io.runs.folder import RunFolder
from contextctl.model.demonstration import Demonstration, LateNeed, StepSize
from contextctl.model.message import Json, JsonObject
from contextctl.run.replay_files import replay_files

# The trace needs 25,600 tokens, so this window is too small for it from step 18 on.
SETTINGS = ("model.window=16384", "model.reserve_output=2048")
# Seen in the first five steps only (the branch in the task's constraints), used at these.
NEEDED = (("7c41e9b2d0", 28), ("VAT-EU-17", 28), ("release/2026.11-hotfix-3", 29))


def demonstrate(out: Path | None) -> Demonstration:
    """Replay the trace into a run's folder, windows kept, and read off what there is to show."""
    profile = load_profile(shipped_folder("profiles") / "coding.yaml", SETTINGS)
    counter = counter_for(profile.tokenizer, profile.model.name)
    folder = RunFolder.create(out, "demo", Path.cwd())
    trace = shipped_folder("demo") / "trace.jsonl"
    outcome = replay_files(profile, counter, [trace], folder, windows=True)
    task = folder.task(outcome.results[0].id)
    windows = {int(str(line["step"])): line for line in task.read_windows().values}
    here = Path.cwd()
    return Demonstration(
        run=str(folder.path.relative_to(here) if folder.path.is_relative_to(here) else folder.path),
        profile="coding",
        window=profile.model.window or 0,
        sizes=tuple(_size(line) for line in task.read_ledger().values),
        needs=tuple(_need(value, step, windows.get(step, {})) for value, step in NEEDED),
    )


def _size(line: JsonObject) -> StepSize:
    """As recorded means without the tools that contextctl adds to read back what left."""
    raw, parts = line["raw_buckets"], line["parts"]
    recorded = sum(map(_count, raw.values())) if isinstance(raw, dict) else 0
    ours = _count(parts.get("tools_schema.contextctl")) if isinstance(parts, dict) else 0
    return StepSize(
        step=_count(line["step"]),
        raw=recorded - ours,
        total=_count(line["total"]),
        usable=_count(line["usable"]),
    )


def _need(value: str, step: int, window: JsonObject) -> LateNeed:
    return LateNeed(value, step, value in json.dumps(window.get("messages"), ensure_ascii=False))


def _count(value: Json) -> int:
    return value if isinstance(value, int) else 0
