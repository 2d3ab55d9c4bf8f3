from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from contextctl.errors import ModelError, UsageError
from contextctl.io.models.call import open_model
from contextctl.io.models.faults import ModelFault
from contextctl.io.models.scripted import Script, open_script
from contextctl.model.message import Message, ToolCall
from contextctl.model.profile import profile_from_mapping
from contextctl.model.reply import Request
from contextctl.model.trace import UsageFact


def ask(task: str = "t1", text: str = "hi") -> Request:
    return Request(({"role": "user", "content": text},), task=task)


def model_of(folder: Path, *lines: dict[str, object], retries: int = 0):
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (folder / "replies.jsonl").write_text(text, encoding="utf-8")
    mapping = {"version": 1, "model": {"name": "scripted/replies.jsonl", "retries": retries}}
    return open_model(profile_from_mapping(mapping, path=str(folder / "profile.yaml")))


def test_replies_come_in_order_with_stable_ids_and_raw_arguments(tmp_path):
    model = model_of(
        tmp_path,
        {
            "tool_calls": [
                {"name": "w", "arguments": '{"bad'},
                {"name": "w", "arguments": {"城": 1}},
            ]
        },
        {"content": "done", "usage": {"prompt_tokens": 10, "completion_tokens": 2}},
    )
    first, second = model.complete(ask()), model.complete(ask())
    assert first.message.tool_calls == (
        ToolCall("call_1_1", "w", '{"bad'),
        ToolCall("call_1_2", "w", '{"城": 1}'),
    )
    assert (first.finish_reason, first.usage) == ("tool_calls", None)
    assert (second.message.content, second.finish_reason) == ("done", "stop")
    assert second.usage == UsageFact("scripted/replies.jsonl", 10, 2)


def test_each_task_has_its_own_place_whatever_the_order(tmp_path):
    model = model_of(tmp_path, *({"content": str(n)} for n in range(5)))

    def walk(task: str) -> list[str]:
        return [model.complete(ask(task)).message.text for _ in range(5)]

    with ThreadPoolExecutor(4) as pool:
        walks = list(pool.map(walk, [f"t{n}" for n in range(20)]))
    assert walks == [["0", "1", "2", "3", "4"]] * 20


def test_lines_can_be_for_one_task_or_one_request(tmp_path):
    model = model_of(
        tmp_path,
        {"content": "for a", "task": "a"},
        {"content": "about 巴黎", "when": "巴黎"},
        {"content": "else", "repeat": True},
    )
    assert model.complete(ask("b")).message.text == "else"
    assert model.complete(ask("a")).message.text == "for a"
    assert model.complete(ask("b", "去巴黎")).message.text == "about 巴黎"
    assert [model.complete(ask("b")).message.text for _ in range(3)] == ["else"] * 3


def test_a_script_that_is_too_short_names_itself_and_the_answer(tmp_path):
    model = model_of(tmp_path, {"content": "only one"}, retries=3)
    model.complete(ask())
    with pytest.raises(
        ModelError, match=r"replies\.jsonl' has no line left for answer 2 of task 't1'"
    ):
        model.complete(ask())


def test_scripted_errors_are_retried_like_real_ones(tmp_path):
    model = model_of(
        tmp_path,
        {"error": {"status": 429, "message": "slow", "retry_after": 0.01}},
        {"content": "ok"},
        retries=1,
    )
    assert model.complete(ask()).tries == 2


def test_a_scripted_overflow_is_an_overflow(tmp_path):
    model = model_of(tmp_path, {"error": {"status": 400, "message": "too long", "overflow": True}})
    with pytest.raises(ModelError) as caught:
        model.complete(ask())
    assert caught.value.overflow


def test_a_delay_is_kept(tmp_path):
    reply = model_of(tmp_path, {"content": "late", "delay_s": 0.2}).complete(ask())
    assert reply.duration_s >= 0.2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("not json\n", ":1: not valid JSON"),
        ('{"content": "a"}\n\n[1]\n', ":3: a script line must be an object"),
        ('{"contents": "a"}\n', ":1: unknown key 'contents'"),
        ('{"usage": {}}\n', ":1: a script line needs 'content', 'tool_calls' or 'error'"),
        ('{"tool_calls": [{"arguments": "{}"}]}\n', ":1: 'tool_calls' must be a list"),
    ],
)
def test_a_malformed_script_is_refused_with_its_line(tmp_path, text, says):
    (tmp_path / "s.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        open_script("scripted/s.jsonl", str(tmp_path / "profile.yaml"))
    assert f"s.jsonl'{says}".replace("'", "") in str(caught.value).replace("'", "")


def test_a_missing_script_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"there is no file '.*none\.jsonl'"):
        open_script("scripted/none.jsonl", str(tmp_path / "profile.yaml"))


