"""Every file in tests/example-files/profiles: adding a case means adding a file.

A positive profile has no errors. A negative one, NAME.yaml, has exactly the problems listed in
NAME.expected, one a line as ``validate`` prints them, without the file's own name. Notes that a key
is not acted on yet are left out: they go away one by one.
"""

from pathlib import Path

import pytest

from contextctl.errors import Problem, ProfileError
from contextctl.io.profile.load import check_profile, load_profile

EXAMPLES = Path(__file__).parents[2] / "example-files" / "profiles"
POSITIVE = sorted([*EXAMPLES.glob("positive/*.yaml"), *EXAMPLES.glob("positive/*.json")])
NEGATIVE = sorted(EXAMPLES.glob("negative/*.yaml"))


def _line(problem: Problem, own: str) -> str:
    place = f"{problem.path}:{problem.line}:{problem.column}".removeprefix(own + ":")
    key = f"{problem.key}: " if problem.key else ""
    hint = f" ({problem.suggestion})" if problem.suggestion else ""
    return f"{place}: {problem.severity}: {key}{problem.message}{hint}"


@pytest.mark.parametrize("path", POSITIVE, ids=lambda path: path.name)
def test_a_positive_example_has_no_errors(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    profile, problems = check_profile(path.name, env={})
    assert [problem for problem in problems if problem.severity == "error"] == []
    assert profile is not None


@pytest.mark.parametrize("path", NEGATIVE, ids=lambda path: path.name)
def test_a_negative_example_has_exactly_its_problems(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path.parent)
    profile, problems = check_profile(path.name, env={})
    told = [p for p in problems if not p.message.startswith("not acted on yet")]
    expected = path.with_suffix(".expected").read_text(encoding="utf-8").splitlines()
    assert [_line(problem, path.name) for problem in told] == expected
    errors = [problem for problem in problems if problem.severity == "error"]
    assert (profile is None) == bool(errors)
    if errors:
        with pytest.raises(ProfileError) as raised:
            load_profile(path.name, env={})
        assert list(raised.value.problems) == errors
