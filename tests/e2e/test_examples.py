"""The examples do what their READMEs say, through the command."""

from __future__ import annotations

import itertools
import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Cli


@pytest.fixture
def desk(root: Path, tmp_path: Path) -> Path:
    """A copy of the order desk, so that nothing is written into the project."""
    return shutil.copytree(root / "examples" / "order-desk", tmp_path / "desk")


def json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_order_desk_answers_all_questions(cli: Cli, desk: Path, tmp_path: Path) -> None:
    assert cli("validate", desk / "profile.yaml").code == 0
    out = tmp_path / "run"
    ran = cli("run", desk / "profile.yaml", desk / "tasks.jsonl", "--out", out, "--windows")
    assert ran.code == 0, ran.err
    results = {str(line["id"]): line for line in json_lines(out / "results.jsonl")}
    assert {name: line["status"] for name, line in results.items()} == {
        "how-many": "ok",
        "which-city": "ok",
        "why-late": "ok",
    }
    assert results["how-many"]["steps"] == 3
    assert results["which-city"]["answer"] == "Leipzig，邮编 11302。"

    listed = json_lines(out / "tasks" / "how-many" / "windows.jsonl")[1]
    shown = json.loads(listed["messages"][-1]["content"])
    assert shown["returned"] == 20
    assert shown["total"] == 57
    assert shown["omitted"] == 37
    assert "count_orders" in shown["hint"]
    assert set(shown["items"][0]) <= {"id", "status", "total", "customer", "items"}


def test_the_middle_of_a_log_is_left_out_and_read_back(
    cli: Cli, desk: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    cli("run", desk / "profile.yaml", desk / "tasks.jsonl", "--out", out, "--windows")
    windows = json_lines(out / "tasks" / "why-late" / "windows.jsonl")
    assert "DL-7714" not in json.dumps(windows[1]["messages"])
    assert "DL-7714" in json.dumps(windows[2]["messages"])


def test_the_coding_example_holds_a_trace_that_overflows_as_recorded(
    cli: Cli, root: Path, tmp_path: Path
) -> None:
    trace = root / "contextctl" / "demo" / "trace.jsonl"
    profile = root / "examples" / "coding" / "profile.yaml"
    held = cli("replay", profile, trace, "--out", tmp_path / "held")
    assert held.code == 0, held.err
    ledgers = json_lines(tmp_path / "held" / "tasks" / "inv-20931" / "ledger.jsonl")
    assert [line["step"] for line in ledgers] == list(range(1, 32))
    assert all(line["status"] == "ok" for line in ledgers)
    assert all(line["total"] <= 14_336 for line in ledgers)
    assert sum(ledgers[-1]["raw_buckets"].values()) > 25_000


def test_the_ticket_desk_changes_its_tail_and_keeps_its_prefix(
    cli: Cli, root: Path, tmp_path: Path
) -> None:
    desk = shutil.copytree(root / "examples" / "ticket-desk", tmp_path / "tickets")
    assert cli("validate", desk / "profile.yaml").code == 0
    out = tmp_path / "run"
    ran = cli("run", desk / "profile.yaml", desk / "tasks.jsonl", "--out", out, "--windows")
    assert ran.code == 0, ran.err
    told = cli("tasks", "steps", out)
    rows = [line.split() for line in told.out.splitlines()[1:]]
    assert len(rows) == 38
    breaks = {int(row[0]): row[-1] for row in rows if row[6] != "-"}
    assert breaks == {2: "-", 8: "compact", 14: "compact", 23: "compact", 32: "compact"}

    steps = cli("tasks", "steps", out, "--format", "json").json["steps"]
    digests = {tuple(layer["digest"] for layer in step["prefix"]["layers"]) for step in steps}
    assert len(digests) == 1
    for before, now in itertools.pairwise(steps):
        if now["prefix"]["broke_at"] is None:
            tail = before["parts"].get("query.reminders", 0)
            assert now["prefix"]["reused_tokens"] == before["total"] - tail

    tails = [
        line["messages"][-1]["content"] for line in json_lines(out / "tasks/desk/windows.jsonl")
    ]
    assert all(a != b for a, b in itertools.pairwise(tails))
    for number in range(1, 13):  # each notice is told once, in the step after it came
        said = [tail for tail in tails if f"Ticket {number} has waited" in tail]
        assert len(said) == 1
    assert sum("- Answer" in tail for tail in tails) == 36  # from the first ticket on, one tone
    assert all(tail.count("- Answer") <= 1 for tail in tails)
    assert cli("replay", "--verify", out).code == 0
