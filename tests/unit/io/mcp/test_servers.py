"""Real servers, good ones and bad ones, over stdio and over HTTP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from contextctl.errors import ToolError
from contextctl.io.mcp.servers import McpServers, open_servers
from contextctl.io.tools.toolbox import Toolbox, open_tools, own_names
from contextctl.model.profile import Profile, profile_from_mapping

pytest.importorskip("mcp", reason="the package 'mcp' is not installed")

SERVERS = Path(__file__).resolve().parents[3] / "servers"


def hostile(mode: str, *more: object, **keys: Any) -> dict[str, Any]:
    words = [sys.executable, str(SERVERS / "hostile_mcp.py"), mode, *map(str, more)]
    return {"command": words, "timeout_s": 20, **keys}


def polite(*more: object, **keys: Any) -> dict[str, Any]:
    words = [sys.executable, str(SERVERS / "sdk_server.py"), *map(str, more)]
    return {"command": words, "timeout_s": 60, **keys}


def profile(servers: dict[str, Any], **more: Any) -> Profile:
    mapping = {"version": 1, "model": {"name": "gpt-4o"}, "mcp": servers, **more}
    return profile_from_mapping(mapping)


@contextmanager
def opened(**servers: Any) -> Iterator[McpServers]:
    with closing(open_servers(profile(servers))) as running:
        yield running


def names(running: McpServers) -> list[str]:
    return [spec.name for spec in running.specs()]


@dataclass(frozen=True)
class Mark:
    """A variable in the environment of a server, by which its processes are known."""

    value: str

    @property
    def env(self) -> dict[str, str]:
        return {"CONTEXTCTL_TEST_MARK": self.value}

    def processes(self) -> set[int]:
        """Those alive that have the mark, whoever their parent is now."""
        out = set()
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                try:
                    environment = (entry / "environ").read_bytes()
                    command = (entry / "cmdline").read_bytes()
                except OSError:
                    continue
                if f"CONTEXTCTL_TEST_MARK={self.value}".encode() in environment and command:
                    out.add(int(entry.name))
        return out


@pytest.fixture
def mark() -> Mark:
    return Mark(uuid4().hex)


class TestOverStdio:
    def test_a_call_gives_the_text_of_the_tool(self):
        with opened(polite=polite()) as running:
            assert names(running)[:3] == ["greet", "fail", "sleep"]
            assert {spec.source for spec in running.specs()} == {"polite"}
            assert running.call("greet", {"name": "Li", "times": 2}).content == "hello Li hello Li"
            failed = running.call("fail", {"reason": "no such order"})
            assert failed.status == "error"
            assert failed.failure == "execution.tool"
            assert "fail" in failed.content

    def test_two_servers_are_started_at_once_and_merged_in_order(self):
        waits = {name: hostile("slow", "--delay", 1.2, "--name", name) for name in ("c", "a", "b")}
        began = time.monotonic()
        with opened(**waits) as running:
            took = time.monotonic() - began
            assert names(running) == ["c_tool", "a_tool", "b_tool"]
        assert took < 3.0  # one after the other they would take 3.6 s and their start

    def test_calls_from_many_threads_do_not_wait_for_each_other(self):
        with opened(polite=polite()) as running:
            began = time.monotonic()
            threads = [
                threading.Thread(target=running.call, args=("sleep", {"seconds": 0.6}))
                for _ in range(4)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert time.monotonic() - began < 2.4

    def test_names_that_providers_refuse_lead_back_to_the_server(self):
        with opened(odd=hostile("names"), other=hostile("noisy")) as running:
            shown = {spec.description.partition(": ")[0]: spec.name for spec in running.specs()}
            assert all(len(name) <= 64 and name.isascii() for name in names(running))
            assert "files_read" in names(running)
            chinese = next(s for s in running.specs() if s.description.startswith("查询订单"))
            told = json.loads(running.call(chinese.name, {}).content)
            assert told["tool"] == "查询订单"
            assert json.loads(running.call("files_read", {}).content)["tool"] == "files.read"
            long = next(name for name in names(running) if name.startswith("xxx"))
            assert json.loads(running.call(long, {}).content)["tool"] == "x" * 80
            assert names(running).count("plain") == 1
            assert shown

    def test_two_servers_with_the_same_tool_both_keep_it(self):
        with opened(
            one=hostile("noisy", "--name", "1"), two=hostile("noisy", "--name", "2")
        ) as both:
            assert names(both) == ["one__work", "two__work"]
            assert json.loads(both.call("two__work", {}).content)["server"] == "2"

    def test_noise_on_stdout_is_passed_over_and_told_once(self):
        with opened(loud=hostile("noisy")) as running:
            assert running.call("work", {}).status == "ok"
            assert len([text for text in running.warnings if "'loud'" in text]) == 1

    @pytest.mark.parametrize("mode", ["marked", "nameless", "chatty"])
    def test_what_servers_get_wrong_without_harm_is_passed_over(self, mode):
        with opened(odd=hostile(mode)) as running:
            assert names(running) == ["work"]
            assert running.call("work", {"a": 1}).status == "ok"
            assert running.call("work", {"a": 2}).status == "ok"
            assert running.warnings == []

    def test_an_error_of_the_server_is_its_tools_error_whatever_its_code(self):
        with opened(poor=hostile("refuses")) as running:
            refused = running.call("work", {})
            assert refused.content == "error: quota of the desk used up"
            assert refused.failure == "execution.tool"

    def test_an_answer_that_is_hardly_one_comes_at_once(self):
        with opened(js=hostile("halves"), void=hostile("nothing")) as running:
            began = time.monotonic()
            assert running.call("js__work", {}).content == "sent \N{REPLACEMENT CHARACTER} to you"
            nothing = running.call("void__work", {})
            assert nothing.status == "error"
            assert "null" in nothing.content
            assert time.monotonic() - began < 5  # the time limit is 20 s

    def test_a_server_without_tools_is_told_of_and_no_fault(self):
        with opened(words=hostile("prompts"), polite=polite()) as running:
            assert "greet" in names(running)
            assert running.missing == []
            (told,) = running.warnings
            assert "'words'" in told
            assert "no tools" in told

    def test_a_server_that_dies_says_how(self, tmp_path):
        with opened(frail=hostile("dies", "--log", tmp_path / "log")) as running:
            assert "exit code 3" in running.call("work", {}).content

    def test_a_server_that_dies_is_started_again_and_nothing_is_repeated(self, tmp_path):
        log = tmp_path / "log"
        with opened(frail=hostile("dies", "--log", log)) as running:
            first = running.call("work", {})
            assert first.status == "error"
            assert first.failure == "execution.environment"
            assert "not known" in first.content
            assert running.call("work", {}).status == "ok"
            assert names(running) == ["work"]
        assert log.read_text().count("tools/call") == 2

    def test_a_call_that_is_never_answered_ends_at_its_limit(self):
        with opened(still=hostile("stalls", timeout_s=2)) as running:
            began = time.monotonic()
            outcome = running.call("work", {})
            assert time.monotonic() - began < 6
            assert outcome.failure == "execution.environment"
            assert "2 s" in outcome.content

    def test_a_server_that_no_longer_reads_is_given_up_and_started_again(self):
        with opened(full=hostile("sleeps", timeout_s=1)) as running:
            running.call("work", {})
            long = {"text": "x" * 300_000}  # more than a pipe holds
            began = time.monotonic()
            told = [running.call("work", long).content for _ in range(3)]
            assert time.monotonic() - began < 20
            assert any("does not read" in text for text in told)
            assert all("is not known" in text for text in told)

    def test_a_tool_that_was_added_is_seen_after_the_server_says_so(self):
        with opened(living=hostile("grows")) as running:
            assert names(running) == ["more"]
            running.call("more", {})
            until = time.monotonic() + 5
            while names(running) == ["more"] and time.monotonic() < until:
                time.sleep(0.05)
            assert names(running) == ["more", "grown"]

    def test_everything_a_server_started_ends_with_it(self, mark):
        with opened(parent=hostile("children", env=mark.env)):
            assert len(mark.processes()) == 2
        assert not mark.processes()

    def test_a_server_gets_no_secret_of_ours_and_what_the_profile_gives(self, monkeypatch, mark):
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody")
        with opened(parent=hostile("children", env=mark.env)):
            for process in mark.processes():
                environment = Path(f"/proc/{process}/environ").read_bytes()
                assert b"sk-of-somebody" not in environment


class TestThatCannotStart:
    @pytest.mark.parametrize(
        ("server", "says"),
        [
            ({"command": [sys.executable, "no_such_file.py"]}, "no_such_file.py"),
            ({"command": ["no-such-program"]}, "no program 'no-such-program'"),
            (hostile("mute", timeout_s=1), "1 s"),
            (hostile("leaves"), "it ended (exit code 3: error: no token was given)"),
            (
                {"command": ["sh", "-c", "echo Ok to install? >&2; sleep 9"], "timeout_s": 1},
                "it said 'Ok to install?'",
            ),
            ({"url": "http://127.0.0.1:9/mcp", "timeout_s": 5}, "onnect"),
        ],
    )
    def test_a_required_one_is_an_error_and_an_optional_one_a_warning(self, server, says):
        with pytest.raises(ToolError, match="'gone' is required") as caught:
            open_servers(profile({"gone": server}))
        assert says in str(caught.value)
        with opened(gone={**server, "required": False}, polite=polite()) as running:
            assert "greet" in names(running)
            assert [one.server for one in running.missing] == ["gone"]
            assert len(running.warnings) == 1
            assert says in running.warnings[0]

    def test_none_is_left_behind_when_one_of_two_cannot_start(self, mark):
        marked = hostile("children", env=mark.env)
        with pytest.raises(ToolError):
            open_servers(profile({"fine": marked, "gone": {"command": ["no-such-program"]}}))
        assert not mark.processes()


class TestOverHttp:
    def test_tools_are_listed_and_called_with_the_headers_of_the_profile(self):
        from tests.servers.sdk_server import serving_http

        with serving_http() as (url, seen):
            rule = {"url": url, "headers": {"x-key": "k-123"}, "timeout_s": 30}
            with opened(far=rule) as running:
                assert "greet" in names(running)
                assert running.call("greet", {"name": "Wu"}).content == "hello Wu"
            assert all(headers["x-key"] == "k-123" for headers in seen)

    def test_a_server_that_was_started_anew_is_connected_anew(self):
        from tests.servers.sdk_server import serving_http

        with serving_http() as (url, _):
            running = open_servers(profile({"far": {"url": url, "timeout_s": 20}}))
        port = int(url.rpartition(":")[2].partition("/")[0])
        with closing(running), serving_http(tools=2, port=port):
            assert running.call("greet", {"name": "Wu"}).content == "hello Wu"
            assert names(running)[-2:] == ["tool_0", "tool_1"]

    def test_a_call_to_a_server_that_went_away_is_a_failure_outside(self):
        from tests.servers.sdk_server import serving_http

        with serving_http() as (url, _):
            running = open_servers(profile({"far": {"url": url, "timeout_s": 10}}))
        with closing(running):
            gone = running.call("greet", {"name": "Wu"})
            assert gone.status == "error"
            assert gone.failure == "execution.environment"

    @pytest.mark.parametrize(("status", "says"), [(401, "HTTP 401"), (404, "HTTP 404")])
    def test_a_server_that_lets_nobody_in_says_so(self, status, says):
        class Closed(BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                self.send_response(status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        web = ThreadingHTTPServer(("127.0.0.1", 0), Closed)
        threading.Thread(target=web.serve_forever, daemon=True).start()
        far = {"url": f"http://127.0.0.1:{web.server_port}/mcp", "timeout_s": 10}
        try:
            with pytest.raises(ToolError, match=says):
                open_servers(profile({"far": far}))
        finally:
            web.shutdown()
            web.server_close()


class TestInTheToolbox:
    def box(self, rules: Profile) -> Toolbox:
        return open_tools(rules, open_servers(rules, own_names(rules)))

    def test_arguments_are_checked_and_denied_tools_are_not_run(self):
        rules = profile({"polite": polite()}, tools={"sleep": {"permission": "deny"}})
        with closing(self.box(rules)) as box:
            assert "sleep" not in [spec.name for spec in box.specs()]
            assert box.call("greet", '{"name": "Li"}').content == "hello Li"
            wrong = box.call("greet", '{"nam": "Li"}')
            assert wrong.failure == "execution.arguments"
            assert "missing 'name'" in wrong.content
            assert box.call("sleep", '{"seconds": 9}').failure == "discovery.grant"
            unknown = box.call("gret", "{}")
            assert unknown.failure == "discovery.index"
            assert "did you mean 'greet'" in unknown.content

    def test_a_tool_of_the_profile_keeps_its_name(self):
        rules = profile({"polite": polite()}, tools={"greet": {"command": ["echo", "mine"]}})
        with closing(self.box(rules)) as box:
            assert box.call("greet", "{}").content == "mine\n"
            assert box.call("polite__greet", '{"name": "Li"}').content == "hello Li"

    def test_a_servers_tool_is_never_taken_for_one_of_contextctls_own(self):
        rules = profile({"web": hostile("crowd")})
        with closing(self.box(rules)) as box:
            offered = [spec.name for spec in box.specs()]
            assert offered[:3] == ["web__tool_search", "web__fetch", "tool_00"]
            assert json.loads(box.call("web__fetch", "{}").content)["tool"] == "fetch"

    def test_a_rule_for_a_name_of_ours_means_the_servers_tool(self):
        rules = profile({"web": hostile("crowd")}, tools={"fetch": {"result": {"max_tokens": 900}}})
        with closing(self.box(rules)) as box:
            assert [spec.name for spec in box.specs()][1] == "fetch"

    def test_no_secret_of_the_profile_comes_back(self):
        rules = profile({"polite": polite()})
        secret = profile_from_mapping(
            {"version": 1, "model": {"name": "gpt-4o"}, "mcp": {"polite": polite()}},
            secrets={"KEY": "tok-998877"},
        )
        assert rules.mcp == secret.mcp
        with closing(self.box(secret)) as box:
            assert "tok-998877" not in box.call("greet", '{"name": "tok-998877"}').content


def test_a_process_that_is_interrupted_leaves_no_server(mark):
    """At any moment: here nobody has got to closing them yet."""
    code = f"""if True:
        import time
        from contextctl.io.mcp.servers import open_servers
        from contextctl.model.profile import profile_from_mapping
        rule = {hostile("children", env=mark.env)!r}
        profile = profile_from_mapping(
            {{"version": 1, "model": {{"name": "gpt-4o"}}, "mcp": {{"p": rule}}}})
        servers = open_servers(profile)
        print("up", flush=True)
        time.sleep(60)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(SERVERS.parents[1])},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    process.send_signal(signal.SIGINT)
    process.wait(timeout=20)
    assert not mark.processes()
