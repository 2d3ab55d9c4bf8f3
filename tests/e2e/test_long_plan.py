"""A plan of 60 items, killed at random moments: each item once, the brief right at each resume."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.e2e.long_plan import effects, kill_often, start, write_plan

ITEMS = 60


@pytest.fixture
def env(cli: Cli, root: Path) -> dict[str, str]:
    return cli._environment({"PYTHONPATH": str(root)})


@pytest.mark.slow
def test_every_item_is_done_exactly_once(cli: Cli, tmp_path: Path, env: dict[str, str]) -> None:
    write_plan(tmp_path, ITEMS)
    seen = kill_often(tmp_path, env, kills=12, seed=3, longest_s=0.4)
    assert seen.wrong_briefs == []
    assert seen.fights_won_by_both == 0
    assert seen.resumes >= 3
    last = start(tmp_path, env)
    assert last.wait(120) == 0
    assert effects(tmp_path) == {f"item-{n}": 1 for n in range(1, ITEMS + 1)}
    shown = cli("tasks", "show", "run", "t1", "--format", "json").json
    assert {item["status"] for item in shown["items"]} == {"done"}
    assert shown["line"] == f"{ITEMS} of {ITEMS} done"
    windows = json.loads((tmp_path / "run/results.jsonl").read_text("utf-8").splitlines()[-1])
    assert windows["status"] == "ok"
    verified = cli("replay", "--verify", "run")
    assert verified.code == 0, verified.out


def test_the_window_carries_a_compressed_view(cli: Cli, tmp_path: Path) -> None:
    write_plan(tmp_path, 25)
    done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", "--windows")
    assert done.code == 0, done.err
    lines = (tmp_path / "run/tasks/t1/windows.jsonl").read_text(encoding="utf-8").splitlines()
    tails = [json.loads(line)["messages"][-1]["content"] for line in lines]
    tail = next(text for text in tails if "8 of 25 done" in text)
    assert "- todo: 8 of 25 done, now 9: book <item-9>" in tail
    assert "then: 10 book <item-10>; 11" in tail
    assert "<item-20>" not in tail
    assert "- last brief: done: 8 book <item-8> (booked); 8 of 25 done, now 9" in tail
    text = cli("tasks", "show", "run").out
    assert "t1: ok" in text
    assert "[x] 25 book <item-25>: booked" in text
    assert "25 of 25 done" in cli("tasks", "ls", "run").out
