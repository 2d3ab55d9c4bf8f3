"""Python functions as tools: schema, arguments, results, exceptions, limits."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from contextctl.errors import ToolError
from contextctl.io.tools.toolbox import Toolbox, open_tools
from contextctl.model.profile import profile_from_mapping

HERE = Path(__file__).parent


def toolbox(
    folder: Path = HERE, module: str = "tool_functions", **tools: dict[str, Any]
) -> Toolbox:
    rules = {name: {"python": f"{module}:{name}", **rule} for name, rule in tools.items()}
    mapping = {"version": 1, "model": {"name": "gpt-4o"}, "tools": rules}
    return open_tools(profile_from_mapping(mapping, path=str(folder / "profile.yaml")))


def test_the_schema_comes_from_the_signature_and_the_docstring():
    (spec,) = toolbox(order={}).specs()
    assert spec.description == "Place an order.\n\nIt is sent the same day."
    parameters = json.loads(json.dumps(spec.parameters))
    properties = parameters["properties"]
    assert parameters["required"] == ["order_id", "when"]
    assert parameters["additionalProperties"] is False
    assert properties["order_id"] == {
        "type": "string",
        "description": "the number on the receipt",
    }
    assert properties["when"] == {
        "type": "string",
        "format": "date",
        "description": "the day of delivery",
    }
    assert properties["kind"] == {"type": "string", "enum": ["new", "used"], "default": "new"}
    assert properties["count"]["description"] == "how many"
    assert properties["count"]["minimum"] == 1
    assert properties["title"] == {"type": "string", "default": ""}
    assert '"title": "' not in json.dumps(parameters)


def test_sphinx_docstrings_are_read_too():
    (spec,) = toolbox(sphinx={}).specs()
    described = {key: rule["description"] for key, rule in spec.parameters["properties"].items()}
    assert (spec.description, described) == (
        "Forecast.",
        {"city": "where", "days": "how far ahead"},
    )


def test_a_profile_s_own_description_and_parameters_win():
    schema = {"type": "object", "properties": {"order_id": {"type": "string"}}}
    (spec,) = toolbox(order={"description": "mine", "parameters": schema}).specs()
    assert (spec.description, spec.parameters) == ("mine", schema)


def test_arguments_arrive_as_what_the_annotations_say():
    arguments = {"order_id": "A1", "when": "2024-05-01", "address": {"street": "中山路"}}
    outcome = toolbox(order={}).call("order", json.dumps(arguments))
    assert outcome.content == '{"id":"A1","day":"2024-05-01","street":"中山路"}'
    assert outcome.status == "ok"


def test_a_value_of_the_right_kind_that_means_nothing_is_an_error_result():
    outcome = toolbox(order={}).call("order", '{"order_id": "A1", "when": "someday"}')
    assert outcome.status == "error"
    assert outcome.content.startswith("error: ValueError: the arguments do not fit: 'when': ")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"order_id": 5, "when": "x"}, "'order_id' must be a string, not 5"),
        ({"order_id": "a"}, "missing 'when'"),
        ({"order_id": "a", "when": "x", "kind": "old"}, '\'kind\' must be one of "new", "used"'),
        ({"order_id": "a", "when": "x", "tags": [1]}, "'tags[0]' must be a string, not 1"),
        ({"order_id": "a", "when": "x", "tags": 5}, "'tags' must be an array or null, not 5"),
        ({"order_id": "a", "when": "x", "address": {}}, "missing 'address.street'"),
        ({"order_id": "a", "when": "x", "count": 0}, "'count': 0 is less than the minimum of 1"),
        ({"order_id": "a", "when": "x", "counts": 2}, "unknown 'counts' (did you mean 'count'?)"),
        ({"order_id": True, "when": "x"}, "'order_id' must be a string, not true"),
    ],
)
def test_arguments_that_do_not_fit_are_named_and_nothing_runs(arguments, says):
    outcome = toolbox(order={}).call("order", json.dumps(arguments))
    assert says in outcome.content
    assert outcome.content.endswith("; 'order' was not run")
    assert outcome.status == "error"


def test_many_faults_are_counted_not_listed():
    arguments = {f"unknown_{n}": n for n in range(9)}
    outcome = toolbox(ping={}).call("ping", json.dumps(arguments))
    assert outcome.content.count("unknown '") == 5
    assert "and 4 more" in outcome.content


def test_a_lone_surrogate_is_refused_before_it_reaches_the_tool():
    outcome = toolbox(sphinx={}).call("sphinx", '{"city": "Par\\ud83d"}')
    assert "half of a character" in outcome.content


def test_any_argument_names_if_the_function_takes_them():
    assert toolbox(anything={}).call("anything", '{"x": 1}').content == '{"x":1}'


@pytest.mark.parametrize("raw", ["", " ", "{}", "null"])
def test_a_tool_without_parameters_runs_on_nothing(raw):
    assert toolbox(ping={}).call("ping", raw).content == "pong"


def test_an_exception_is_its_type_and_words_without_a_traceback():
    outcome = toolbox(fails={}).call("fails", '{"message": "no stock of 笔"}')
    assert (outcome.content, outcome.status) == ("error: ValueError: no stock of 笔", "error")
    long = toolbox(fails={}).call("fails", json.dumps({"message": "x" * 100_000}))
    assert len(long.content) < 2_100


def test_a_tool_that_exits_does_not_take_the_run_with_it():
    assert toolbox(leaves={}).call("leaves", "").content == "error: SystemExit: 3"


def test_what_a_tool_prints_is_not_the_command_s_output(capsys):
    assert toolbox(loud={}).call("loud", "").content == "quiet"
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "this is for people\n"


def test_async_functions_are_awaited_and_cancelled_in_time():
    tools = toolbox(later={"timeout_s": 0.3})
    assert tools.call("later", '{"seconds": 0.01}').content == "awake"
    started = time.monotonic()
    outcome = tools.call("later", '{"seconds": 30}')
    assert outcome.content == "error: no result within 0.3 s; the function was cancelled"
    assert time.monotonic() - started < 2


def test_a_function_that_blocks_is_given_up():
    started = time.monotonic()
    outcome = toolbox(block={"timeout_s": 0.3}).call("block", '{"seconds": 2}')
    assert outcome.status == "error"
    assert "no result within 0.3 s; the function was left running" in outcome.content
    assert time.monotonic() - started < 1.5


class TestLoading:
    def test_modules_are_found_beside_the_profile_and_two_profiles_do_not_mix(self, tmp_path):
        boxes = []
        for name in ("one", "two"):
            folder = tmp_path / name
            folder.mkdir()
            (folder / "same_name.py").write_text(f"def who(): return {name!r}\n", encoding="utf-8")
            boxes.append(toolbox(folder, "same_name", who={}))
        assert [box.call("who", "").content for box in boxes] == ["one", "two"]

    def test_a_tool_from_an_extended_profile_is_found_beside_that_file(self, tmp_path):
        from contextctl.model.profile import Origin

        base = tmp_path / "base"
        base.mkdir()
        (base / "base_tools.py").write_text("def who(): return 'base'\n", encoding="utf-8")
        mapping = {
            "version": 1,
            "model": {"name": "gpt-4o"},
            "tools": {"who": {"python": "base_tools:who"}},
        }
        origin = Origin("/tools/who/python", str(base / "base.yaml"), 3)
        profile = profile_from_mapping(
            mapping, {origin.pointer: origin}, path=str(tmp_path / "profile.yaml")
        )
        assert open_tools(profile).call("who", "").content == "base"

    @pytest.mark.parametrize(
        ("target", "says"),
        [
            ("tool_functions", "must be written as module:function"),
            ("no_such_module_at_all:f", "cannot import 'no_such_module_at_all'"),
            ("tool_functions:pong", "has no 'pong'; it has anything"),
            ("tool_functions:not_a_function", "is a int, not a function"),
            ("tool_functions:positional", "parameter 'a' can only be given by position"),
        ],
    )
    def test_what_cannot_be_loaded_is_said_with_its_place(self, target, says):
        from contextctl.model.profile import Origin

        mapping = {"version": 1, "model": {"name": "m"}, "tools": {"t": {"python": target}}}
        path = str(HERE / "profile.yaml")
        origins = {"/tools/t": Origin("/tools/t", path, 12)}
        with pytest.raises(ToolError) as caught:
            open_tools(profile_from_mapping(mapping, origins, path=path))
        assert says in str(caught.value)
        assert "profile.yaml:12: tool 't'" in str(caught.value)

    def test_a_module_that_fails_to_import_says_why(self, tmp_path):
        (tmp_path / "broken.py").write_text("import nothing_like_this\n", encoding="utf-8")
        with pytest.raises(
            ToolError, match="ModuleNotFoundError: No module named 'nothing_like_this'"
        ):
            toolbox(tmp_path, "broken", f={})
