"""Compaction in runs and replays: by a model, cut off, killed, and over real sessions."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from contextctl.core.measure.validity import window_problems
from tests.servers.local_model import local_model, missing_packages
from tests.servers.strict_openai import serving

TURNS = 9
NOTES = {
    "done": ["1: looked up the first orders"],
    "findings": ["order SO-77 is paid [step 1]"],
    "open_questions": ["is SO-78 paid?"],
    "negatives": ["the user wants no courier"],
    "entities": {"order": "SO-77"},
}
SHOP = """\
def look(id: str) -> str:
    return f"order {id} is paid; parcel 1Z99{id[3:]} " + "and more about it " * 40
"""
MODEL = {"kind": "model", "model": "openai/notes", "window": 4000, "chunk_tokens": 2000}
TASK = {"id": "t", "input": "look at all", "pins": {"a": "000417"}}
REF = re.compile(r"\bs[0-9a-f]{3}-[a-z]{10}\b|\bc[0-9a-f]{10}\b")


def turns() -> list[tuple[str, dict[str, Any]]]:
    """Nine look-ups, then an answer: what each is decided by, and what is said, last turn first."""
    out: list[tuple[str, dict[str, Any]]] = [(f'"tool_call_id": "k{TURNS - 1}"', {})]
    for turn in range(TURNS - 1, -1, -1):
        when = f'"tool_call_id": "k{turn - 1}"' if turn else ""
        out.append((when, {"id": f"k{turn}", "arguments": {"id": f"SO-{70 + turn}"}}))
    return out


def served() -> list[dict[str, Any]]:
    """The turns as lines of a server's script."""
    lines = []
    for when, call in turns():
        message: dict[str, Any] = {"content": "all paid"}
        if call:
            function = {"name": "look", "arguments": json.dumps(call["arguments"])}
            message = {"tool_calls": [{"id": call["id"], "type": "function", "function": function}]}
        lines.append({"message": message, "when": when, "repeat": True})
    return lines


def scripted() -> list[dict[str, Any]]:
    """The turns as lines of a scripted model."""
    lines = []
    for when, call in turns():
        said = {"tool_calls": [{**call, "name": "look"}]} if call else {"content": "all paid"}
        lines.append({**said, **({"when": when} if when else {})})
    return lines


def profile(model: str, **compaction: Any) -> str:
    rules = {"when": {"every_steps": 3}, "protect_steps": 1, **compaction}
    return json.dumps(
        {
            "version": 1,
            "name": "desk",
            "model": {"name": model, "window": 16000, "reserve_output": 500, "retries": 0},
            "tokenizer": "approx",  # a ref costs the same whatever its letters are
            "tools": {"look": {"python": "shop:look"}},
            "compaction": rules,
            "plan": {"enabled": False},
        }
    )


def put(folder: Path, text: str, task: dict[str, Any]) -> None:
    (folder / "profile.yaml").write_text(text, "utf-8")
    (folder / "shop.py").write_text(SHOP, "utf-8")
    (folder / "tasks.jsonl").write_text(json.dumps(task, ensure_ascii=False) + "\n", "utf-8")


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def audited(cli: Any, run: str = "run") -> list[dict[str, Any]]:
    shown = cli("audit", "ls", run, "--format", "json")
    assert shown.code == 0, shown.err
    return sorted(shown.json["compactions"], key=lambda row: int(row["step"]))


@pytest.fixture
def desk(tmp_path: Path) -> Any:
    """A desk whose agent and summariser are one server with two models."""
    with serving(
        [
            {"message": {"content": json.dumps(NOTES)}, "when": "working notes", "repeat": True},
            *served(),
        ]
    ) as server:
        text = json.loads(profile("openai/stub", summarizer=MODEL))
        text["model"] |= {"api_base": server.url}
        put(tmp_path, json.dumps(text), TASK)
        yield server


KEY = {"OPENAI_API_KEY": "none"}


def test_a_model_s_summary_stands_in_the_window_and_its_cost_in_the_ledger(cli, tmp_path, desk):
    done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", "--windows", env=KEY)
    assert done.code == 0, done.err
    assert [r["problems"] for r in desk.requests] == [[]] * len(desk.requests)
    windows = lines_of(tmp_path / "run/tasks/t/windows.jsonl")
    last = [str(message.get("content")) for message in windows[-1]["messages"]]
    shown = [text for text in last if text.startswith("[summary c")]
    assert shown
    assert "- order SO-77 is paid [step 1]" in shown[0]
    assert "- the user wants no courier" in shown[0]
    rows = [row for row in audited(cli) if row["outcome"] == "committed"]
    assert rows
    assert {row["by"] for row in rows} == {"model"}
    assert all(row["usage"]["requests"] >= 1 for row in rows)
    ledger = {line["step"]: line for line in lines_of(tmp_path / "run/tasks/t/ledger.jsonl")}
    for row in rows:
        assert ledger[row["step"]]["measured"]["summary"] == row["usage"]
    (result,) = lines_of(tmp_path / "run/results.jsonl")
    assert result["tokens"]["summary_input"] == sum(row["usage"]["prompt_tokens"] for row in rows)
    verified = cli("replay", "--verify", "run")
    assert verified.code == 0, verified.out


