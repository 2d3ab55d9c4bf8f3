"""A replay that cannot begin leaves nothing behind."""

from __future__ import annotations

import pytest

from tests.conftest import Cli


@pytest.mark.parametrize(
    ("trace", "said"), [("missing.jsonl", "no trace file"), ("notes.md", "is no trace")]
)
def test_no_run_is_made_of_a_trace_that_cannot_be_read(cli: Cli, trace: str, said: str) -> None:
    (cli.cwd / "notes.md").write_text("# only words\n", encoding="utf-8")
    done = cli("replay", "coding", trace)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert not (cli.cwd / ".contextctl").exists()


def test_an_unknown_profile_says_which_there_are(cli: Cli) -> None:
    done = cli("replay", "nope.yaml", "trace.jsonl")
    assert done.code == 2
    assert "'contextctl init' makes one" in done.err
    assert "coding" in done.err
