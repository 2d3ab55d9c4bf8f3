"""Money and requests, with a clock that the test moves."""

import threading

from contextctl.run.meter import Meter


class Clock:
    """A stop event whose waiting moves the time it tells."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waits: list[float] = []

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        self.now += seconds
        return False


def test_no_more_than_the_limit_in_any_minute():
    clock = Clock()
    meter = Meter(per_minute=3, clock=clock)
    sent = []
    for _ in range(8):
        meter.wait(clock)  # type: ignore[arg-type]  # only its wait is used
        sent.append(clock.now)
        clock.now += 1.0
    assert sent == [0.0, 1.0, 2.0, 60.0, 61.0, 62.0, 120.0, 121.0]


def test_a_stopped_run_waits_for_nothing():
    meter = Meter(per_minute=1)
    stop = threading.Event()
    meter.wait(stop)
    stop.set()
    meter.wait(stop)


def test_money_is_exhausted_at_its_limit_and_never_without_one():
    meter = Meter(max_cost=1.0)
    meter.spend(0.4)
    assert not meter.exhausted
    meter.spend(0.6)
    assert meter.exhausted
    free = Meter()
    free.spend(1e9)
    assert not free.exhausted
    assert Meter(max_cost=0.0).exhausted
