"""The retention script measures what was published for naive policies over the reference traces."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "bench" / "retention.py"


def measured(shared: Path, policy: str, name: str) -> dict[str, float]:
    command = [sys.executable, str(SCRIPT), "--data", str(shared / "data"), "--json"]
    done = subprocess.run(
        [*command, "--policy", policy, "--set", name],
        check=True, capture_output=True, text=True, encoding="utf-8",
    )  # fmt: skip
    return json.loads(done.stdout)[f"{policy} {name}"]


# Published: over budget, billed (M), share in a held prefix, in window. The first is exact; the
# last depends on how values are found inside long strings, which was published in words only.
@pytest.mark.parametrize(
    ("policy", "name", "over", "billed", "held", "in_window"),
    [
        ("append", "livemcpbench", 175, 0.582, 0.809, 1.000),
        ("slide", "livemcpbench", 23, 0.702, 0.448, 0.942),
        ("batch", "livemcpbench", 23, 0.560, 0.389, 0.854),
        ("batch", "mini-swe-agent_dev", 0, 2.62, 0.857, 0.897),
        ("batch", "pi_sessions", 0, 4.03, 0.962, 0.933),
    ],
)
def test_naive_policies(
    shared: Path, policy: str, name: str, over: int, billed: float, held: float, in_window: float
) -> None:
    row = measured(shared, policy, name)
    assert row["over_budget"] == over
    assert row["billed"] / 1e6 == pytest.approx(billed, rel=0.015)
    assert row["held_share"] == pytest.approx(held, abs=0.004)
    assert row["in_window_share"] == pytest.approx(in_window, abs=0.015)


def test_pi_has_unanswered_calls_and_loses_user_text(shared: Path) -> None:
    row = measured(shared, "batch", "pi_sessions")
    assert row["invalid"] > row["steps"] / 2
    assert row["user_text_kept"] == pytest.approx(0.48, abs=0.02)
