"""The bench of a real small model's summaries: on the beginning of a recorded session."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.servers.local_model import missing_packages


@pytest.mark.local_model
@pytest.mark.skipif(bool(missing_packages()), reason="the local model is not installed")
def test_a_real_small_model_summarises_a_recorded_session(shared, root):
    script = [sys.executable, str(root / "bench/model_summaries.py"), "--data"]
    done = subprocess.run(
        [*script, str(shared / "data"), "--points", "16", "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    out = json.loads(done.stdout)
    assert out["refused"] == 0  # nothing was too large for the model's window
    assert out["invalid"] == 0  # every answer that came to its end is a summary
    assert 0 < out["largest_request"] <= out["window"]
    (one,) = out["compactions"]
    # So small a model's words differ from machine to machine. One answer may be repaired; where a
    # second one is cut too, the mechanical summary stands, and the row says why.
    assert one["by"] == "model" or (one["fallback"] and out["cut"] > 1)
    assert one["in_ledger"]
    assert one["completion_tokens"] > 0
    assert out["summary_input"] == one["prompt_tokens"]
    assert out["verified"].startswith("verified: 1 compactions")
