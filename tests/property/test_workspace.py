"""Laws of the workspace: what is put is what is got and exported, for its session alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextctl.core.reading.refs import content_hash, make_ref
from contextctl.io.workspace.labels import LabelError, clean_label
from contextctl.io.workspace.session import Workspace
from contextctl.model.assembly import Offload

texts = st.text(alphabet=st.one_of(st.characters(), st.characters(categories=["Cs"])), max_size=400)
_sessions = count()


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    opened = Workspace.open(tmp_path_factory.mktemp("w") / "workspace", "first", "00")
    yield opened
    opened.close()


@given(st.lists(texts, max_size=8))
def test_export_is_the_originals_and_nothing_else(
    workspace: Workspace, tmp_path_factory: pytest.TempPathFactory, contents: list[str]
) -> None:
    name, key = f"s{next(_sessions)}", "ab" * 16
    session = workspace.for_session(name, key)
    hashes = [content_hash(text) for text in contents]
    refs = [make_ref(name, key, sha256) for sha256 in hashes]
    session.put_many(map(Offload, refs, hashes, contents))
    out = tmp_path_factory.mktemp("out")
    session.export(out)
    expected = {
        f"{ref}.txt": text.encode("utf-8", "surrogatepass")
        for ref, text in zip(refs, contents, strict=True)
    }
    assert {path.name: path.read_bytes() for path in out.iterdir()} == expected
    again = workspace.for_session(name, key)
    assert [again.get(ref) for ref in refs] == contents
    assert all(workspace.get(ref) is None for ref in refs)
    assert session.damaged == set()


@given(st.text(alphabet=st.sampled_from("ab./\\~:\0\n \u4e2d"), max_size=12))
def test_a_label_that_is_accepted_stays_inside_and_has_one_spelling(name: str) -> None:
    try:
        clean = clean_label(name)
    except LabelError:
        return
    root = Path("/somewhere/inside")
    assert (root / clean).resolve().is_relative_to(root)
    assert (root / clean).resolve() != root
    assert clean_label(clean) == clean
    assert clean_label(f"./{clean}") == clean


@given(st.text(max_size=60))
def test_nothing_but_a_ref_of_this_session_is_read(workspace: Workspace, name: str) -> None:
    assert workspace.get(name) is None
    assert workspace.read(name) is None
