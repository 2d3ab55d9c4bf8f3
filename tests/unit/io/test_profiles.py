"""Profiles from disk: merged, filled in, with origins; names, sets, secrets, windows."""

from pathlib import Path

import pytest

from contextctl.errors import ProfileError, UsageError
from contextctl.io.profile.load import check_profile, load_profile
from contextctl.io.profile.notyet import NOT_YET, not_yet
from contextctl.io.profile.rules import placed
from contextctl.io.profile.saved import restore_profile
from contextctl.io.profile.schema_lookup import schema_at
from contextctl.io.profile.shipped import schema
from contextctl.io.profile.windows import resolve_window
from contextctl.model.profile import Profile, pointer_parts

SHIPPED = ("base", "dev", "staging", "prod", "aibuddy", "zones")


@pytest.fixture(autouse=True)
def _in_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, text: str) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def loaded(text: str, *sets: str, **env: str) -> Profile:
    return load_profile(write("p.yaml", text), sets, env)


SMALL = "version: 1\nmodel: {name: scripted/x}\n"


def test_mappings_merge_scalars_and_lists_replace_null_removes() -> None:
    write(
        "shared/root.yaml",
        "version: 1\nmodel: {name: scripted/x, retries: 9}\npins: [task, todo]\n",
    )
    write(
        "shared/mid.yaml",
        "extends: root.yaml\nmodel: {window: 100000, retries: null}\n"
        "tools:\n  t: {result: {fields: [a, b], page: {limit: 5}}}\n  gone: {}\n",
    )
    write(
        "child.yaml",
        "extends: shared/mid.yaml\npins: [task]\n"
        "tools:\n  gone: null\n  t: {result: {fields: [c]}}\n",
    )
    profile = load_profile("child.yaml")
    assert (profile.model.window, profile.model.retries) == (100000, 3)
    assert profile.pins == ("task",)
    assert set(profile.tools) == {"t"}
    assert profile.tools["t"].result.fields == ("c",)
    assert profile.tools["t"].result.page is not None
    assert profile.tools["t"].result.page.limit == 5


def test_of_several_parents_the_later_wins_and_the_file_over_all() -> None:
    write("a.yaml", "version: 1\nmodel: {name: scripted/a, window: 5000}\nname: a\n")
    write("b.yaml", "model: {window: 6000}\nname: b\n")
    profile = loaded("extends: [a.yaml, b.yaml]\nname: c\n")
    assert (profile.model.name, profile.model.window, profile.name) == ("scripted/a", 6000, "c")


def test_a_partial_zone_mapping_keeps_the_other_zones() -> None:
    profile = loaded(SMALL + "history: {keep_turns: {safe: 20}}\n")
    assert [profile.history.keep_turns.at(z) for z in ("safe", "warn", "danger")] == [20, 6, 3]


def test_the_origin_of_each_value_survives_extends_and_set() -> None:
    write(
        "profiles/base.yaml", SMALL + "budget:\n  zones: {warn: 0.5}\n  reduce:\n    target: 0.3\n"
    )
    write("profiles/coder.yaml", "extends: base.yaml\nbudget:\n  zones:\n    danger: 0.9\n")
    profile = load_profile("profiles/coder.yaml", ["budget.reduce.trigger=0.7"])
    assert profile.origin("/budget/zones/warn") == "profiles/base.yaml:4"
    assert profile.origin("/budget/zones/danger") == "profiles/coder.yaml:4"
    assert profile.origin("/budget/reduce/target") == "profiles/base.yaml:6"
    assert profile.origin("/budget/reduce/trigger") == "--set budget.reduce.trigger"
    assert profile.origin("/budget/zones") == "profiles/coder.yaml:3"
    assert profile.origin("/budget/basis") == "profiles/coder.yaml:2"  # the nearest declared parent
    assert profile.origin("/shaping/max_tokens") == ""
    assert profile.path == "profiles/coder.yaml"


@pytest.mark.parametrize(
    ("text", "pointer_value"),
    [
        ("model.window=16384", ("window", 16384)),
        ("model.reserve_output = 0x100", ("reserve_output", 256)),
        ("model.name=scripted/other: a", ("name", "scripted/other: a")),
        (
            "model.params={temperature: 0, stop: [a, b]}",
            ("params", {"temperature": 0, "stop": ["a", "b"]}),
        ),
        ('model.api_base="http://127.0.0.1:1"', ("api_base", "http://127.0.0.1:1")),
        ("model.retries=null", ("retries", 3)),
    ],
)
def test_a_set_value_is_read_as_yaml(text: str, pointer_value: tuple[str, object]) -> None:
    field, value = pointer_value
    assert getattr(loaded(SMALL + "plan: {}\n", text).model, field) == value