def test_what_the_summariser_reads_is_whole_messages_in_chunks(cli, tmp_path, desk):
    text = json.loads((tmp_path / "profile.yaml").read_text())
    text["compaction"]["summarizer"] |= {"chunk_tokens": 600, "window": 2600}
    (tmp_path / "profile.yaml").write_text(json.dumps(text))
    assert cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", env=KEY).code == 0
    asked = [r["body"] for r in desk.requests if r["body"]["model"] == "notes"]
    assert len(asked) > 2
    assert any("part 2 of" in body["messages"][1]["content"] for body in asked)
    assert any("Merge them into one" in body["messages"][1]["content"] for body in asked)
    for body in asked:
        assert len(json.dumps(body["messages"])) / 3 + body["max_tokens"] < 2600


@pytest.mark.parametrize(
    "answer",
    ["", "no JSON", '{"done": []}', '{"done": 1}', json.dumps({**NOTES, "mood": "good"}), None],
)
def test_an_answer_that_is_no_summary_is_never_committed(cli, tmp_path, answer):
    broken: dict[str, Any] = {"message": {"content": answer}}
    if answer is None:
        broken = {"status": 500, "error": {"message": "down"}}
    with serving([{**broken, "when": "working notes", "repeat": True}, *served()]) as server:
        text = json.loads(profile("openai/stub", summarizer=MODEL))
        text["model"] |= {"api_base": server.url}
        put(tmp_path, json.dumps(text), TASK)
        done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", env=KEY)
        assert done.code == 0, done.err
    rows = [row for row in audited(cli) if row["outcome"] == "committed"]
    assert rows
    assert {row["by"] for row in rows} == {"mechanical"}
    assert all(row["fallback"] for row in rows)
    assert cli("replay", "--verify", "run").code == 0


def test_a_run_cut_off_right_after_a_summary_goes_on_with_the_same_windows(cli, tmp_path, desk):
    assert cli("run", "profile.yaml", "tasks.jsonl", "--out", "a", "--windows", env=KEY).code == 0
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    record = tmp_path / "b/tasks/t/record.jsonl"
    lines = record.read_text("utf-8").splitlines()
    places = [at for at, line in enumerate(lines) if json.loads(line)["kind"] == "summary"]
    assert places
    record.write_text("".join(line + "\n" for line in lines[: places[0] + 1]), "utf-8")
    (tmp_path / "b/results.jsonl").unlink()
    before = len(desk.requests)
    again = cli(
        "run", "profile.yaml", "tasks.jsonl", "--out", "b", "--windows", "--resume", env=KEY
    )
    assert again.code == 0, again.err
    asked = [r["body"]["model"] for r in desk.requests[before:]]
    assert asked[0] == "stub"  # the summary that is there is not asked for again
    for name in ("windows.jsonl", "record.jsonl"):
        assert without_ids(tmp_path / "b/tasks/t" / name) == without_ids(
            tmp_path / "a/tasks/t" / name
        )


# -- snapshots ---------------------------------------------------------------------------------


def asked_for_notes(desk: Any) -> int:
    return sum(request["body"]["model"] == "notes" for request in desk.requests)


def test_the_next_run_replays_the_summaries_of_the_last_one(cli, tmp_path, desk):
    arguments = ["run", "profile.yaml", "tasks.jsonl", "--windows", "--out"]
    assert cli(*arguments, "a", env=KEY).code == 0
    first = asked_for_notes(desk)
    assert first
    assert cli(*arguments, "b", env=KEY).code == 0
    assert asked_for_notes(desk) == first  # nothing was asked again
    for name in ("windows.jsonl", "record.jsonl"):
        one, other = (tmp_path / run / "tasks/t" / name for run in "ab")
        assert without_ids(one) == without_ids(other)
    rows = [row for row in audited(cli, "b") if row["outcome"] == "committed"]
    assert {row["by"] for row in rows} == {"model"}
    assert all(row["usage"]["replayed"] and row["usage"]["requests"] == 0 for row in rows)
    (result,) = lines_of(tmp_path / "b/results.jsonl")
    assert result["tokens"].get("summary_input", 0) == 0
    assert cli("replay", "--verify", "b").code == 0
    assert cli("audit", "verify", "b").code == 0


