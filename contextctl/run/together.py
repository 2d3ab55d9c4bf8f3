"""Jobs that run at the same time, in threads that never keep a stopped run alive."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from contextctl.errors import ContextctlError

T = TypeVar("T")
_POLL_S = 0.05


class Stopped(ContextctlError):
    """The run was stopped while something was under way."""

    exit_code = 130


def run_together(
    jobs: Sequence[Callable[[], T]], stop: threading.Event, limit: int
) -> Iterator[tuple[int, T]]:
    """Run ``jobs``, at most ``limit`` at once; yield ``(place, result)`` as they finish.

    Raises what a job raised, or ``Stopped`` once ``stop`` is set and nothing more has finished.
    Threads that are still busy then are left behind.
    """
    finished: queue.SimpleQueue[tuple[int, T | BaseException]] = queue.SimpleQueue()
    places = iter(range(len(jobs)))
    lock = threading.Lock()

    def work() -> None:
        while not stop.is_set():
            with lock:
                place = next(places, None)
            if place is None:
                return
            try:
                finished.put((place, jobs[place]()))
            except BaseException as error:  # noqa: BLE001  # it is raised again where the results are read
                finished.put((place, error))

    for number in range(min(limit, len(jobs))):
        threading.Thread(target=work, name=f"job-{number}", daemon=True).start()
    for _ in jobs:
        place, result = _next(finished, stop)
        if isinstance(result, BaseException):
            raise result
        yield place, result


def _next(
    finished: queue.SimpleQueue[tuple[int, T | BaseException]], stop: threading.Event
) -> tuple[int, T | BaseException]:
    while True:
        try:
            return finished.get(timeout=_POLL_S)
        except queue.Empty:
            if stop.is_set():
                raise Stopped("stopped") from None
