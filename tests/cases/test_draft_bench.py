"""Drafted profiles are valid, fit at half the trace's size, and beat the defaults."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT


@pytest.mark.slow
def test_ten_traces_of_five_families(shared: Path) -> None:
    command = [sys.executable, ROOT / "bench" / "draft.py", "--data", shared / "data", "--json"]
    env = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=env, timeout=900)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert len(found["traces"]) == 10
    assert len({row["family"] for row in found["traces"]}) == 5
    assert found["better"] >= 8
    for row in found["traces"]:
        assert row["valid"], row["problems"]
        assert row["draft"]["unfit"] == 0
        assert row["window"] - 1_024 == row["tokens"] // 2
        assert row["draft"]["kept_share"] >= 0.998
