"""TL-01, its window: from the profile, from the model map, or one error that names the key."""

from pathlib import Path

import pytest

from contextctl.errors import ProfileError
from contextctl.io.profile.load import load_profile
from contextctl.io.profile.windows import resolve_window
from contextctl.model.profile import profile_from_mapping


def _window(model: dict[str, object]) -> int | None:
    mapping = {"version": 1, "model": model}
    return resolve_window(profile_from_mapping(mapping)).model.window  # type: ignore[arg-type]


def test_an_unknown_model_takes_the_profiles_window() -> None:
    assert _window({"name": "openai/my-lab-7b", "window": 20000}) == 20000


def test_a_known_model_takes_its_input_limit_and_not_its_output_limit() -> None:
    assert _window({"name": "gpt-4o"}) == 128000
    assert _window({"name": "openai/gpt-4o", "window": "auto"}) == 128000


def test_a_scripted_model_needs_no_window() -> None:
    assert _window({"name": "scripted/replies.jsonl"}) == 32768


@pytest.mark.parametrize("name", ["openai/my-lab-7b", "local/llama", "my-lab-7b"])
def test_an_unknown_model_without_a_window_names_the_key(tmp_path: Path, name: str) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(f"version: 1\nmodel:\n  name: {name}\n", encoding="utf-8")
    with pytest.raises(ProfileError) as raised:
        load_profile(path)
    (problem,) = raised.value.problems
    assert (problem.key, problem.line) == ("model.window", 2)
    assert name in problem.message
    assert "window: 32768" in problem.suggestion


def test_the_window_is_named_where_it_says_auto(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    text = "version: 1\nmodel:\n  name: openai/my-lab-7b\n  window: auto\n"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ProfileError, match=r"p\.yaml:4:3: model\.window: "):
        load_profile(path)
