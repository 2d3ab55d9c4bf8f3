"""Task files: every problem at its line, stable ids, whatever the file went through."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from contextctl.errors import UsageError
from contextctl.io.profile.shipped import schema
from contextctl.io.runs.tasks import KEYS, read_tasks, task_from_json
from contextctl.model.task import CHECKS


def read(tmp_path: Path, *lines: Any) -> Any:
    path = tmp_path / "tasks.jsonl"
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text("\n".join(texts), "utf-8")
    return read_tasks(path)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "write one whole JSON object on each line"),
        ('{"id": "a", "input": "x"', "not valid JSON"),
        ("[]", "a task is a JSON object, not an empty list"),
        ("[", "write one whole JSON object on each line"),
        ("3", "a task is a JSON object, not a number"),
        ("[" * 50_000, "not usable JSON: nested too deeply"),
        ({"id": "a", "prompt": "x"}, "unknown key 'prompt'; did you mean 'input'?"),
        ({"id": "a", "input": "x", "expekt": {}}, "did you mean 'expect'?"),
        ({"id": "a"}, "needs 'input' or 'messages'"),
        ({"id": "a", "input": "x", "messages": [{"role": "user"}]}, "not both"),
        ({"id": "a", "input": " "}, "'input' must be a text that is not empty"),
        ({"id": "", "input": "x"}, "'id' must be a text that is not empty"),
        ({"id": True, "input": "x"}, "'id' must be"),
        ({"id": "a", "messages": []}, "'messages' must be a list that is not empty"),
        ({"id": "a", "messages": [{"content": "x"}]}, "'messages[0]': a message needs a 'role'"),
        ({"id": "a", "messages": ["hi"]}, "'messages[0]': a message is an object, not a text"),
        ({"id": "a", "input": "x", "constraints": "y"}, "'constraints' must be a list"),
        ({"id": "a", "input": "x", "constraints": [1]}, "'constraints[0]' must be a text"),
        ({"id": "a", "input": "x", "tools": [{"x": 1}]}, "'tools[0]': a tool needs"),
        ({"id": "a", "input": "x", "retrieved": [{"id": 1}]}, "'retrieved[0]' must be a text"),
        ({"id": "a", "input": "x", "expect": {"regexp": "x"}}, "did you mean 'regex'?"),
        ({"id": "a", "input": "x", "expect": {"regex": "("}}, "no regular expression"),
        ({"id": "a", "input": "x", "expect": {"python": "f"}}, "written as module:function"),
    ],
)
def test_what_is_wrong_is_told_at_its_line(tmp_path, line, says):
    with pytest.raises(UsageError) as caught:
        read(tmp_path, {"id": "ok", "input": "fine"}, line)
    assert f"{tmp_path / 'tasks.jsonl'}:2: " in str(caught.value)
    assert says in str(caught.value)


def test_all_problems_are_told_at_once(tmp_path):
    with pytest.raises(UsageError) as caught:
        read(tmp_path, {"id": "a"}, "{", {"id": "b", "input": 3, "pins": []})
    lines = str(caught.value).split("\n")
    assert [line.rpartition("tasks.jsonl:")[2][0] for line in lines] == ["1", "2", "3", "3"]


def test_an_id_twice_names_both_lines(tmp_path):
    with pytest.raises(UsageError, match=r":3: the id 'a' stands on line 1 already"):
        read(tmp_path, *({"id": name, "input": str(n)} for n, name in enumerate("aba")))


def test_ids_come_from_the_content_and_stay(tmp_path):
    first = read(tmp_path, {"input": "x"}, {"input": "y"}, {"input": "x"})
    again = read(tmp_path, {"input": "new"}, {"input": "x"}, {"input": "y"}, {"input": "x"})
    assert [task.id for task in first] == [task.id for task in again[1:]]
    assert len({task.id for task in again}) == 4
    assert first[2].id == first[0].id + "-2"


def test_the_digest_is_the_content_without_id_and_tags():
    def digest(**keys: Any) -> str:
        return task_from_json({"id": "a", "input": "x", **keys}).digest

    same = digest()
    assert digest(tags=["x"]) == digest(subject=None) == same
    assert task_from_json({"input": "x", "id": "b"}).digest == same
    assert digest(constraints=["y"]) != same
    assert digest(expect={"contains": "y"}) != same


def test_windows_line_ends_a_byte_order_mark_and_blank_lines(tmp_path):
    path = tmp_path / "tasks.jsonl"
    text = '\ufeff{"id": "一", "input": "甲"}\r\n\r\n{"id": 2, "input": "乙"}'
    path.write_bytes(text.encode())
    assert [(task.id, task.input) for task in read_tasks(path)] == [("一", "甲"), ("2", "乙")]


def test_standard_input_and_what_cannot_be_read(tmp_path):
    (task,) = read_tasks("-", stdin=b'{"input": "x"}')
    assert task.source == "<stdin>:1"
    for data, says in ((b"", "no task"), (b'{"input": "\xff"}', "<stdin>:1: not UTF-8")):
        with pytest.raises(UsageError, match=says):
            read_tasks("-", stdin=data)
    with pytest.raises(UsageError, match="there is no task file"):
        read_tasks(tmp_path / "nowhere.jsonl")


def test_tools_are_names_or_schemas():
    def tools(*given: Any) -> Any:
        task = task_from_json({"id": "a", "input": "x", "tools": [*given]})
        return task.tools, [spec.name for spec in task.tool_specs]

    spec = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    assert tools() == ((), [])
    assert tools("a", "b") == (("a", "b"), [])
    assert tools(spec) == (None, ["f"])
    assert tools("a", spec) == (("a",), ["f"])


def test_keys_and_checks_are_those_of_the_published_schema():
    properties = schema("task")["properties"]
    assert set(KEYS) == set(properties)
    assert set(CHECKS) == set(properties["expect"]["properties"])
