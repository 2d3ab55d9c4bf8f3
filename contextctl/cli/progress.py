"""A progress line on stderr for long work; nothing at all when stderr is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(what: str) -> Iterator[Callable[[str, int], None]]:
    """Yields a callback for ``(task, step)``."""
    if not sys.stderr.isatty():
        yield lambda _task, _step: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        line = bar.add_task(what, total=None)
        yield lambda task, step: bar.update(line, description=f"{what}: {task} step {step}")
