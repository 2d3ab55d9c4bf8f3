"""Laws of profiles: what is written comes back, and no file, however odd, ends in a traceback."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from contextctl.errors import UsageError
from contextctl.io.profile.load import check_profile, load_profile
from contextctl.io.profile.shipped import schema
from contextctl.io.profile.yaml_nodes import Node, Scalar, Table, plain
from contextctl.io.profile.yaml_positions import Document, YamlError, read_yaml
from contextctl.model.profile import profile_from_mapping
from contextctl.report.profile_text import profile_yaml

# No control characters and no halves of pairs: YAML has no way to write them plainly.
words = st.text(st.characters(exclude_categories=("Cc", "Cs")), max_size=12)
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
values = st.recursive(
    scalars | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=20,
)
share = st.floats(0.01, 1, exclude_max=True).map(lambda x: round(x, 3))
texts = words.filter(lambda text: "${" not in text)
names = st.from_regex(r"[a-z_][a-z0-9_.-]{0,8}", fullmatch=True)


@given(values)
def test_json_is_yaml_and_means_the_same(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=True).encode("ascii", "strict").decode()
    if "\\ud" in text:  # a character beyond 16 bits is written as two halves in JSON, not in YAML
        return
    document = read_yaml(text)
    assert document.faults == ()
    assert plain(document.root) == value


@given(st.dictionaries(st.from_regex(r"[a-z]{3,8}", fullmatch=True), values, max_size=5))
def test_block_style_comes_back_and_keys_stand_where_they_say(value: Any) -> None:
    # In quotes, since PyYAML writes by YAML 1.1: 0E0 and 0o7 would be text there, and numbers here.
    text = yaml.safe_dump(value, sort_keys=False, default_flow_style=False, default_style='"')
    document = read_yaml(text)
    assert plain(document.root) == value
    lines = text.splitlines()
    if isinstance(document.root, Table):
        for key, entry in document.root.entries.items():
            place = entry.key_place
            assert lines[place.line - 1][place.column - 1 :].lstrip("'\"").startswith(key)


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda t: t.encode("utf-8", "replace")))
def test_any_bytes_give_values_or_an_error_with_a_place(raw: bytes) -> None:
    read = _read(raw)
    if isinstance(read, YamlError):
        assert read.fault.place.line >= 1
        assert read.fault.place.column >= 1
    else:
        _check_places(read.root)


def _read(raw: bytes) -> Document | YamlError:
    try:
        return read_yaml(raw)
    except YamlError as error:
        return error


def _check_places(node: Node | None) -> None:
    if isinstance(node, Scalar):
        assert node.place.line >= 1
    elif isinstance(node, Table):
        assert all(isinstance(key, str) for key in node.entries)


profiles = st.fixed_dictionaries(
    {"version": st.just(1), "model": st.fixed_dictionaries({"name": st.just("scripted/x")})},
    optional={
        "name": texts,
        "pins": st.lists(st.sampled_from(["task", "constraints", "todo"]), unique=True),
        "reminders": st.dictionaries(texts, texts.filter(bool), max_size=3),
        "tools": st.dictionaries(
            names,
            st.fixed_dictionaries(
                {},
                optional={
                    "permission": st.sampled_from(["allow", "deny"]),
                    "timeout_s": st.integers(1, 100),
                    "command": st.lists(texts.filter(bool), min_size=1, max_size=3),
                    "description": texts,
                    "result": st.fixed_dictionaries(
                        {}, optional={"fields": st.lists(names, min_size=1, unique=True)}
                    ),
                },
            ),
            max_size=3,
        ),
        "budget": st.fixed_dictionaries(
            {}, optional={"caps": st.dictionaries(st.just("retrieved"), share)}
        ),
        "history": st.fixed_dictionaries({}, optional={"recent_share": st.none() | share}),
        "prefix": st.lists(
            st.fixed_dictionaries({"text": texts}), max_size=3
        ).map(lambda layers: [{"id": f"l{i}", **layer} for i, layer in enumerate(layers)]),
    },
)  # fmt: skip


@given(profiles)
def test_a_printed_profile_is_the_same_profile(mapping: Any) -> None:
    profile = profile_from_mapping(mapping)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "p.yaml"
        for origins in (False, True):
            path.write_text(profile_yaml(profile, origins=origins), encoding="utf-8")
            again, problems = check_profile(path, env={})
            # A name such as 'a..b' is no path into a record; everything else must be sound.
            errors = [
                p for p in problems if p.severity == "error" and "is not a path" not in p.message
            ]
            assert errors == []
            if again is not None:
                assert again.digest == profile.digest


def _keys(inner: Any) -> set[str]:
    if isinstance(inner, list):
        return set().union(*map(_keys, inner))
    if not isinstance(inner, dict):
        return set()
    own = set(inner.get("properties", {}))
    return own.union(*map(_keys, inner.values()))


KEYS = sorted(_keys(schema("profile")))
odd = st.recursive(
    scalars
    | st.sampled_from(
        ["auto", "x", "${A}", "${", "$${a}", "a.b", "model", "static", "task", "full"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS) | words, inner, max_size=4)
    ),
    max_leaves=25,
)
sections = st.sampled_from(sorted(schema("profile")["properties"]))  # type: ignore[arg-type]


@example({}, ["version=:"])
@given(
    st.dictionaries(sections, odd, max_size=6),
    st.lists(st.tuples(st.sampled_from(KEYS), words).map("=".join), max_size=2),
)
def test_no_profile_ends_in_a_traceback(mapping: Any, sets: list[str]) -> None:
    mapping.setdefault("version", 1)
    mapping.setdefault("model", {"name": "scripted/x"})
    with TemporaryDirectory() as folder:
        path = Path(folder) / "p.yaml"
        path.write_text(json.dumps(mapping), encoding="utf-8")
        try:
            profile, problems = check_profile(path, sets, {"A": "s3cret-value"})
        except UsageError:  # a malformed --set
            assert sets
            return
        errors = [problem for problem in problems if problem.severity == "error"]
        assert (profile is None) == bool(errors)
        assert "s3cret-value" not in "".join(map(str, problems))
        assert all(problem.key or problem.line for problem in problems)
        if profile is not None:
            assert load_profile(path, sets, {"A": "s3cret-value"}).digest == profile.digest
            assert "s3cret-value" not in json.dumps(profile.to_json()) + repr(profile)
