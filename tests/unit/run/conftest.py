"""A run in this process: a scripted model, Python tools that log, a real workspace."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from contextctl.io.models.call import open_model
from contextctl.io.models.vocab import counter_for
from contextctl.io.profile.load import load_profile
from contextctl.io.profile.windows import resolve_window
from contextctl.io.runs.tasks import task_from_json
from contextctl.io.tools.toolbox import open_tools
from contextctl.io.workspace.blobs import open_store
from contextctl.io.workspace.session import Workspace
from contextctl.model.task import Task
from contextctl.run.meter import Meter
from contextctl.run.setting import Setting

MODEL = {"name": "scripted/replies.jsonl", "window": 8192, "reserve_output": 512, "retries": 0}


class Bench:
    """Builds settings over files in one folder; closes what it opened."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open: list[Any] = []

    def profile(self, **sections: Any) -> Path:
        """Write a profile; ``sections`` over a model that replays ``replies.jsonl``."""
        path = self.folder / "profile.yaml"
        path.write_text(json.dumps({"version": 1, "model": MODEL, **sections}), "utf-8")
        return path

    def script(self, *lines: dict[str, Any]) -> None:
        """Write the script of the model."""
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (self.folder / "replies.jsonl").write_text(text, "utf-8")

    def setting(self, name: str = "workspace", meter: Meter | None = None, **more: Any) -> Setting:
        """A setting under the profile that was written."""
        profile = resolve_window(load_profile(self.folder / "profile.yaml"))
        store = open_store(self.folder / name, None)
        self._open.append(store)
        stop = threading.Event()
        return Setting(
            profile=profile,
            counter_of=partial(counter_for, profile.tokenizer),
            model=open_model(profile, stop=stop),
            tools=open_tools(profile),
            workspace=Workspace(store, "s", "00"),
            meter=meter or Meter(),
            stop=stop,
            windows=True,
            **more,
        )

    def close(self) -> None:
        """Close every store."""
        for store in self._open:
            store.close()


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.chdir(tmp_path)
    with closing(Bench(tmp_path)) as made:
        yield made


def task(**keys: Any) -> Task:
    """A task from the keys of its line."""
    return task_from_json({"id": "t1", **keys})


@pytest.fixture
def make_task() -> Any:
    return task
