"""A batch: many tasks, some at the same time, each by itself.

One task's failure is a line in ``results.jsonl`` and nothing to the others. Only this thread writes
results, one line a finished task, forced onto the disk; the tasks write their own records.
"""

from __future__ import annotations

import queue
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from contextctl.io.runs.folder import RunFolder
from contextctl.io.text.files import write_atomic
from contextctl.io.text.jsonl import JsonlWriter
from contextctl.model.message import JsonObject
from contextctl.model.result import TaskResult
from contextctl.model.task import Task
from contextctl.run.resume import INPUT
from contextctl.run.setting import Setting
from contextctl.run.task import Ended, run_task

Progress = Callable[[TaskResult], None]
_GRACE_S = 5.0  # for tasks to write down where they are, once the run is stopped
_POLL_S = 0.1


@dataclass(slots=True)
class BatchEnd:
    """What became of the tasks. ``bugs`` are files with tracebacks of contextctl's own faults."""

    ended: list[Ended] = field(default_factory=list)
    interrupted: bool = False
    left: list[Task] = field(default_factory=list)
    bugs: list[str] = field(default_factory=list)

    @property
    def results(self) -> list[TaskResult]:
        """The results of the tasks that were begun."""
        return [one.result for one in self.ended]


def run_batch(
    setting: Setting,
    tasks: Sequence[Task],
    folder: RunFolder,
    *,
    concurrency: int = 1,
    unmet: frozenset[str] = frozenset(),
    progress: Progress = lambda _result: None,
) -> BatchEnd:
    """Run ``tasks``, at most ``concurrency`` at once. Stops cleanly at Ctrl-C and at a cost limit.

    ``unmet`` are tasks whose answer was not what they expect: they may be begun anew. Raises
    ``StoreError`` when results can no longer be written.
    """
    batch = _Batch(setting, tasks, folder, unmet)
    threads = [
        threading.Thread(target=batch.work, name=f"task-{number}", daemon=True)
        for number in range(max(1, min(concurrency, len(tasks))))
    ]
    with closing(JsonlWriter(folder.results)) as results:
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads) or not batch.finished.empty():
                batch.collect(results, progress, _POLL_S)
        except KeyboardInterrupt:
            batch.end.interrupted = True
            batch.stop()
            until = time.monotonic() + _GRACE_S
            while time.monotonic() < until and any(thread.is_alive() for thread in threads):
                batch.collect(results, progress, _POLL_S)
        finally:
            batch.stop()
        batch.collect(results, progress, 0)
        batch.give_up(results, progress)
    return batch.end


class _Batch:
    """The state of a batch between its threads."""

    def __init__(
        self, setting: Setting, tasks: Sequence[Task], folder: RunFolder, unmet: frozenset[str]
    ) -> None:
        self.setting = setting
        self.folder = folder
        self.unmet = unmet
        self.finished: queue.SimpleQueue[tuple[Task, Ended]] = queue.SimpleQueue()
        self.end = BatchEnd()
        self._waiting = list(reversed(tasks))
        self._busy: dict[str, Task] = {}
        self._lock = threading.Lock()

    def work(self) -> None:
        """Take tasks until none is left, or the run is stopped or has spent its money."""
        while not self.setting.stop.is_set() and not self.setting.meter.exhausted:
            with self._lock:
                if not self._waiting:
                    return
                task = self._waiting.pop()
                self._busy[task.id] = task
            self.finished.put((task, self._one(task)))

    def collect(self, results: JsonlWriter, progress: Progress, timeout: float) -> None:
        """Write down what has finished; wait up to ``timeout`` seconds for the first."""
        try:
            task, ended = self.finished.get(block=timeout > 0, timeout=timeout)
            while True:
                self._write(results, task, ended)
                progress(ended.result)
                task, ended = self.finished.get_nowait()
        except queue.Empty:
            return

    def stop(self) -> None:
        """Ask every task to end where it is, and end the commands that are running."""
        self.setting.stop.set()
        self.setting.tools.close()
        if self.setting.own is not None:
            self.setting.own.close()

    def give_up(self, results: JsonlWriter, progress: Progress) -> None:
        """Tasks that did not end in time are interrupted; the others were never begun."""
        with self._lock:
            busy, self.end.left = list(self._busy.values()), list(reversed(self._waiting))
        for task in busy:
            error = "interrupted while something was under way; --resume continues it"
            ended = Ended(TaskResult(task.id, "interrupted", error=error))
            self._write(results, task, ended)
            progress(ended.result)

    def _write(self, results: JsonlWriter, task: Task, ended: Ended) -> None:
        with self._lock:
            self._busy.pop(task.id, None)
        self.end.ended.append(ended)
        line: JsonObject = {**ended.result.to_json(), INPUT: task.digest}
        results.append([line], sync=True)

    def _one(self, task: Task) -> Ended:
        folder = self.folder.task(task.id)
        try:
            return run_task(self.setting, task, folder, anew=task.id in self.unmet)
        except BaseException as error:  # noqa: BLE001  # a bug, or a panic, ends one task only
            log = folder.path / "error.log"
            write_atomic(log, "".join(traceback.format_exception(error)))
            self.end.bugs.append(str(log))
            text = f"a bug in contextctl: {type(error).__name__}: {error} (traceback in {log})"
            return Ended(TaskResult(task.id, "failed", error=text))
