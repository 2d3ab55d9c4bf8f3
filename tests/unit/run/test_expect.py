"""What an answer is checked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextctl.io.runs.tasks import task_from_json
from contextctl.run.expect import check_answer, failed_checks

SCHEMA = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("expect", "answer", "why"),
    [
        ({"contains": "订单"}, "你的订单好了", ""),
        ({"contains": ["a", "b"]}, "only a", '"b" is not in it'),
        ({"regex": r"^\d{6}$"}, "000417", ""),
        ({"regex": ["x", "y+"]}, "x", '"y+" is not found'),
        ({"equals": " yes\n"}, "yes", ""),
        ({"equals": "yes"}, "Yes", "it is not 'yes'"),
        ({"equals": {"n": 1}}, '{ "n": 1 }', ""),
        ({"equals": 1}, "one", "it is not JSON"),
        ({"json_schema": SCHEMA}, '```json\n{"n": 3}\n```', ""),
        ({"json_schema": SCHEMA}, '{"n": "3"}', "$.n: '3' is not of type 'integer'"),
        ({"json_schema": SCHEMA}, "three", "it is not JSON"),
    ],
)
def test_each_check(expect, answer, why):
    (check,) = check_answer(task_from_json({"id": "t", "input": "x", "expect": expect}), answer)
    assert check["check"] == next(iter(expect))
    assert check["passed"] is (why == "")
    assert str(check.get("why", "")).startswith(why)


def test_a_function_of_the_user_decides(tmp_path: Path):
    (tmp_path / "verdicts.py").write_text(
        "def one(answer): return answer == 'x'\n"
        "def two(answer, task): return '' if task['id'] == 't' else 'other task'\n"
        "def bad(answer): raise RuntimeError('oh')\n"
    )

    def why(name: str) -> str:
        raw = {"id": "t", "input": "x", "expect": {"python": f"verdicts:{name}"}}
        return failed_checks(check_answer(task_from_json(raw, f"{tmp_path}/tasks.jsonl:1"), "x"))

    assert why("one") == ""
    assert why("two") == ""
    assert "verdicts:bad raised RuntimeError: oh" in why("bad")
    assert "no 'nowhere'" in why("nowhere")


def test_no_expectation_checks_nothing():
    assert check_answer(task_from_json({"id": "t", "input": "x"}), "x") == ()
