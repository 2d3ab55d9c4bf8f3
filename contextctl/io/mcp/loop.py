"""An event loop in a thread of its own, asked from any other."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from contextctl.io.models.stdout_guard import stdout_to, to_stderr

T = TypeVar("T")


class LoopThread:
    """Runs coroutines for threads that wait for them."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="mcp", daemon=True)
        self._thread.start()

    def run(self, job: Coroutine[Any, Any, T]) -> T:
        """Wait for ``job``. Raises what it raises; ``CancelledError`` when the loop is closed."""
        return asyncio.run_coroutine_threadsafe(job, self._loop).result()

    def close(self, last: Coroutine[Any, Any, object]) -> None:
        """Run ``last``, cancel what is left, and end the thread. Closing twice does nothing."""
        if self._loop.is_closed() or not self._thread.is_alive():
            last.close()
            return
        try:
            self.run(last)
        finally:
            asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        with stdout_to(to_stderr):
            self._loop.run_forever()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()


async def _cancel_all() -> None:
    mine = asyncio.current_task()
    others = [task for task in asyncio.all_tasks() if task is not mine]
    for task in others:
        task.cancel()
    await asyncio.wait(others, timeout=2.0) if others else None
