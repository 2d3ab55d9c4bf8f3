"""Models over real HTTP on 127.0.0.1: answers, streams, every way to fail, retries, fallbacks."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from contextctl.core.cache_marks import mark
from contextctl.errors import ModelError, UsageError
from contextctl.io.models.call import open_model
from contextctl.model.message import ToolCall
from contextctl.model.prices import CacheRule
from contextctl.model.profile import profile_from_mapping
from contextctl.model.reply import Request
from contextctl.model.trace import UsageFact
from tests.servers.anthropic_stub import marks_of, serving_anthropic
from tests.servers.strict_openai import StrictServer, serving

ASK = Request(({"role": "user", "content": "你好"},), task="t1")
TOOL = {
    "type": "function",
    "function": {"name": "w", "parameters": {"type": "object", "properties": {}}},
}
pytestmark = [
    # litellm's own, at import and in its stream builder.
    pytest.mark.filterwarnings("ignore::UserWarning:pydantic"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:litellm"),
]
KEY = "sk-test-0123456789abcdef"


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server():
    with serving() as running:
        yield running


def model_of(server: StrictServer | None, stop: threading.Event | None = None, **rule: Any):
    given = {"name": "openai/my-lab-7b", "retries": 0, "timeout_s": 20, **rule}
    if server is not None:
        given.setdefault("api_base", server.url)
    return open_model(profile_from_mapping({"version": 1, "model": given}), stop=stop)


def test_an_answer_with_its_usage(server):
    usage = {
        "prompt_tokens": 30,
        "completion_tokens": 4,
        "prompt_tokens_details": {"cached_tokens": 20},
    }
    server.script = [{"message": {"content": "巴黎"}, "usage": usage}]
    reply = model_of(server).complete(ASK)
    assert reply.message.content == "巴黎"
    assert reply.usage == UsageFact("openai/my-lab-7b", 30, 4, 20)
    assert (reply.finish_reason, reply.tries, reply.first_token_s) == ("stop", 1, None)
    assert (reply.cost_known, reply.cost_usd) == (False, 0.0)


def test_what_is_sent_is_the_window_the_reserve_and_nothing_else(server):
    model_of(server, reserve_output=77, params={"temperature": 0}).complete(ASK)
    body = server.requests[0]["body"]
    assert body == {
        "model": "my-lab-7b",
        "messages": [{"role": "user", "content": "你好"}],
        "max_tokens": 77,
        "temperature": 0,
    }


def test_a_known_model_is_priced(server):
    usage = {"prompt_tokens": 1000, "completion_tokens": 100}
    server.script = [{"message": {"content": "x"}, "usage": usage}]
    reply = model_of(server, name="openai/gpt-4o").complete(ASK)
    assert reply.cost_known
    assert reply.cost_usd == pytest.approx(1000 * 2.5e-6 + 100 * 1e-5)


def test_tool_calls_keep_their_arguments_and_get_ids_where_a_server_gives_none(server):
    calls = [
        {"id": "", "type": "function", "function": {"name": "w", "arguments": '{"a": '}},
        {"id": "x", "type": "function", "function": {"name": "w", "arguments": "{}"}},
        {"id": "x", "type": "function", "function": {"name": "w", "arguments": "{}"}},
    ]
    server.script = [{"message": {"content": None, "tool_calls": calls}}]
    reply = model_of(server).complete(Request(ASK.messages, tools=(TOOL,)))
    assert reply.message.tool_calls == (
        ToolCall("call_0", "w", '{"a": '),
        ToolCall("x", "w", "{}"),
        ToolCall("x_2", "w", "{}"),
    )
    assert reply.finish_reason == "tool_calls"


def test_half_a_character_from_a_server_can_be_written_down(server):
    server.script = [{"message": {"content": "cut \ud83d"}}]
    assert model_of(server).complete(ASK).message.content == "cut \ufffd"


def test_half_a_character_in_a_window_is_sent_as_a_replacement(server):
    model_of(server).complete(Request(({"role": "user", "content": "cut \ud83d"},)))
    assert server.requests[0]["body"]["messages"][0]["content"] == "cut \ufffd"


class TestStreaming:
    def test_pieces_become_one_reply_with_the_provider_s_usage(self, server):
        calls = [
            {"id": "c1", "type": "function", "function": {"name": "w", "arguments": '{"k": "v"}'}}
        ]
        usage = {"prompt_tokens": 31, "completion_tokens": 9, "total_tokens": 40}
        server.script = [
            {
                "message": {"content": "流式 answer in pieces", "tool_calls": calls},
                "usage": usage,
                "chunk_delay": 0.02,
            }
        ]
        model = model_of(server, params={"stream": True})
        reply = model.complete(Request(ASK.messages, tools=(TOOL,)))
        assert reply.message.content == "流式 answer in pieces"
        assert reply.message.tool_calls == (ToolCall("c1", "w", '{"k": "v"}'),)
        assert reply.usage == UsageFact("openai/my-lab-7b", 31, 9)
        assert reply.first_token_s is not None
        assert 0 < reply.first_token_s < reply.duration_s
        assert server.requests[0]["body"]["stream_options"] == {"include_usage": True}

    def test_usage_the_provider_did_not_report_is_not_invented(self, server):
        server.script = [{"message": {"content": "hello"}, "no_usage": True}]
        reply = model_of(server).complete(Request(ASK.messages, stream=True))
        assert reply.message.content == "hello"
        assert reply.usage is None

    def test_a_stream_that_breaks_is_tried_again(self, server):
        server.script = [
            {"message": {"content": "half an answer"}, "break_stream": True},
            {"message": {"content": "a whole one"}},
        ]
        reply = model_of(server, retries=1).complete(Request(ASK.messages, stream=True))
        assert (reply.message.content, reply.tries) == ("a whole one", 2)

    def test_a_stop_ends_it_between_two_pieces(self, server):
        server.script = [{"message": {"content": "x" * 500}, "chunk_delay": 0.05}]
        stop = threading.Event()
        model = model_of(server, stop, retries=3)
        threading.Timer(0.3, stop.set).start()
        started = time.monotonic()
        with pytest.raises(ModelError, match="stopped"):
            model.complete(Request(ASK.messages, stream=True))
        assert time.monotonic() - started < 3
        assert len(server.requests) == 1


def error(status: int, message: str) -> dict[str, Any]:
    return {"status": status, "error": {"message": message}}


class TestErrors:
    @pytest.mark.parametrize(
        ("line", "says", "retryable"),
        [
            (error(400, "bad request for testing"), "HTTP 400: bad request for testing", False),
            (error(401, f"Incorrect API key provided: {KEY}"), "HTTP 401", False),
            (error(403, "no"), "HTTP 403", False),
            (error(404, "no such model"), "HTTP 404: no such model; check 'model.name'", False),
            (error(429, "slow down"), "HTTP 429: slow down", True),
            (error(429, "You exceeded your current quota"), "HTTP 429", False),
            (error(500, "oops"), "HTTP 500: oops", True),
            (error(503, "busy"), "HTTP 503: busy", True),
            ({"raw": "<html>gateway</html>"}, "no chat completion", True),
            ({"raw": ""}, "no chat completion", True),
            ({"raw": '{"id": 1}'}, "no chat completion", True),
            ({"no_choices": True, "message": {}}, "holds no choice", True),
            ({"message": {}, "finish_reason": "tool_calls"}, "announces tool calls", True),
            ({"hang_up": True}, "cannot reach", True),
        ],
    )
    def test_each_is_one_sentence_of_one_kind(self, server, line, says, retryable, capfd):
        server.script = [line]
        with pytest.raises(ModelError) as caught:
            model_of(server).complete(ASK)
        message = str(caught.value)
        assert says in message
        assert "openai/my-lab-7b" in message
        assert (caught.value.retryable, caught.value.overflow) == (retryable, False)
        assert "\n" not in message
        assert "litellm" not in message.lower()
        assert KEY not in message
        assert capfd.readouterr().out == ""

    @pytest.mark.parametrize(
        "message",
        [
            "This model's maximum context length is 8192 tokens. However, you requested 9000",
            "prompt is too long: 209000 tokens > 200000 maximum",
            "request (4031 tokens) exceeds the available context size (2048 tokens)",
            "The input token count (1200000) exceeds the maximum number of tokens allowed",
            "Please reduce the length of the messages",
        ],
    )
    def test_a_window_too_large_is_an_overflow_and_is_not_tried_again(self, server, message):
        server.script = [{"status": 400, "error": {"message": message}}]
        with pytest.raises(ModelError) as caught:
            model_of(server, retries=3).complete(ASK)
        assert caught.value.overflow
        assert len(server.requests) == 1

    def test_a_late_answer_names_the_limit(self, server):
        server.script = [{"delay": 3, "message": {"content": "late"}}]
        with pytest.raises(
            ModelError, match=r"no answer within 0\.5 s; see 'model\.timeout_s'"
        ) as caught:
            model_of(server, timeout_s=0.5).complete(ASK)
        assert caught.value.retryable

    def test_a_refused_connection_names_the_address(self):
        model = model_of(None, api_base="http://127.0.0.1:9/v1")
        with pytest.raises(
            ModelError, match=r"cannot reach .* at 'http://127\.0\.0\.1:9/v1'.*refused"
        ):
            model.complete(ASK)

    def test_secrets_of_the_profile_are_masked(self, server):
        server.script = [{"status": 400, "error": {"message": "token hunter2-hunter2 is odd"}}]
        mapping = {
            "version": 1,
            "model": {"name": "openai/m", "api_base": server.url, "retries": 0},
        }
        profile = profile_from_mapping(mapping, secrets={"PASS": "hunter2-hunter2"})
        with pytest.raises(ModelError, match=r"token \*\*\* is odd"):
            open_model(profile).complete(ASK)

    def test_a_name_without_a_provider_is_the_profile_s_fault(self, capfd):
        with pytest.raises(UsageError, match=r"'my-lab-7b' .* provider/model"):
            model_of(None, name="my-lab-7b").complete(ASK)
        assert capfd.readouterr().out == ""

    def test_a_parameter_the_model_does_not_take_is_the_profile_s_fault(self, server):
        model = model_of(server, name="openai/gpt-5", params={"temperature": 0})
        with pytest.raises(UsageError, match=r"temperature.*model\.params"):
            model.complete(ASK)
        assert server.requests == []

    def test_a_local_model_needs_an_address(self):
        with pytest.raises(UsageError, match=r"'local/smollm2' needs 'model\.api_base'"):
            model_of(None, name="local/smollm2")


class TestRetries:
    def test_the_asked_pause_is_kept(self, server):
        server.script = [
            {"status": 429, "error": {"message": "slow"}, "headers": {"retry-after": "0.6"}},
            {"message": {"content": "ok"}},
        ]
        started = time.monotonic()
        reply = model_of(server, retries=1).complete(ASK)
        assert reply.tries == 2
        assert time.monotonic() - started >= 0.6

    def test_a_pause_longer_than_a_run_should_wait_is_not_waited_for(self, server):
        server.script = [
            {"status": 429, "error": {"message": "tomorrow"}, "headers": {"retry-after": "86400"}}
        ]
        started = time.monotonic()
        with pytest.raises(ModelError, match="tomorrow"):
            model_of(server, retries=5).complete(ASK)
        assert time.monotonic() - started < 5
        assert len(server.requests) == 1

    def test_it_gives_up_after_the_given_number_and_says_so(self, server):
        server.script = [{"status": 500, "error": {"message": "oops"}, "repeat": True}]
        with pytest.raises(ModelError, match="after 3 tries"):
            model_of(server, retries=2).complete(ASK)
        assert len(server.requests) == 3

    def test_what_cannot_get_better_is_not_tried_again(self, server):
        server.script = [{"status": 400, "error": {"message": "no"}, "repeat": True}]
        with pytest.raises(ModelError):
            model_of(server, retries=5).complete(ASK)
        assert len(server.requests) == 1

    def test_a_stop_ends_the_pause(self, server):
        server.script = [
            {"status": 429, "error": {"message": "x"}, "headers": {"retry-after": "60"}}
        ]
        stop = threading.Event()
        threading.Timer(0.3, stop.set).start()
        started = time.monotonic()
        with pytest.raises(ModelError):
            model_of(server, stop, retries=3).complete(ASK)
        assert time.monotonic() - started < 10


class TestFallbacks:
    def test_the_next_model_answers_and_is_named(self, server):
        server.script = [
            {"when": '"model": "first"', "status": 401, "error": {"message": "no"}},
            {"when": '"model": "second"', "message": {"content": "from the second"}},
        ]
        model = model_of(server, name="openai/first", fallbacks=["openai/second"])
        assert model.names == ("openai/first", "openai/second")
        reply = model.complete(ASK)
        assert (reply.model, reply.message.content) == ("openai/second", "from the second")

    def test_an_overflow_is_not_passed_on(self, server):
        server.script = [{"status": 400, "error": {"message": "prompt is too long"}}]
        with pytest.raises(ModelError) as caught:
            model_of(server, name="openai/first", fallbacks=["openai/second"]).complete(ASK)
        assert caught.value.overflow
        assert len(server.requests) == 1

    def test_a_named_model_is_asked_alone(self, server):
        model = model_of(server, name="openai/first", fallbacks=["openai/second"])
        reply = model.complete(Request(ASK.messages, model="openai/second"))
        assert reply.model == "openai/second"
        assert [seen["body"]["model"] for seen in server.requests] == ["second"]
        with pytest.raises(UsageError, match="'openai/third' is not in the profile"):
            model.complete(Request(ASK.messages, model="openai/third"))

    def test_another_provider_gets_neither_the_address_nor_the_key(self, server, monkeypatch):
        with serving_anthropic() as anthropic:
            monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
            monkeypatch.setenv("ANTHROPIC_BASE_URL", anthropic.url)
            server.script = [{"status": 401, "error": {"message": "no"}}]
            model = model_of(
                server, params={"api_key": KEY}, fallbacks=["anthropic/claude-haiku-4-5"]
            )
            assert model.complete(ASK).model == "anthropic/claude-haiku-4-5"
            assert len(anthropic.requests) == 1


def test_a_local_name_reaches_the_server_without_a_key(server):
    model_of(server, name="local/smollm2").complete(ASK)
    assert server.requests[0]["body"]["model"] == "smollm2"
    assert server.requests[0]["authorization"] == "Bearer not-needed"


def test_many_threads_share_one_model(server):
    server.script = [
        {"when": f"question {n}!", "message": {"content": f"answer {n}"}, "delay": 0.05}
        for n in range(24)
    ]
    model = model_of(server)

    def ask(n: int) -> str | None:
        content = model.complete(
            Request(({"role": "user", "content": f"question {n}!"},))
        ).message.content
        return content if isinstance(content, str) else None

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(24))) == [f"answer {n}" for n in range(24)]


def test_marks_reach_anthropic_where_they_were_put_and_its_usage_comes_back_whole(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
    call = {"id": "c1", "type": "function", "function": {"name": "w", "arguments": "{}"}}
    window = (
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "42"},
    )
    marked = mark(window, (50, 10, 10, 10), CacheRule(min_tokens=1))
    with serving_anthropic() as server:
        model = model_of(
            None, name="anthropic/claude-haiku-4-5", api_base=server.url, reserve_output=99
        )
        reply = model.complete(Request(marked, tools=(TOOL,)))
        body = server.requests[0]
    kinds = [(block.get("type"), block.get("text")) for block in marks_of(body)]
    assert kinds == [("text", "be brief"), ("tool_result", None)]
    assert body["max_tokens"] == 99
    # 206 uncached + 98,432 read + 1,000 written
    assert reply.usage == UsageFact(
        "anthropic/claude-haiku-4-5", 99_638, 78, 98_432, 1_000, pytest.approx(0.0116892)
    )
