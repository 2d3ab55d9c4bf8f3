"""The knowledge script: search beats plain BM25, and a delegate keeps the main window small."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "bench" / "knowledge.py"


def test_search_delegate_and_spans(shared):
    command = [sys.executable, str(SCRIPT), "--data", str(shared / "data"), "--json"]
    env = {**os.environ, "PYTHONPATH": str(SCRIPT.parents[1])}
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, encoding="utf-8", env=env
    )
    out = json.loads(done.stdout)
    bank = out["bank"]
    assert (bank["documents"], bank["tasks"]) == (698, 49)
    for rank in (5, 10):
        assert bank["search_docs"][f"recall@{rank}"] >= 2 * bank["plain"][f"recall@{rank}"]
        assert bank["search_docs"][f"recall@{rank}"] <= bank["ceiling"][f"recall@{rank}"]
    window = out["window"]
    assert window["read_by_delegate"]["max"] < window["read_in_main_window"]["median"]
    assert window["median_times_smaller"] >= 3
    assert (out["spans"]["questions"], out["spans"]["meetings"]) == (112, 15)
    assert out["spans"]["hit@5"] >= 0.8