def test_snapshots_may_be_deleted_broken_or_of_another_profile(cli, tmp_path, desk):
    arguments = ["run", "profile.yaml", "tasks.jsonl", "--windows", "--out"]
    assert cli(*arguments, "a", env=KEY).code == 0
    first = asked_for_notes(desk)
    kept = sorted((tmp_path / ".contextctl/snapshots").glob("*/*.json"))
    assert kept
    for path in kept:
        path.write_text('{"summary": {"done": []}}', "utf-8")
    assert cli(*arguments, "b", env=KEY).code == 0
    assert asked_for_notes(desk) == 2 * first
    shutil.rmtree(tmp_path / ".contextctl/snapshots")
    assert cli(*arguments, "c", env=KEY).code == 0
    assert asked_for_notes(desk) == 3 * first
    assert cli(*arguments, "d", "--set", "shaping.max_tokens=2400", env=KEY).code == 0
    assert asked_for_notes(desk) == 4 * first
    windows = [without_ids(tmp_path / run / "tasks/t/windows.jsonl") for run in "abcd"]
    assert windows[1:] == windows[:1] * 3


def test_an_answer_that_was_paid_for_outlives_a_crash_before_its_fact(cli, tmp_path, desk):
    arguments = ["run", "profile.yaml", "tasks.jsonl", "--windows", "--out"]
    assert cli(*arguments, "a", env=KEY).code == 0
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    record = tmp_path / "b/tasks/t/record.jsonl"
    lines = record.read_text("utf-8").splitlines()
    place = next(at for at, line in enumerate(lines) if json.loads(line)["kind"] == "summary")
    record.write_text("".join(line + "\n" for line in lines[:place]), "utf-8")
    (tmp_path / "b/results.jsonl").unlink()
    before = asked_for_notes(desk)
    assert cli(*arguments, "b", "--resume", env=KEY).code == 0
    assert asked_for_notes(desk) == before
    own, whole = (tmp_path / run / "tasks/t/windows.jsonl" for run in "ba")
    assert without_ids(own) == without_ids(whole)


def without_ids(path: Path) -> list[Any]:
    """The lines of a file without what every run has of its own: refs, session, time, digests."""
    out = []
    for line in lines_of(path):
        if line.get("kind") in ("opened", "environment", "usage"):
            continue
        line.pop("digest", None)
        line.pop("need", None)
        line.pop("usage", None)
        out.append(REF.sub("REF", json.dumps(line, ensure_ascii=False)))
    return out


def test_a_model_pins_a_value_and_it_outlives_the_compaction(cli, tmp_path):
    pin = {"key": "confirmed_slots.order_id", "value": "SO-000417"}
    text = json.loads(profile("scripted/replies.jsonl"))
    text["plan"] = {"enabled": True}
    put(tmp_path, json.dumps(text), TASK)
    calls = [{"id": "p1", "name": "pin", "arguments": pin}]
    calls += [{**call, "name": "look"} for _, call in reversed(turns()) if call]
    lines = [{"tool_calls": [call]} for call in calls] + [{"content": "all paid"}]
    (tmp_path / "replies.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", "--windows")
    assert done.code == 0, done.err
    windows = lines_of(tmp_path / "run/tasks/t/windows.jsonl")
    for line in windows[1:]:
        told = "\n".join(str(message.get("content")) for message in line["messages"])
        assert told.count("- confirmed_slots.order_id: SO-000417") == 1
    last = [str(message.get("content")) for message in windows[-1]["messages"]]
    assert any(content.startswith("[summary c") for content in last)
    block = next(content for content in last if content.startswith("[pinned]"))
    assert "- confirmed_slots.order_id: SO-000417" in block
    assert all("confirmed_slots.order_id" in row["pinned_keys"] for row in audited(cli))


# -- killed ------------------------------------------------------------------------------------

KILLS = int(os.environ.get("CONTEXTCTL_KILLS", "6"))


def has_ended(run: Path) -> bool:
    results = run / "results.jsonl"
    return results.exists() and results.stat().st_size > 0


