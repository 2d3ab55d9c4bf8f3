"""What a run may use of a model: money in all, requests in a minute. Shared by all its tasks."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

_MINUTE_S = 60.0


class Meter:
    """Safe to use from many threads.

    ``max_cost`` is in USD; it is looked at between two steps, so a run may pass it by what its
    concurrent steps cost. ``per_minute`` counts the requests of steps, not their retries.
    """

    def __init__(
        self,
        max_cost: float | None = None,
        per_minute: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.max_cost = max_cost
        self.spent = 0.0
        self._per_minute = per_minute
        self._clock = clock
        self._sent: deque[float] = deque()
        self._lock = threading.Lock()

    @property
    def exhausted(self) -> bool:
        """Whether the limit of cost is reached."""
        return self.max_cost is not None and self.spent >= self.max_cost

    def spend(self, cost_usd: float) -> None:
        """Book what an answer cost."""
        with self._lock:
            self.spent += cost_usd

    def wait(self, stop: threading.Event) -> None:
        """Wait until one more request fits into the minute, or until ``stop`` is set."""
        while (pause := self._pause()) > 0 and not stop.wait(pause):
            pass

    def _pause(self) -> float:
        """Seconds to wait; 0 when the request may go, which it is then counted for."""
        if self._per_minute is None:
            return 0.0
        with self._lock:
            now = self._clock()
            while self._sent and now - self._sent[0] >= _MINUTE_S:
                self._sent.popleft()
            if len(self._sent) < self._per_minute:
                self._sent.append(now)
                return 0.0
            return _MINUTE_S - (now - self._sent[0])


class Share(Meter):
    """A part of a run's meter: what is spent here is spent there, and either limit ends it."""

    def __init__(self, whole: Meter, max_cost: float | None) -> None:
        super().__init__(max_cost)
        self._whole = whole

    @property
    def exhausted(self) -> bool:
        """Whether this part's limit or the whole run's is reached."""
        return super().exhausted or self._whole.exhausted

    def spend(self, cost_usd: float) -> None:
        """Book what an answer cost, here and there."""
        super().spend(cost_usd)
        self._whole.spend(cost_usd)

    def wait(self, stop: threading.Event) -> None:
        """Wait until the whole run may send one more request."""
        self._whole.wait(stop)