def test_sets_reach_quoted_keys_and_list_items() -> None:
    text = SMALL + "prefix: [{id: a, text: x}, {id: b, text: y}]\n"
    profile = loaded(text, 'tools."a.b".timeout_s=7', "prefix[1].text=z", "budget.caps.retrieved=9")
    assert profile.tools["a.b"].timeout_s == 7
    assert [layer.text for layer in profile.prefix] == ["x", "z"]
    assert dict(profile.budget.caps) == {"retrieved": 9}


@pytest.mark.parametrize(
    "text", ["model.window", "=1", "prefix[3].text=a", "model.[=1", "extends=x", "a.=1", "pins=[a"]
)
def test_a_malformed_set_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="--set"):
        loaded(SMALL + "prefix: [{id: a, text: x}]\n", text)


def test_an_unknown_set_key_gets_a_suggestion() -> None:
    _, problems = check_profile(write("p.yaml", SMALL), ["budget.reduce.targt=0.3"])
    (problem,) = problems
    place, message = "--set budget.reduce.targt", "budget.reduce.targt: unknown key 'targt'"
    assert str(problem) == f"{place}: {message} (did you mean 'target'?)"


def test_variables_are_filled_in_and_what_was_written_is_what_is_saved() -> None:
    text = (
        "version: 1\nmodel:\n  name: scripted/x\n  window: ${WINDOW:-8192}\n"
        "  api_base: http://${HOST}/v1\n  params: {api_key: '${KEY}', n: 2}\n"
        "reminders: {shell: 'print $${HOME}'}\n"
    )
    profile = loaded(text, HOST="s3cret.host", KEY="12345")
    assert profile.model.window == 8192
    assert profile.model.api_base == "http://s3cret.host/v1"
    assert dict(profile.model.params) == {"api_key": "12345", "n": 2}
    assert profile.reminders["shell"] == "print ${HOME}"
    assert dict(profile.secrets) == {"HOST": "s3cret.host", "KEY": "12345"}
    saved = profile.to_json()
    assert saved["model"] == {
        "name": "scripted/x",
        "window": "${WINDOW:-8192}",
        "reserve_output": 4096,
        "params": {"api_key": "${KEY}", "n": 2},
        "api_base": "http://${HOST}/v1",
        "fallbacks": [],
        "timeout_s": 120,
        "retries": 3,
    }
    assert "s3cret" not in repr(profile)
    assert loaded(text, HOST="another", KEY="1", WINDOW="9000").digest == profile.digest


def test_a_secret_of_the_wrong_type_is_not_quoted_in_the_error() -> None:
    path = write("p.yaml", "version: 1\nmodel: {name: scripted/x, retries: '${KEY}'}\n")
    with pytest.raises(ProfileError) as raised:
        load_profile(path, env={"KEY": "s3cret"})
    assert "s3cret" not in str(raised.value)
    assert "${KEY}" in str(raised.value)


def test_a_saved_profile_comes_back_with_its_digest() -> None:
    write("core.md", "Say ${THIS} as it is.\n")
    text = (
        SMALL + "prefix: [{id: core, file: core.md}, {id: t, text: 'a $${b}'}]\n"
        "reminders: {who: '${WHO}'}\n"
    )
    profile = loaded(text, WHO="s3cret")
    assert profile.prefix[0].text == "Say ${THIS} as it is.\n"
    again = restore_profile(profile.to_json(), {"WHO": "s3cret"})
    assert again.digest == profile.digest
    assert [layer.text for layer in again.prefix] == ["Say ${THIS} as it is.\n", "a ${b}"]
    assert again.reminders == {"who": "s3cret"}


def test_a_saved_profile_can_be_looked_at_without_its_secrets() -> None:
    text = "version: 1\nmodel: {name: scripted/x, api_base: 'http://${H}', retries: '${N}'}\n"
    profile = loaded(text, H="s3cret", N="5")
    assert profile.model.retries == 5
    again = restore_profile(profile.to_json(), {})
    assert again.digest == profile.digest
    assert (again.model.api_base, again.model.retries) == ("http://${H}", 3)


def test_paths_are_relative_to_the_file_that_names_them() -> None:
    write("lib/prompts/core.md", "from lib")
    write(
        "lib/base.yaml",
        SMALL + "prefix: [{id: core, file: prompts/core.md}]\nworkspace: {path: ws}\n",
    )
    profile = loaded("extends: lib/base.yaml\n")
    assert profile.prefix[0].text == "from lib"
    assert profile.workspace.path == str(Path("lib/ws").absolute())
    saved = profile.to_json()
    assert saved["workspace"]["path"] == "ws"  # type: ignore[index, call-overload]
    assert str(Path.cwd()) not in str(saved)


def test_the_digest_follows_the_text_of_a_file() -> None:
    write("core.md", "one")
    text = SMALL + "prefix: [{id: core, file: core.md}]\n"
    before = loaded(text).digest
    assert loaded(text).digest == before
    write("core.md", "two")
    assert loaded(text).digest != before


