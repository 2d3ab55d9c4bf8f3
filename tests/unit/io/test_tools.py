"""Commands and HTTP as tools, and what a toolbox refuses."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from contextctl.errors import ToolError
from contextctl.io.tools.toolbox import Toolbox, open_tools
from contextctl.model.profile import profile_from_mapping

TEXT = {"type": "string"}


def toolbox(tools: dict[str, Any], path: str = "", **more: Any) -> Toolbox:
    mapping = {"version": 1, "model": {"name": "gpt-4o"}, "tools": tools}
    return open_tools(profile_from_mapping(mapping, path=path, **more))


def shell(timeout_s: float = 10) -> Toolbox:
    return toolbox({"sh": {"command": ["bash", "-c", "{script}"], "timeout_s": timeout_s}})


def run(script: str, timeout_s: float = 10):
    return shell(timeout_s).call("sh", json.dumps({"script": script}), "c1", "task 一")


def parameters(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


class TestCommands:
    @pytest.mark.parametrize(
        ("script", "content", "status"),
        [
            ("echo 你好", "你好\n", "ok"),
            ("true", "", "ok"),
            ("echo out; echo err >&2", "out\n[stderr]\nerr", "ok"),
            ("exit 3", "[exit code 3]", "error"),
            ("echo out; echo err >&2; exit 2", "out\n[stderr]\nerr\n[exit code 2]", "error"),
            ("kill -9 $$", "[ended by signal 9]", "error"),
            ("printf '\\xc4\\xe3\\xba\\xc3'", "你好", "ok"),
        ],
    )
    def test_output_errors_and_exit_code_are_stated(self, script, content, status):
        outcome = run(script)
        assert (outcome.content, outcome.status) == (content, status)

    def test_json_stays_json_when_warnings_come_beside_it(self):
        outcome = run("""echo '{"a": 1}'; echo careful >&2""")
        assert json.loads(outcome.content) == {"a": 1}
        assert outcome.extra == {"exit_code": 0, "stderr": "careful\n"}

    def test_binary_output_is_described_and_kept(self):
        outcome = run("printf '\\x89PNG\\r\\n\\x1a\\n\\x00'")
        assert outcome.content == "(binary result: image/png, 9 bytes)"
        assert (outcome.media, outcome.data) == ("image/png", b"\x89PNG\r\n\x1a\n\x00")

    def test_the_call_is_named_in_the_environment(self):
        assert run("echo $CONTEXTCTL_TASK $CONTEXTCTL_CALL_ID").content == "task 一 c1\n"

    def test_output_without_end_stays_bounded(self):
        outcome = run("yes 0123456789 | head -c 40000000; echo END")
        assert len(outcome.content) < 17 * 2**20
        assert "bytes of output were not kept" in outcome.content
        assert outcome.content.endswith("END\n")

    def test_a_command_past_its_time_is_ended_with_its_children(self, tmp_path):
        alive = tmp_path / "alive"
        started = time.monotonic()
        outcome = run(f"(sleep 1.5; touch {alive}) & echo begun; wait", timeout_s=0.4)
        assert time.monotonic() - started < 3
        assert "begun" in outcome.content
        assert outcome.content.endswith("[ended after 0.4 s: the tool's time limit]")
        assert outcome.status == "error"
        time.sleep(1.6)
        assert not alive.exists()

    @pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="there is no /proc")
    @pytest.mark.parametrize("then", ["sleep 9", "exit 0"])
    def test_what_left_the_group_and_holds_the_output_is_ended_too(self, tmp_path, then):
        alive = tmp_path / "alive"
        outcome = run(f"setsid sh -c 'sleep 3; touch {alive}' & {then}", timeout_s=0.4)
        assert "ended" in outcome.content
        time.sleep(3.2)
        assert not alive.exists()

    def test_a_command_that_ignores_the_request_to_end_is_ended_all_the_same(self):
        started = time.monotonic()
        outcome = run("trap '' TERM; echo stubborn; while true; do sleep 0.1; done", timeout_s=0.3)
        assert 2 < time.monotonic() - started < 6
        assert "stubborn" in outcome.content
        assert "[ended by signal 9]" in outcome.content

    def test_a_background_process_holding_the_output_does_not_hold_the_call(self):
        started = time.monotonic()
        outcome = run("sleep 30 & echo started")
        assert time.monotonic() - started < 4
        assert outcome.status == "ok"
        assert outcome.content.startswith("started\n[background processes")

    def test_closing_the_toolbox_ends_what_runs(self):
        tools = shell(60)
        threading.Timer(0.4, tools.close).start()
        started = time.monotonic()
        outcome = tools.call("sh", '{"script": "sleep 30"}')
        assert time.monotonic() - started < 5
        assert outcome.status == "error"

    def test_a_value_is_one_argument_whatever_it_holds(self, tmp_path):
        tools = toolbox({"show": {"command": [sys.executable, "-c", SHOW, "{a}", "pre-{b}"]}})
        a = "x; touch /tmp/never $(id) 'q' \"r\"\n二"
        shown = tools.call("show", json.dumps({"a": a, "b": "--flag"}))
        assert json.loads(shown.content) == [a, "pre---flag"]

    def test_an_absent_optional_argument_takes_its_element_along(self):
        rule = {
            "command": [sys.executable, "-c", SHOW, "{a}", "b{b}"],
            "parameters": parameters(a=TEXT, b={"type": "integer"}),
        }
        tools = toolbox({"show": rule})
        assert json.loads(tools.call("show", "{}").content) == ["b"]
        assert json.loads(tools.call("show", '{"a": "", "b": 5}').content) == ["", "b5"]

    def test_only_declared_names_are_placeholders(self):
        rule = {
            "command": [sys.executable, "-c", SHOW, "{print $1}", "{other}", "{a}"],
            "parameters": parameters(a=TEXT),
        }
        shown = toolbox({"show": rule}).call("show", '{"a": "A"}')
        assert json.loads(shown.content) == ["{print $1}", "{other}", "A"]

    def test_arguments_without_a_placeholder_arrive_on_stdin(self):
        rule = {"command": ["cat"], "parameters": parameters(q=TEXT, n={"type": "integer"})}
        outcome = toolbox({"t": rule}).call("t", '{"q": "城", "n": 12345678901234567890}')
        assert json.loads(outcome.content) == {"q": "城", "n": 12345678901234567890}

    def test_a_command_that_never_reads_its_stdin_is_no_problem(self):
        rule = {"command": ["true"], "parameters": parameters(q=TEXT)}
        big = json.dumps({"q": "x" * 5_000_000})
        assert toolbox({"t": rule}).call("t", big).status == "ok"

    def test_placeholders_without_declared_parameters_are_required_texts(self):
        (spec,) = shell().specs()
        assert spec.parameters["properties"] == {"script": {"type": "string"}}
        assert spec.parameters["required"] == ["script"]
        assert "missing 'script'" in shell().call("sh", "{}").content

    def test_a_command_line_as_one_text_is_split_without_a_shell(self):
        outcome = toolbox({"t": {"command": ["echo 'a  b' $HOME"]}}).call("t", "")
        assert outcome.content == "a  b $HOME\n"

    def test_a_script_beside_the_profile_is_found_from_anywhere(self, tmp_path, monkeypatch):
        (tmp_path / "p/tools").mkdir(parents=True)
        (tmp_path / "p/tools/hello.py").write_text("print('hello')", encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        rule = {"command": [sys.executable, "tools/hello.py"]}
        assert toolbox({"t": rule}, str(tmp_path / "p/a.yaml")).call("t", "").content == "hello\n"

    def test_what_no_process_can_take_is_an_error_result(self):
        nul = run("echo a\0b")
        assert (nul.status, "null byte" in nul.content) == ("error", True)
        huge = run("x" * 3_000_000)
        assert (huge.status, "too long" in huge.content) == ("error", True)
        assert len(huge.content) < 300

    def test_a_long_element_with_dots_is_no_path(self, tmp_path):
        rule = {"command": ["echo", "a.b/" * 500]}
        assert toolbox({"t": rule}, str(tmp_path / "p.yaml")).call("t", "").status == "ok"

    def test_a_command_that_is_not_there_is_an_error_result(self):
        outcome = toolbox({"t": {"command": ["no-such-command-here"]}}).call("t", "")
        assert outcome.status == "error"
        assert "cannot start 'no-such-command-here'" in outcome.content


SHOW = "import json, sys; print(json.dumps(sys.argv[1:]))"


class TestRefusals:
    def test_a_denied_tool_is_neither_shown_nor_run(self, tmp_path):
        made = tmp_path / "made"
        tools = toolbox({"t": {"command": ["touch", str(made)], "permission": "deny"}})
        assert tools.specs() == ()
        outcome = tools.call("t", "")
        assert outcome.content == "error: 't' is not permitted by the profile and was not run"
        assert not made.exists()

    def test_an_unknown_name_gets_close_ones_or_the_list(self):
        tools = toolbox({"list_orders": {"command": ["true"]}, "ping": {"command": ["true"]}})
        assert "did you mean 'list_orders'?" in tools.call("list_order", "").content
        assert "the tools are: list_orders, ping" in tools.call("xyzzy", "").content
        assert "(none)" in toolbox({}).call("xyzzy", "").content

    def test_a_rule_without_anything_to_run_is_no_tool(self):
        tools = toolbox({"t": {"result": {"max_tokens": 5}}})
        assert tools.specs() == ()
        assert "nothing that runs it" in tools.call("t", "").content

    def test_parameters_that_are_no_schema_are_refused_at_once(self):
        bad = {"type": "object", "properties": {"a": {"type": "strin"}}}
        with pytest.raises(
            ToolError, match="'t': 'parameters' is no JSON Schema: properties/a/type"
        ):
            toolbox({"t": {"command": ["true"], "parameters": bad}})

    def test_values_from_the_environment_do_not_come_back(self):
        tools = toolbox(
            {"t": {"command": ["echo", "key=hunter2-hunter2"]}}, secrets={"KEY": "hunter2-hunter2"}
        )
        assert tools.call("t", "").content == "key=***\n"


class _Echo(BaseHTTPRequestHandler):
    """Says what it was asked; ``/status/N`` answers N, ``/png`` bytes, ``/slow`` late."""

    def log_message(self, *args: Any) -> None:
        """Quiet."""

    def _answer(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(size).decode()
        shown = {"method": self.command, "path": self.path, "body": body}
        shown["auth"] = self.headers.get("x-auth", "")
        status, media, data = 200, "application/json", json.dumps(shown).encode()
        if self.path == "/drip":
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):
                for _ in range(50):
                    self.wfile.write(b".")
                    time.sleep(0.1)
            return
        if self.path.startswith("/status/"):
            status = int(self.path.split("/")[2].partition("?")[0])
        if self.path.startswith("/png"):
            media, data = "image/png", b"\x89PNG\r\n\x1a\n"
        if self.path.startswith("/gbk"):
            media, data = "text/plain; charset=gbk", "中文".encode("gbk")
        if self.path.startswith("/slow"):
            time.sleep(2)
        self.send_response(status)
        self.send_header("content-type", media)
        self.send_header("content-length", str(len(data)))
        if status == 302:
            self.send_header("location", "http://elsewhere.example/")
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_DELETE = _answer  # noqa: N815  # the names http.server calls


@pytest.fixture(scope="module")
def http_url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


class TestHttp:
    def call(self, rule: dict[str, Any], arguments: dict[str, Any], **more: Any):
        tools = toolbox({"t": {"http": rule, **more}})
        return tools.call("t", json.dumps(arguments))

    def test_a_get_has_its_arguments_in_the_url_and_the_query(self, http_url):
        rule = {"url": http_url + "/orders/{id}", "method": "GET", "headers": {"X-Auth": "k"}}
        schema = parameters(id=TEXT, q=TEXT, n={"type": "integer"}, all={"type": "boolean"})
        outcome = self.call(
            rule, {"id": "a/b?", "q": "红 笔", "n": 2, "all": True}, parameters=schema
        )
        shown = json.loads(outcome.content)
        assert shown["path"] == "/orders/a%2Fb%3F?q=%E7%BA%A2+%E7%AC%94&n=2&all=true" or (
            shown["path"] == "/orders/a%2Fb%3F?q=%E7%BA%A2%20%E7%AC%94&n=2&all=true"
        )
        assert (shown["method"], shown["body"], shown["auth"]) == ("GET", "", "k")
        assert outcome.extra == {"http_status": 200}

    def test_a_post_has_the_others_as_json(self, http_url):
        rule = {"url": http_url + "/orders/{id}"}
        outcome = self.call(
            rule, {"id": "7", "note": "加急"}, parameters=parameters(id=TEXT, note=TEXT)
        )
        shown = json.loads(outcome.content)
        assert (shown["method"], shown["path"]) == ("POST", "/orders/7")
        assert json.loads(shown["body"]) == {"note": "加急"}

    def test_placeholders_alone_make_the_schema(self, http_url):
        (spec,) = toolbox({"t": {"http": {"url": http_url + "/{a}/{b}"}}}).specs()
        assert spec.parameters["required"] == ["a", "b"]

    @pytest.mark.parametrize("status", [400, 404, 500])
    def test_a_bad_status_is_an_error_with_the_body(self, http_url, status):
        outcome = self.call({"url": f"{http_url}/status/{status}"}, {})
        assert outcome.status == "error"
        assert outcome.content.startswith(f"[HTTP {status}]\n{{")

    def test_a_redirect_is_told_not_followed(self, http_url):
        outcome = self.call({"url": http_url + "/status/302", "method": "GET"}, {})
        assert outcome.content.startswith("[HTTP 302, redirects to http://elsewhere.example/]")

    def test_bytes_and_charsets(self, http_url):
        png = self.call({"url": http_url + "/png", "method": "GET"}, {})
        assert (png.media, png.data) == ("image/png", b"\x89PNG\r\n\x1a\n")
        assert self.call({"url": http_url + "/gbk", "method": "GET"}, {}).content == "中文"

    def test_limits_and_refused_connections_are_error_results(self, http_url):
        late = self.call({"url": http_url + "/slow", "method": "GET"}, {}, timeout_s=0.3)
        assert late.content == "error: no answer within 0.3 s"
        gone = self.call({"url": "http://127.0.0.1:9/", "method": "GET"}, {})
        assert gone.content.startswith("error: ConnectError: ")
        assert late.failure == gone.failure == "execution.environment"

    def test_an_answer_that_never_ends_is_given_up(self, http_url):
        began = time.monotonic()
        endless = self.call({"url": http_url + "/drip", "method": "GET"}, {}, timeout_s=0.5)
        assert endless.content == "error: no whole answer within 0.5 s"
        assert time.monotonic() - began < 2


def test_opening_tools_runs_nothing_and_leaves_the_environment_alone(tmp_path: Path):
    before = dict(os.environ)
    toolbox({"t": {"command": ["touch", str(tmp_path / "made")]}})
    assert dict(os.environ) == before
    assert list(tmp_path.iterdir()) == []
