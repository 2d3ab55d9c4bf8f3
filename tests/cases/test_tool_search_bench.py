"""The script that measures tool search, on the published sets: what it promises is kept."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest


@pytest.mark.slow
def test_the_aims_are_met_and_deferral_saves_nearly_all(shared, root):
    done = subprocess.run(
        [sys.executable, "bench/tool_search.py", "--data", str(shared / "data"), "--json"],
        cwd=root,
        env={"PYTHONPATH": str(root), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    result = json.loads(done.stdout)
    sets = result["sets"]
    recall = {name: one["contextctl"]["recall@5"] for name, one in sets.items()}
    assert recall["livemcp"] >= 0.333
    assert recall["metatool"] >= 0.573
    assert recall["stabletoolbench"] >= 0.80
    assert recall["c3_zh_to_en"] >= 0.85
    assert recall["c3_en_to_zh"] >= 0.90
    # A busy machine is slower; one that is not takes a millisecond.
    assert all(one["contextctl"]["ms"] < 5 for one in sets.values())
    tokens = result["tokens_of_527_tools"]
    assert tokens["compact"] == pytest.approx(88_770, rel=0.01)
    assert tokens["deferred"] < 0.05 * tokens["resident"]
