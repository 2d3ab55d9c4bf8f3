"""The last lines of a run: what to type next."""

from __future__ import annotations

import pytest

from contextctl.model.result import Peak, TaskResult
from contextctl.model.summary import RunSummary
from contextctl.report.summary import summary_text


@pytest.mark.parametrize(
    ("status", "following"),
    [
        ("ok", "contextctl explain 'my run' t1 --step 3"),
        ("failed", "contextctl explain 'my run' t1 --step 3"),
        ("interrupted", "contextctl tasks resume 'my run'"),
        ("cost", "contextctl tasks resume 'my run'"),
    ],
)
def test_a_run_that_was_cut_off_is_resumed_and_others_are_explained(
    status: str, following: str
) -> None:
    peak = Peak(step=3, ratio=0.4, zone="safe", total=400, bucket="history", bucket_tokens=300)
    summary = RunSummary("my run", status=status)
    summary.results = [TaskResult("t1", status, steps=3, peak=peak)]
    assert summary_text(summary, "my run").splitlines()[-1] == f"next     {following}"