def test_a_bare_name_is_found_upward_then_among_the_shipped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write("profiles/mine.yaml", SMALL + "name: mine\n")
    Path("deep/er").mkdir(parents=True)
    monkeypatch.chdir("deep/er")
    profile = load_profile("mine", env={})
    assert (profile.name, Path(profile.path).name) == ("mine", "mine.yaml")
    shipped = load_profile("prod", env={})
    assert shipped.path == "contextctl/profiles/prod.yaml"
    with pytest.raises(UsageError, match="did you mean 'mine'"):
        load_profile("mime")
    with pytest.raises(UsageError, match="no profile 'profiles/nope\\.yaml'"):
        load_profile("profiles/nope.yaml")


def test_a_profile_may_extend_a_shipped_one_by_name() -> None:
    profile = loaded("extends: zones\nname: own\n")
    assert profile.retrieval.top_k.safe == 8
    assert profile.origin("/retrieval/top_k/safe").startswith("contextctl/profiles/zones.yaml:")


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_profiles_have_no_error_and_no_warning(name: str) -> None:
    profile, problems = check_profile(name, env={})
    assert [problem for problem in problems if problem.severity != "note"] == []
    assert profile is not None
    assert profile.name == name
    assert resolve_window(profile).model.window


def test_the_two_reference_profiles_have_the_references_numbers() -> None:
    aibuddy, zones = load_profile("aibuddy", env={}), load_profile("zones", env={})
    assert aibuddy.budget.basis == "remaining"
    assert (aibuddy.budget.reduce.trigger, aibuddy.budget.reduce.target) == (0.65, 0.50)
    assert (aibuddy.compaction.when.ratio, aibuddy.compaction.protect_steps) == (0.65, 5)
    assert (zones.budget.zones.warn, zones.budget.zones.danger) == (0.60, 0.85)
    turns, top_k = zones.history.keep_turns, zones.retrieval.top_k
    assert (turns.safe, turns.warn, turns.danger) == (12, 6, 3)
    assert (top_k.safe, top_k.warn, top_k.danger) == (8, 5, 3)


def test_fallbacks_get_their_windows_too() -> None:
    profile = loaded(
        "version: 1\nmodel:\n  name: gpt-4o\n"
        "  fallbacks: [scripted/y, {name: local/llama, window: 4096}]\n"
    )
    resolved = resolve_window(profile)
    assert resolved.model.window == 128000
    assert [fallback.window for fallback in resolved.model.fallbacks] == [32768, 4096]


def test_keys_not_acted_on_are_named_with_their_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NOT_YET, "/plan", "no plan is kept")
    monkeypatch.setitem(NOT_YET, "/memory", "nothing is remembered")
    profile = loaded(SMALL + "plan: {enabled: true}\nmemory: {enabled: false}\n")
    told = [str(placed(profile, found)) for found in not_yet(profile)]
    assert told == ["p.yaml:3: plan: not acted on yet: no plan is kept"]


def test_every_key_not_acted_on_is_a_key_of_the_schema() -> None:
    for pointer in NOT_YET:
        way = [
            0 if part == "*" and "prefix" in pointer else part for part in pointer_parts(pointer)
        ]
        assert schema_at(schema("profile"), way) is not None, pointer


def test_a_file_read_twice_through_two_parents_is_no_circle() -> None:
    write("root.yaml", SMALL)
    write("a.yaml", "extends: root.yaml\nname: a\n")
    write("b.yaml", "extends: root.yaml\nlimits: {max_steps: 5}\n")
    profile = loaded("extends: [a.yaml, b.yaml]\n")
    assert (profile.name, profile.limits.max_steps) == ("a", 5)


def test_the_contracts_example_has_the_values_it_shows(
    monkeypatch: pytest.MonkeyPatch, root: Path
) -> None:
    monkeypatch.chdir(root / "tests" / "example-files" / "profiles" / "positive")
    profile = load_profile("contract.yaml", env={})
    tool = profile.tools["list_orders"]
    assert tool.kind == "python"
    assert tool.result.fields == ("id", "status", "total", "customer.name", "items[].sku")
    assert tool.result.page is not None
    assert (tool.result.page.limit, tool.result.page.cursor, tool.result.page.total) == (
        20,
        "id",
        "total",
    )
    assert [layer.kind for layer in profile.prefix] == [
        "file",
        "text",
        "index",
        "index",
        "environment",
    ]
    assert profile.prefix[0].text == "You help at the order desk.\n"
    assert profile.budget.reduce.trigger == 0.65  # its own, over 0.7 in base.yaml
    assert profile.subagents["reader"].max_steps == 12
    assert profile.origin("/tools/list_orders/result") == "contract.yaml:33"
