"""Reduced forms made in the background: the same bytes, only earlier."""

from __future__ import annotations

from contextctl.core.remedies.reference import _reduced, reduced_form
from contextctl.model.counter import Approx
from contextctl.model.profile import profile_from_mapping
from contextctl.model.record import ResultArrived
from contextctl.run.warm import warm

COUNTER = Approx()
SESSION = ("s1", "00ff")
LARGE = "\n".join(f"line {n} of src/module_{n}.py" for n in range(2_000))


def rules(**compaction: object):
    return profile_from_mapping(
        {"version": 1, "model": {"name": "m", "window": 9_000}, "compaction": compaction}
    )


def test_a_large_result_is_ready_when_a_batch_asks_for_it() -> None:
    profile = rules(pre_compact_over=2_500)
    _reduced.cache_clear()
    job = warm(profile, COUNTER, SESSION, ResultArrived("c1", "bash", LARGE))
    assert job is not None
    job.join()
    assert _reduced.cache_info().currsize == 1
    early = reduced_form(profile, COUNTER, SESSION, "bash", "c1", LARGE)
    assert _reduced.cache_info().hits == 1
    _reduced.cache_clear()
    assert reduced_form(profile, COUNTER, SESSION, "bash", "c1", LARGE) == early


def test_small_results_and_bytes_start_nothing() -> None:
    profile = rules(pre_compact_over=2_500)
    assert warm(profile, COUNTER, SESSION, ResultArrived("c1", "bash", "short")) is None
    picture = ResultArrived("c1", "bash", LARGE, media="image/png")
    assert warm(profile, COUNTER, SESSION, picture) is None
