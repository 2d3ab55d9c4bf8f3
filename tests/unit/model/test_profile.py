"""The profile as a value: defaults, digest, origins, edits."""

from dataclasses import replace

import pytest

from contextctl.model.profile import Origin, edited, profile_from_mapping

SMALL = {"version": 1, "model": {"name": "scripted/x", "window": 8192}}


def test_the_smallest_profile_has_the_contracts_defaults() -> None:
    profile = profile_from_mapping(SMALL)
    assert (profile.model.window, profile.model.reserve_output) == (8192, 4096)
    assert (profile.budget.zones.warn, profile.budget.zones.danger) == (0.60, 0.85)
    assert (profile.budget.reduce.trigger, profile.budget.reduce.target) == (0.65, 0.50)
    assert [profile.history.keep_turns.at(z) for z in ("safe", "warn", "danger", "overflow")] == [
        12,
        6,
        3,
        3,
    ]
    assert profile.max_tokens_for("anything") == 2500
    assert profile.workspace.tools[0] == "read_workspace"


def test_a_tools_own_cap_wins_over_shaping() -> None:
    profile = profile_from_mapping(
        SMALL
        | {
            "shaping": {"max_tokens": 900},
            "tools": {"a": {"result": {"max_tokens": 100}}, "b": {"result": {"text": {"head": 9}}}},
        }
    )
    assert [profile.max_tokens_for(t) for t in "abc"] == [100, 900, 900]
    assert (profile.text_cut_for("b").head, profile.text_cut_for("b").tail) == (9, 500)


def test_a_command_may_be_one_string() -> None:
    profile = profile_from_mapping(SMALL | {"tools": {"t": {"command": "grep -n 'two words'"}}})
    assert profile.tools["t"].command == ("grep", "-n", "two words")
    assert profile.tools["t"].kind == "command"


def test_its_json_gives_the_same_profile_back() -> None:
    profile = profile_from_mapping(
        SMALL
        | {
            "prefix": [{"id": "core", "text": "Be brief."}, {"id": "env", "environment": ["date"]}],
            "budget": {"caps": {"retrieved": 8000, "tool_results": 0.5}},
            "tools": {"t": {"python": "a:b", "result": {"fields": ["id"], "page": {"limit": 3}}}},
        }
    )
    again = profile_from_mapping(profile.to_json())
    assert again == profile
    assert again.digest == profile.digest
    assert [layer.stability for layer in again.prefix] == ["static", "step"]


def test_the_digest_follows_every_change_and_nothing_else() -> None:
    profile = profile_from_mapping(SMALL)
    spelled = profile_from_mapping(SMALL | {"budget": {"zones": {"warn": 0.60}}})
    assert spelled.digest == profile.digest
    changed = replace(profile, pins=("task",))
    assert changed.digest != profile.digest
    assert replace(profile, path="elsewhere.yaml").digest == profile.digest


def test_a_secret_is_in_neither_json_digest_nor_repr() -> None:
    raw = {"/model/api_base": "${BASE}"}
    one, two = (
        profile_from_mapping(
            SMALL | {"model": {"name": "m", "api_base": value}},
            raw_texts=raw,
            secrets={"BASE": value},
        )
        for value in ("http://s3cret-one", "http://s3cret-two")
    )
    assert one.model.api_base == "http://s3cret-one"
    assert one.digest == two.digest
    assert "s3cret" not in repr(one) + str(one.to_json())


def test_an_origin_is_the_nearest_declared_parents() -> None:
    profile = profile_from_mapping(
        SMALL,
        {
            "/model": Origin("/model", "profiles/coder.yaml", 3),
            "/model/window": Origin("/model/window", "--set model.window"),
        },
    )
    assert profile.origin("/model/name") == "profiles/coder.yaml:3"
    assert profile.origin("/model/window") == "--set model.window"
    assert profile.origin("/budget/zones/warn") == ""
    assert profile.origin("/modelling") == ""


def test_an_edit_changes_one_value_and_drops_its_raw_text() -> None:
    profile = profile_from_mapping(
        {"version": 1, "model": {"name": "m", "window": 8192}},
        raw_texts={"/model/window": "${W}"},
    )
    wider = edited(profile, "/model/window", 16384)
    assert wider.model.window == 16384
    assert wider.to_json()["model"]["window"] == 16384  # type: ignore[index,call-overload]
    with pytest.raises(ValueError, match="/model/nothing"):
        edited(profile, "/model/nothing", 1)


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"version": 1}, "'model' is required"),
        (SMALL | {"budgt": {}}, "unknown key 'budgt'"),
        (SMALL | {"budget": {"zones": {"wrn": 1}}}, "unknown key 'budget.zones.wrn'"),
        (SMALL | {"pins": "task"}, "'pins' must be a list, got str"),
    ],
)
def test_a_wrong_mapping_is_named(mapping: dict, message: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(ValueError, match=message):
        profile_from_mapping(mapping)