@pytest.mark.slow
def test_killed_at_any_moment_two_runs_end_with_the_windows_of_an_unbroken_one(cli, tmp_path):
    """Two processes share a workspace; each is killed again and again while it compacts."""
    slow = SHOP.replace("    return", "    import time; time.sleep(0.03)\n    return")
    text = json.loads(profile("scripted/replies.jsonl"))
    text["workspace"] = {"path": "shared-workspace"}
    put(tmp_path, json.dumps(text), TASK)
    (tmp_path / "shop.py").write_text(slow)
    text_of = (json.dumps(line) + "\n" for line in scripted())
    (tmp_path / "replies.jsonl").write_text("".join(text_of))
    arguments = ["run", "profile.yaml", "tasks.jsonl", "--windows", "--out"]
    whole = cli(*arguments, "whole")
    assert whole.code == 0, whole.err
    env = cli._environment({"PYTHONPATH": str(Path(__file__).resolve().parents[2])})
    chance, killed = random.Random(11), 0
    while killed < KILLS:
        running = []
        for out in ("one", "two"):
            if has_ended(tmp_path / out):
                shutil.rmtree(tmp_path / out)
            record = tmp_path / out / "tasks/t/record.jsonl"
            more = ["--resume"] if (tmp_path / out / "run.json").exists() else []
            size = record.stat().st_size if record.exists() else 0
            process = subprocess.Popen(
                [sys.executable, "-m", "contextctl", *arguments, out, *more],
                cwd=tmp_path, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            running.append((process, record, size))
        for process, record, size in running:
            until = time.monotonic() + 8
            while time.monotonic() < until and process.poll() is None:
                if record.exists() and record.stat().st_size > size:
                    break
                time.sleep(0.005)
            time.sleep(chance.uniform(0.0, 0.12))
            if process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)
                killed += 1
            process.wait()
    for out in ("one", "two"):
        if not has_ended(tmp_path / out):
            done = cli(*arguments, out, "--resume")
            assert done.code == 0, done.err
        own, unbroken = (tmp_path / name / "tasks/t/windows.jsonl" for name in (out, "whole"))
        assert without_ids(own) == without_ids(unbroken)
        assert cli("replay", "--verify", out).code == 0
        assert [row["outcome"] for row in audited(cli, out)] == [
            row["outcome"] for row in audited(cli, "whole")
        ]
        assert cli("audit", "verify", out).code == 0


# -- real traces -------------------------------------------------------------------------------

REPLAYS = [
    ("pi_large-session.jsonl", 65_536, 40),
    ("pi_compact.malformed-last-line.jsonl", 65_536, 40),
]


@pytest.mark.parametrize(("name", "window", "every"), REPLAYS)
def test_a_long_session_compacted_on_the_way_stays_valid_and_repeats(
    cli, tmp_path, shared, root, name, window, every
):
    trace = shared / "data/01_trajectories/original" / name
    arguments = ["replay", root / "profiles/coding.yaml", trace, "--windows"]
    for key, value in (("model.window", window), ("compaction.when.every_steps", every)):
        arguments += ["--set", f"{key}={value}"]
    for out in ("a", "b"):
        done = cli(*arguments, "--out", out, timeout=600)
        assert done.code == 0, done.err
    (one,) = (tmp_path / "a/tasks").iterdir()
    other = tmp_path / "b/tasks" / one.name
    for file in ("ledger.jsonl", "windows.jsonl"):
        assert (one / file).read_bytes() == (other / file).read_bytes()
    ledger = lines_of(one / "ledger.jsonl")
    assert all(line["total"] <= line["usable"] for line in ledger)
    assert any(a["kind"] == "compact" for a in ledger[-1]["actions"])
    for line in lines_of(one / "windows.jsonl"):
        assert window_problems(line["messages"], []) == ()
    assert cli("audit", "verify", "a").code == 0


# -- a real small model ------------------------------------------------------------------------


@pytest.mark.local_model
@pytest.mark.skipif(bool(missing_packages()), reason="the local model is not installed")
def test_a_real_small_model_writes_valid_summaries_and_never_overflows(cli, tmp_path):
    with local_model(window=2048) as url:
        rules = {"kind": "model", "model": "local/smollm2", "window": 2048, "max_tokens": 160}
        text = json.loads(profile("scripted/replies.jsonl", summarizer=rules))
        text["compaction"]["summarizer"] |= {"chunk_tokens": 900, "api_base": url}
        put(tmp_path, json.dumps(text), TASK)
        script = [
            {"tool_calls": [{"id": f"k{n}", "name": "look", "arguments": {"id": f"SO-{70 + n}"}}]}
            for n in range(5)
        ]
        lines = [*script, {"content": "all paid", "repeat": True}]
        (tmp_path / "replies.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
        done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", timeout=600)
        assert done.code == 0, done.err
    rows = audited(cli)
    assert rows
    for row in rows:
        assert "overflow" not in row["fallback"]
        assert row["usage"]["completion_tokens"] > 0
