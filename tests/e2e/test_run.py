"""``contextctl run`` as a person uses it: files in, a folder and an exit code out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from contextctl.io.runs.records import read_record
from contextctl.model.record import MessageAdded, ResultArrived
from tests.servers.strict_openai import serving

PROFILE = """\
version: 1
name: desk
model: {name: scripted/replies.jsonl, window: 8192, reserve_output: 512}
prefix: [{id: core, text: "Answer briefly.", stability: static}]
"""


def put(folder: Path, *tasks: dict[str, Any], profile: str = PROFILE, replies: Any = ()) -> None:
    (folder / "profile.yaml").write_text(profile, "utf-8")
    for name, lines in (("tasks.jsonl", tasks), ("replies.jsonl", replies)):
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (folder / name).write_text(text, "utf-8")


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


DONE = {"content": "done", "repeat": True}
THREE = tuple({"id": f"t{n}", "input": f"question {n}"} for n in (1, 2, 3))


def test_it_ends_with_the_peak_and_the_next_command(cli, tmp_path):
    put(tmp_path, *THREE, replies=[DONE])
    done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run")
    assert done.code == 0
    assert done.err == ""
    lines = done.out.splitlines()
    assert lines[0] == "ok   tasks: 3 ok"
    assert any(line.startswith("peak     t1 step 1: ") for line in lines)
    assert lines[-1] == "next     contextctl explain run t1 --step 1"
    told = cli(*lines[-1].split()[2:])
    assert told.code == 0, told.err


def test_without_out_it_makes_a_folder_that_latest_means(cli, tmp_path):
    put(tmp_path, *THREE, replies=[DONE])
    assert cli("run", "profile.yaml", "tasks.jsonl").code == 0
    (folder,) = (tmp_path / ".contextctl/runs").iterdir()
    assert folder.name.endswith("-tasks")
    again = cli("run", "profile.yaml", "tasks.jsonl", "--resume", "--format", "json")
    assert (again.code, again.json["totals"]["skipped"]) == (0, 3)
    refused = cli("run", "profile.yaml", "tasks.jsonl", "--out", folder)
    assert refused.code == 2
    assert "--resume" in refused.err


def test_the_folder_holds_what_the_contract_says(cli, tmp_path):
    put(tmp_path, *THREE, replies=[DONE])
    more = ("--windows", "--set", "shaping.locale=zh")
    assert cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", *more).code == 0
    about = json.loads((tmp_path / "run/run.json").read_text("utf-8"))
    assert (about["status"], about["profile"]["name"]) == ("ok", "desk")
    assert about["profile"]["shaping"]["locale"] == "zh"
    assert about["profile_digest"].startswith("sha256:")
    assert about["arguments"]["set"] == ["shaping.locale=zh"]
    assert about["totals"]["counts"] == {"ok": 3}
    results = lines_of(tmp_path / "run/results.jsonl")
    assert {key for line in results for key in line} >= {
        "id", "status", "answer", "steps", "tokens", "cost_usd", "peak_ratio", "peak_zone",
        "actions",
    }  # fmt: skip
    for name in ("t1", "t2", "t3"):
        (ledger,) = lines_of(tmp_path / f"run/tasks/{name}/ledger.jsonl")
        (window,) = lines_of(tmp_path / f"run/tasks/{name}/windows.jsonl")
        assert sum(ledger["buckets"].values()) == ledger["total"]
        assert (window["task"], window["step"]) == (name, 1)
        assert [message["role"] for message in window["messages"]] == ["system", "user"]


def test_only_limit_and_standard_input(cli, tmp_path):
    put(tmp_path, *THREE, replies=[DONE])

    def ran(*more: str, stdin: str = "", tasks: str = "tasks.jsonl") -> list[str]:
        out = f"run{len(list(tmp_path.iterdir()))}"
        form = ("--out", out, "--format", "json")
        done = cli("run", "profile.yaml", tasks, *form, *more, stdin=stdin)
        assert done.code == 0, done.err
        return [result["id"] for result in done.json["results"]]

    assert ran("--only", "t3", "--only", "t1") == ["t1", "t3"]
    assert ran("--limit", "2") == ["t1", "t2"]
    assert ran(stdin='{"id": "a", "input": "x"}\n', tasks="-") == ["a"]
    done = cli("run", "profile.yaml", "tasks.jsonl", "--only", "t9")
    assert done.code == 2
    assert "no task 't9'" in done.err


def test_many_at_once_each_by_itself(cli, tmp_path):
    tasks = [{"id": f"t{n}", "input": f"q{n}"} for n in range(20)]
    broken = {"error": {"status": 400, "message": "no"}, "task": "t7"}
    slow = {"content": "done", "repeat": True, "delay_s": 0.1}
    put(tmp_path, *tasks, replies=[broken, slow])
    arguments = ("run", "profile.yaml", "tasks.jsonl", "--out", "run", "--concurrency", "8")
    done = cli(*arguments, "--format", "json")
    assert done.code == 1
    statuses = {line["id"]: line["status"] for line in lines_of(tmp_path / "run/results.jsonl")}
    assert statuses.pop("t7") == "failed"
    assert len(statuses) == 19
    assert set(statuses.values()) == {"ok"}


def test_fail_on_is_a_gate(cli, tmp_path):
    long = {"id": "t1", "input": "word " * 5000}
    put(tmp_path, long, replies=[DONE])
    codes = [
        cli("run", "profile.yaml", "tasks.jsonl", "--out", f"run{place}", *more).code
        for place, more in enumerate(
            [(), ("--fail-on", "warn"), ("--fail-on", "danger"), ("--dry-run", "--fail-on", "warn")]
        )
    ]
    assert codes == [0, 1, 0, 1]


def test_every_declared_key_is_acted_on_and_a_missing_engine_is_said(cli, tmp_path):
    put(tmp_path, {"id": "t1", "input": "x", "subject": "user:1"}, replies=[DONE])
    done = cli("run", "profile.yaml", "tasks.jsonl", "--set", "compaction.when.ratio=0.7")
    assert done.code == 0
    assert "not acted on" not in done.err
    assert cli("run", "profile.yaml", "tasks.jsonl", "--executor", "ray").code == 2


def test_no_secret_reaches_a_file(cli, tmp_path):
    secret = "swordfish-0123456789"
    code = "import os\ndef leak() -> str:\n    return os.environ['DESK']\n"
    (tmp_path / "leak.py").write_text(code)
    profile = PROFILE.replace("Answer briefly.", "I am ${DESK}.")
    profile = profile.replace("reserve_output: 512", "params: {user: '${DESK}'}")
    profile += 'tools: {leak: {python: "leak:leak"}}\n'
    calls = {"tool_calls": [{"name": "leak", "arguments": {}}]}
    put(tmp_path, {"id": "t1", "input": "x"}, profile=profile, replies=[calls, {"content": "done"}])
    done = cli(
        "run", "profile.yaml", "tasks.jsonl", "--out", "run", "--windows", env={"DESK": secret}
    )
    assert done.code == 0, done.err
    kept = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    holders = [path.name for path in kept if secret.encode() in path.read_bytes()]
    assert holders == []


class TestDryRun:
    def test_one_window_for_a_question_and_no_model(self, cli, tmp_path):
        put(tmp_path, *THREE)
        (tmp_path / "replies.jsonl").unlink()
        done = cli("run", "profile.yaml", "tasks.jsonl", "--dry-run", "--out", "run", "--windows")
        assert done.code == 0, done.err
        assert done.out.startswith("dry run: ok   tasks: 3 ok")
        assert len(lines_of(tmp_path / "run/tasks/t1/windows.jsonl")) == 1

    def test_a_recorded_conversation_is_walked_step_by_step_twice_alike(self, cli, tmp_path):
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        messages = [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "r"},
            {"role": "assistant", "content": "a"},
            {"role": "user", "content": "q2"},
        ]
        answered = {"id": "b", "messages": messages[:4]}
        put(tmp_path, {"id": "a", "messages": messages}, answered)
        for out in ("one", "two"):
            done = cli("run", "profile.yaml", "tasks.jsonl", "--dry-run", "--out", out, "--windows")
            assert done.code == 0, done.err
        windows = lines_of(tmp_path / "one/tasks/a/windows.jsonl")
        assert [(w["step"], len(w["messages"])) for w in windows] == [(1, 2), (2, 4), (3, 6)]
        assert len(lines_of(tmp_path / "one/tasks/b/windows.jsonl")) == 2
        for path in sorted((tmp_path / "one/tasks").rglob("*.jsonl")):
            twin = tmp_path / "two" / path.relative_to(tmp_path / "one")
            assert path.read_bytes() == twin.read_bytes()
        refused = cli("run", "profile.yaml", "tasks.jsonl", "--out", "three")
        assert refused.code == 2
        assert "tasks.jsonl:2" in refused.err
        assert cli("run", "profile.yaml", "tasks.jsonl", "--out", "one", "--resume").code == 2

    def test_it_opens_no_socket_and_imports_no_litellm(self, cli, tmp_path):
        profile = PROFILE.replace("scripted/replies.jsonl", "openai/gpt-4.1-mini")
        put(tmp_path, *THREE, profile=profile)
        (tmp_path / "sitecustomize.py").write_text(
            "import atexit, socket, sys\n"
            "def refuse(*_): raise RuntimeError('a socket was opened')\n"
            "socket.socket.connect = refuse\nsocket.getaddrinfo = refuse\n"
            "@atexit.register\n"
            "def told():\n"
            "    heavy = {'litellm', 'openai', 'rich', 'jmespath', 'mcp'} & set(sys.modules)\n"
            "    print('MODULES', sorted(heavy), file=sys.stderr)\n"
        )
        root = str(Path(__file__).resolve().parents[2])
        done = cli(
            "run", "profile.yaml", "tasks.jsonl", "--dry-run", "--out", "run",
            env={"PYTHONPATH": f"{tmp_path}:{root}"},
        )  # fmt: skip
        assert done.code == 0, done.err
        assert "MODULES []" in done.err


class TestOpenCalls:
    def test_cmp_05_a_call_without_a_result_is_closed_and_never_run(self, cli, tmp_path, shared):
        source = shared / "cases/inputs/CMP-05/messages.jsonl"
        messages = [json.loads(line) for line in source.read_text("utf-8").splitlines()]
        (tmp_path / "pay.py").write_text(
            "def charge(card: int) -> str:\n"
            "    open('side.log', 'a').write(f'{card}\\n')\n    return 'charged'\n"
        )
        profile = PROFILE + 'tools: {charge: {python: "pay:charge", side_effects: true}}\n'
        task = {"id": "t1", "messages": [*messages, {"role": "user", "content": "go on"}]}
        put(tmp_path, task, profile=profile, replies=[DONE])
        done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", "--windows")
        assert done.code == 0, done.err
        assert not (tmp_path / "side.log").exists()
        (window,) = lines_of(tmp_path / "run/tasks/t1/windows.jsonl")
        results = [message for message in window["messages"] if message["role"] == "tool"]
        answers = {message["tool_call_id"]: message["content"] for message in results}
        assert answers["d1"] == "charged 1"
        assert "no result was recorded" in answers["d2"]
        record, _ = read_record(tmp_path / "run/tasks/t1/record.jsonl")
        assert "d2" not in [e.call_id for e in record if isinstance(e, ResultArrived)]
        assert isinstance(record[-1], MessageAdded)


def test_a_fallback_with_a_smaller_window_is_assembled_for_and_verified(cli, tmp_path):
    profile = PROFILE.replace(
        "reserve_output: 512",
        "reserve_output: 512, retries: 0, fallbacks: [{name: scripted/two.jsonl, window: 2048}]",
    )
    down = {"error": {"status": 503, "message": "down"}, "repeat": True}
    talk = [
        {"role": role, "content": f"{role} {n} " + "word " * 150}
        for n in range(8)
        for role in ("user", "assistant")
    ]
    messages = [*talk, {"role": "user", "content": "and now?"}]
    put(tmp_path, {"id": "t1", "messages": messages}, profile=profile, replies=[down])
    (tmp_path / "two.jsonl").write_text(json.dumps(DONE) + "\n")
    done = cli("run", "profile.yaml", "tasks.jsonl", "--out", "run", "--windows")
    assert done.code == 0, done.err
    assert "the next model is asked" in done.err
    ledger = lines_of(tmp_path / "run/tasks/t1/ledger.jsonl")
    assert [(line["window"], line["status"]) for line in ledger] == [(8192, "error"), (2048, "ok")]
    assert ledger[1]["total"] <= 2048 - 512 < ledger[0]["total"]
    verified = cli("replay", "--verify", "run")
    assert verified.code == 0, verified.out


@pytest.mark.slow
def test_max_cost_stops_a_run_cleanly_and_resume_goes_on(cli, tmp_path):
    """Over HTTP, because only a real model has a price: $0.0004 for each answer."""
    usage = {"prompt_tokens": 1000, "completion_tokens": 0, "total_tokens": 1000}
    answer = {"message": {"content": "done"}, "usage": usage, "repeat": True}
    with serving([answer]) as server:
        name = f"{{name: openai/gpt-4.1-mini, api_base: '{server.url}', reserve_output: 512}}"
        put(tmp_path, *THREE, profile=f"version: 1\nmodel: {name}\n")
        arguments = ("run", "profile.yaml", "tasks.jsonl", "--out", "run", "--format", "json")
        done = cli(*arguments, "--max-cost", "0.0007")
        assert done.code == 1, done.err
        assert (done.json["status"], done.json["totals"]["not_run"]) == ("cost", 1)
        assert done.json["totals"]["cost_usd"] == pytest.approx(0.0008)
        done = cli(*arguments, "--resume")
    assert (done.code, done.json["totals"]["skipped"]) == (0, 2)
    assert len(server.requests) == 3


def test_max_cost_without_a_known_price_is_refused(cli, tmp_path):
    put(tmp_path, *THREE, replies=[DONE])
    done = cli("run", "profile.yaml", "tasks.jsonl", "--max-cost", "1")
    assert done.code == 2
    assert "no price is known" in done.err
    assert not (tmp_path / ".contextctl").exists()


def test_what_cannot_be_begun_leaves_nothing_behind(cli, tmp_path):
    put(tmp_path, {"id": "t1", "input": "x", "tools": ["nowhere"]}, replies=[DONE])
    done = cli("run", "profile.yaml", "tasks.jsonl")
    assert done.code == 2
    assert "tasks.jsonl:1: 'tools': the profile has no tool 'nowhere'" in done.err
    put(tmp_path, *THREE, profile=PROFILE + 'tools: {f: {python: "no_module:f"}}\n')
    done = cli("run", "profile.yaml", "tasks.jsonl")
    assert done.code == 4
    assert "profile.yaml:5" in done.err
    (tmp_path / "replies.jsonl").unlink()
    done = cli("run", "profile.yaml", "tasks.jsonl", "--set", "tools=null")
    assert done.code == 2
    assert not (tmp_path / ".contextctl").exists()
