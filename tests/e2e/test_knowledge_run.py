"""A task with documents: only a delegate reads them, and the main window gets answer and places."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

PROFILE = """version: 1
model: {name: scripted/replies.jsonl, window: 32768, reserve_output: 1024, retries: 0}
disclosure:
  knowledge:
    kb: {path: kb/, description: Rules of the bank}
remedies: {isolate: %s}
"""
CHILD = "t1/sub/1"


@pytest.fixture
def bank(shared: Path, tmp_path: Path) -> list[str]:
    """Twenty documents of the bank; ten of them are granted. Their names, in order."""
    (tmp_path / "kb" / "open").mkdir(parents=True)
    (tmp_path / "kb" / "closed").mkdir()
    source = shared / "data/04_long_docs/tau2_banking_knowledge_documents.jsonl"
    lines = source.read_text("utf-8").splitlines()[:20]
    names = []
    for place, line in enumerate(lines):
        one = json.loads(line)
        name = f"{'open' if place < 10 else 'closed'}/{place:02}.md"
        text = f"# {one['title']}\n\n{one['content']}\n"
        (tmp_path / "kb" / name).write_text(text, "utf-8")
        names.append(f"kb/{name}")
    (tmp_path / "profile.yaml").write_text(PROFILE % "true", "utf-8")
    return names


def write(folder: Path, name: str, *lines: dict[str, Any]) -> None:
    (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def call(own_id: str, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"id": own_id, "name": tool, "arguments": arguments}]}


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def ask(folder: Path, names: list[str], answer: str) -> None:
    """A question, ten documents read by the delegate, and its answer."""
    reads = [call(f"r{n}", "read_section", doc=name, section="1") for n, name in enumerate(names)]
    write(
        folder,
        "replies.jsonl",
        {"task": "t1", **call("k1", "ask_knowledge", task="What does it take to open one?")},
        {"task": CHILD, **call("s1", "search_docs", query="open a personal checking account")},
        *({"task": CHILD, **line} for line in reads),
        {"task": CHILD, "content": answer},
        {"task": "t1", "content": "Verified and 18."},
    )
    task = {"id": "t1", "input": "What do I need?", "constraints": ["personal accounts only"]}
    write(folder, "tasks.jsonl", {**task, "documents": ["kb/open", "kb/none.md"]})


def given_back(window: dict[str, Any]) -> dict[str, Any]:
    """What a window holds of the delegate."""
    results = [m for m in window["messages"] if m["role"] == "tool"]
    assert len(results) == 1
    value: dict[str, Any] = json.loads(results[0]["content"])
    return value


def run(cli, *more: str) -> str:
    done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", "--windows", *more)
    assert done.code == 0, done.err + done.out
    return str(done.out)


def test_ten_documents_are_read_and_the_main_window_gets_the_answer(cli, bank, tmp_path):
    cited = f"{bank[0]}#1.1:L3-8"
    answer = {"status": "ok", "summary": f"Verified and 18 [{cited}].", "confidence": "high"}
    ask(tmp_path, bank[:10], json.dumps(answer))
    out = run(cli)
    assert "isolated 1 delegated, 12 steps" in out
    first, last = lines_of(tmp_path / "run/tasks/t1/windows.jsonl")
    assert first["tools"][0]["function"]["name"] == "ask_knowledge"
    assert "search_docs" not in json.dumps(first["tools"])
    assert "Rules of the bank" in first["tools"][0]["function"]["description"]
    back = given_back(last)
    assert back["status"] == "ok"
    assert (back["sources_attempted"], back["sources_succeeded"]) == (10, 10)
    title = "Internal: Opening Personal Checking Accounts › Eligibility Requirements"
    assert back["citations"] == [{"at": cited, "title": title}]
    assert "The customer does not exceed" not in json.dumps(last)  # none of the navigation
    record = lines_of(tmp_path / "run/tasks/t1/record.jsonl")
    pins = {line["key"]: line["value"] for line in record if line["kind"] == "pin"}
    assert pins == {"citations.k1": cited}
    child = lines_of(tmp_path / "run/tasks/t1/sub/1/windows.jsonl")
    assert "The customer does not exceed" in json.dumps(child[-1])
    brief = child[0]["messages"][-1]["content"]
    assert "personal accounts only" in brief
    assert f"- {bank[9]} |" in brief
    assert bank[10] not in brief  # not granted
    assert "kb/none.md: no document of this bank" in brief
    result = json.loads((tmp_path / "run/results.jsonl").read_text("utf-8"))
    assert result["actions"] == {"isolate": 1}
    assert result["isolated"]["steps"] == 12
    assert result["isolated"]["peak_without"] > 5 * result["isolated"]["peak"]
    cited_lines = (tmp_path / bank[0]).read_text("utf-8").split("\n")[2:8]
    assert "at least 18 years old" in "\n".join(cited_lines)


def test_what_was_not_granted_cannot_be_read(cli, bank, tmp_path):
    ask(tmp_path, bank[10:12], "Nothing was found.")
    run(cli)
    record = lines_of(tmp_path / "run/tasks/t1/sub/1/record.jsonl")
    results = [line for line in record if line["kind"] == "result"]
    for line in results[1:]:
        assert json.loads(line["content"])["error"] == "unknown_document"
        assert line["extra"]["failure"] == "discovery.grant"
    assert not any(bank[10] in line["content"] for line in results[:1])
    main = lines_of(tmp_path / "run/tasks/t1/record.jsonl")
    grants = [line["body"] for line in main if line.get("topic") == "discovery_failure"]
    assert [grant["failure"] for grant in grants] == ["discovery.grant"]
    assert "kb/none.md" in grants[0]["reason"]
    back = json.loads(next(line for line in main if line["kind"] == "result")["content"])
    assert (back["status"], back["confidence"]) == ("partial", "low")
    assert back["reason"] == "the answer cites no document"


def test_places_that_do_not_exist_are_named(cli, bank, tmp_path):
    ask(tmp_path, bank[:2], f"So it is [{bank[0]}#1.1:L3-8], and [{bank[1]}#7.7:L1-2].")
    run(cli)
    last = lines_of(tmp_path / "run/tasks/t1/windows.jsonl")[-1]
    back = given_back(last)
    assert [one["at"] for one in back["citations"]] == [f"{bank[0]}#1.1:L3-8"]
    assert back["unresolved"] == [f"{bank[1]}#7.7:L1-2"]
    assert back["confidence"] == "medium"


def test_without_documents_there_is_no_knowledge_capability(cli, bank, tmp_path):
    write(tmp_path, "replies.jsonl", {"content": "hello"})
    write(tmp_path, "tasks.jsonl", {"id": "t1", "input": "Hi"})
    run(cli)
    window = lines_of(tmp_path / "run/tasks/t1/windows.jsonl")[0]
    assert "knowledge" not in json.dumps(window)


def test_with_isolation_off_the_main_window_reads_for_itself(cli, bank, tmp_path):
    (tmp_path / "profile.yaml").write_text(PROFILE % "false", "utf-8")
    write(
        tmp_path,
        "replies.jsonl",
        call("r1", "read_section", doc=bank[0], section="1.1"),
        {"content": "Verified and 18."},
    )
    write(tmp_path, "tasks.jsonl", {"id": "t1", "input": "What?", "documents": ["kb/open"]})
    run(cli)
    last = lines_of(tmp_path / "run/tasks/t1/windows.jsonl")[-1]
    names = [tool["function"]["name"] for tool in last["tools"]]
    assert {"read_doc", "read_section", "search_docs"} <= set(names)
    assert "ask_knowledge" not in names
    assert "at least 18 years old" in last["messages"][-1]["content"]


def test_a_dry_run_offers_the_same_and_reads_nothing(cli, bank, tmp_path):
    ask(tmp_path, bank[:1], "x")
    run(cli)
    wet = lines_of(tmp_path / "run/tasks/t1/windows.jsonl")[0]
    done = cli("run", "profile.yaml", "tasks.jsonl", "--dry-run", "--out", "dry", "--windows")
    assert done.code == 0, done.err
    assert lines_of(tmp_path / "dry/tasks/t1/windows.jsonl")[0] == wet
    assert not (tmp_path / "dry/tasks/t1/sub").exists()


def test_the_run_is_verified_with_its_subagents(cli, bank, tmp_path):
    ask(tmp_path, bank[:3], f"So it is [{bank[0]}#1.1:L3-8].")
    run(cli)
    assert cli("replay", "--verify", "run").code == 0
    record = tmp_path / "run/tasks/t1/sub/1/record.jsonl"
    record.write_text(record.read_text("utf-8").replace("18 years", "81 years"), "utf-8")
    done = cli("replay", "--verify", "run")
    assert done.code == 1
    assert "t1/sub/1" in done.out
    shown = cli("explain", "run", "t1")
    assert "isolate" in shown.out
    assert cli("show", "run", CHILD, "--step", "1").code == 0


def test_a_document_that_cannot_be_had_is_told_to_whoever_starts_the_run(cli, tmp_path):
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb/fees.md").write_text("# Fees\n\nFive.\n", encoding="utf-8")
    (tmp_path / "profile.yaml").write_text(PROFILE % "true", "utf-8")
    write(tmp_path, "replies.jsonl", {"content": "done", "repeat": True})
    write(
        tmp_path,
        "tasks.jsonl",
        {"id": "some", "input": "x", "documents": ["kb/fees", "gone.md"]},
        {"id": "none", "input": "x", "documents": ["kb/gone"]},
        {"id": "fine", "input": "x", "documents": ["kb"]},
    )
    done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run")
    assert done.code == 0
    told = [line for line in done.err.splitlines() if line.startswith("warning: ")]
    assert len(told) == 3
    assert told[0].startswith("warning: task 'some': a document cannot be had: gone.md")
    assert told[1].startswith("warning: task 'none': a document cannot be had: kb/gone")
    assert "'ask_knowledge' is not offered" in told[2]