def test_a_script_is_found_beside_the_profile_before_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles/s.jsonl").write_text('{"content": "beside"}', encoding="utf-8")
    (tmp_path / "s.jsonl").write_text('{"content": "here"}', encoding="utf-8")
    (tmp_path / "only.jsonl").write_text('{"content": "only here"}', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    beside = open_script("scripted/s.jsonl", "profiles/p.yaml")
    assert beside.reply(ask()).message.text == "beside"
    assert (
        open_script("scripted/only.jsonl", "profiles/p.yaml").reply(ask()).message.text
        == "only here"
    )


def test_litellm_is_not_needed(tmp_path):
    (tmp_path / "s.jsonl").write_text('{"content": "x"}', encoding="utf-8")
    code = """if True:
        import sys
        from contextctl.io.models.call import open_model
        from contextctl.model.profile import profile_from_mapping
        from contextctl.model.reply import Request
        profile = profile_from_mapping({"version": 1, "model": {"name": "scripted/s.jsonl"}})
        assert open_model(profile).complete(Request(())).message.content == "x"
        sys.exit("litellm" in sys.modules or "httpx" in sys.modules)
    """
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={"PYTHONPATH": str(root)}, check=False
    )
    assert done.returncode == 0


class TestAsLitellmProvider:
    @pytest.fixture(autouse=True)
    def _here(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        lines = [
            {"tool_calls": [{"name": "w", "arguments": '{"bad'}]},
            {"content": "done", "usage": {"prompt_tokens": 10, "completion_tokens": 2}},
        ]
        # A file of its own for each test: the provider keeps one script a file for the process.
        self.name = f"{tmp_path.name}.jsonl"
        (tmp_path / self.name).write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")

    def test_other_code_s_litellm_calls_replay_it(self, capfd):
        from contextctl.io.models.scripted_provider import register_scripted_provider

        register_scripted_provider()
        register_scripted_provider()
        import litellm

        def call(task: str, *, stream: bool = False):
            return litellm.completion(
                model=f"scripted/{self.name}",
                messages=[{"role": "user", "content": "hi"}],
                metadata={"task": task},
                stream=stream,
            )

        first = call("a").choices[0]
        assert first.message.tool_calls[0].function.arguments == '{"bad'
        assert first.finish_reason == "tool_calls"
        second = call("a")
        assert second.choices[0].message.content == "done"
        assert second.usage.prompt_tokens == 10
        assert call("b").choices[0].message.tool_calls[0].id == "call_1_1"
        streamed = litellm.stream_chunk_builder(list(call("b", stream=True)))
        assert streamed.choices[0].message.content == "done"
        with pytest.raises(litellm.BadRequestError, match="no line left for answer 3"):
            call("a")
        assert capfd.readouterr().out == ""


def test_a_task_that_goes_on_finds_its_place(tmp_path: Path) -> None:
    """What it was answered before is used up, the errors on the way too, and nothing else."""
    script = written(
        tmp_path,
        {"error": {"status": 500}},
        {"content": "one"},
        {"content": "for b", "task": "b"},
        {"tool_calls": [{"name": "look", "arguments": {"b": 1, "a": 2}}]},
        {"content": "one"},
        {"content": "two", "repeat": True},
    )
    call = ToolCall("renamed_2", "look", '{"a": 2, "b": 1}')
    said = (Message("assistant", "one"), Message("assistant", None, (call,)))
    script.continued("a", said)
    assert [reply(script, "a") for _ in range(3)] == ["one", "two", "two"]
    assert reply(script, "b", fails=True) == "status"
    assert [reply(script, "b") for _ in range(2)] == ["one", "for b"]


def test_the_ids_of_calls_go_on_where_they_were(tmp_path: Path) -> None:
    script = written(tmp_path, {"content": "one"}, {"tool_calls": [{"name": "look"}]})
    script.continued("a", [Message("assistant", "one")])
    (call,) = script.reply(
        Request(({"role": "user", "content": "x"},), task="a")
    ).message.tool_calls
    assert call.id == "call_2_1"


def written(folder: Path, *lines: dict[str, Any]) -> Script:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "place.jsonl").write_text(text, encoding="utf-8")
    return open_script(f"scripted/{folder / 'place.jsonl'}")


def reply(script: Script, task: str, *, fails: bool = False) -> str:
    request = Request(({"role": "user", "content": "x"},), task=task)
    if not fails:
        return script.reply(request).message.text
    with pytest.raises(ModelFault) as caught:
        script.reply(request)
    return caught.value.kind
