"""Laws of what is loaded on demand: nothing outside a folder, nothing lost between two pages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from contextctl.core.fold.index_layer import index_text
from contextctl.core.fold.state import State
from contextctl.core.knowledge.citations import citations_in
from contextctl.core.knowledge.documents import Library, lines_of, section_text
from contextctl.core.knowledge.tools import answer_knowledge, document_map
from contextctl.core.tools.skills import answer_view
from contextctl.io.documents import text_document
from contextctl.io.skills.index import read_skills, skill_file, skill_files
from contextctl.model.counter import Approx
from contextctl.model.document import Document
from contextctl.model.profile import profile_from_mapping
from contextctl.model.skill import Shelf, Skill, SkillFile
from contextctl.run.own_tools import SkillFolders

# --- skills -----------------------------------------------------------------------------------

SEGMENTS = ("..", ".", "", "a", "b.md", "out", "in.md", "SKILL.md", "~", "secret.md", "loop", "up")
ROOTED = st.sampled_from(["", "/", "//", "./", "../", "\\", "C:\\"])


@pytest.fixture(scope="module")
def skill(tmp_path_factory: pytest.TempPathFactory) -> Skill:
    """A skill with links that lead inside, outside, up and round in circles."""
    root = tmp_path_factory.mktemp("skills")
    (root / "secret.md").write_text("SECRET", "utf-8")
    (root / "other").mkdir()
    (root / "other" / "secret.md").write_text("SECRET", "utf-8")
    folder = root / "one"
    (folder / "a").mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: one\ndescription: d\n---\nBody.\n", "utf-8")
    (folder / "a" / "b.md").write_text("inside", "utf-8")
    (folder / "in.md").symlink_to(folder / "a" / "b.md")
    (folder / "out").symlink_to(root / "other")
    (folder / "secret.md").symlink_to(root / "secret.md")
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "up").symlink_to(root)
    return Skill("one", "d", "one/SKILL.md", str(folder))


@given(rooted=ROOTED, parts=st.lists(st.sampled_from(SEGMENTS) | st.text(max_size=6), max_size=6))
def test_view_skill_never_leaves_the_folder(skill, rooted, parts):
    path = rooted + "/".join(parts)
    file = skill_file(skill, path)
    assert "SECRET" not in file.text
    answer = answer_view({"name": "one", "path": path}, Shelf((skill,)), SkillFolders())
    assert "SECRET" not in json.dumps(answer)


def test_links_inside_are_followed_and_others_are_not(skill):
    assert skill_file(skill, "in.md").text == "inside"
    assert skill_file(skill, "a/b.md").text == "inside"
    absolute = str(Path(skill.folder) / "a" / "b.md")
    for path in ("out/secret.md", "up/secret.md", "secret.md", "loop", "../secret.md", absolute):
        assert skill_file(skill, path).problem == "not_found", path
    assert not [path for path in skill_files(skill) if path.startswith(("out/", "up/"))]


class _OneFile:
    def __init__(self, text: str) -> None:
        self.text = text

    def read(self, skill: Skill, path: str) -> SkillFile:
        return SkillFile(self.text)

    def listed(self, skill: Skill) -> tuple[str, ...]:
        return ("SKILL.md",)


@given(text=st.text(max_size=400), room=st.integers(64, 300))
def test_the_pages_of_a_skill_join_to_it(text, room):
    shelf, files = Shelf((Skill("s", "d", "", ""),)), _OneFile(text)
    asked: dict[str, Any] = {"name": "s"}
    shown = ""
    for _ in range(len(text) + 2):
        answer = answer_view(asked, shelf, files, max_bytes=room)
        shown += str(answer["text"])
        if answer["next"] is None:
            break
        asked = {"name": "s", **answer["next"]}
    assert shown == text


@given(raw=st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_any_skill_file_is_indexed_or_reported(tmp_path_factory, raw):
    folder = tmp_path_factory.mktemp("any")
    (folder / "SKILL.md").write_bytes(raw)
    shelf = read_skills([folder])
    assert shelf.skills or [f for f in shelf.faults if f.severity in ("error", "note")]


FRONT = st.lists(
    st.sampled_from(["name", "description", "license", "x"]).flatmap(
        lambda key: st.text("ab: '\"#[]{}|>&*!%@`,-\t", max_size=12).map(lambda v: f"{key}: {v}")
    ),
    max_size=5,
)


@given(lines=FRONT, closed=st.booleans())
def test_any_frontmatter_is_indexed_or_reported(tmp_path_factory, lines, closed):
    folder = tmp_path_factory.mktemp("front")
    text = "\n".join(["---", *lines, *(["---", "Body."] if closed else [])])
    (folder / "SKILL.md").write_text(text, "utf-8")
    shelf = read_skills([folder])
    assert shelf.skills or [f for f in shelf.faults if f.severity in ("error", "note")]


@given(
    abouts=st.lists(st.text(max_size=200), min_size=1, max_size=6),
    line=st.integers(4, 60),
    total=st.none() | st.integers(60, 200),
)
def test_an_index_keeps_its_names_and_its_budget(abouts, line, total):
    profile = profile_from_mapping(
        {
            "version": 1,
            "model": {"name": "m", "window": 8192},
            "prefix": [{"id": "skills", "index": "skills"}],
            "disclosure": {"index": {"line_tokens": line, "total_tokens": total}},
        }
    )
    state = State(profile=profile, counter=Approx())
    entries = [{"name": f"s{n}", "about": " ".join(a.split())} for n, a in enumerate(abouts)]
    text = index_text(state, profile.prefix[0], entries)
    heading, *lines = text.split("\n")
    assert [one.split(":")[0].split(" …")[0] for one in lines] == [
        f"- s{n}" for n in range(len(abouts))
    ]
    least = Approx().text("\n".join([heading, *(f"- s{n} …" for n in range(len(abouts)))]))
    if total is not None:
        assert Approx().text(text) <= max(total, least)
    for one, entry in zip(lines, entries, strict=True):
        assert Approx().text(one) <= line or one.endswith(" …")
        if entry["about"] and not one.endswith(" …"):
            assert one.removesuffix("…").split(": ", 1)[1] in str(entry["about"])


# --- documents --------------------------------------------------------------------------------

WORDS = st.text("ab c一二é", max_size=12)
LINES = st.one_of(
    WORDS,
    st.integers(1, 6).flatmap(lambda n: WORDS.map(lambda w: f"{'#' * n} {w}")),
    st.sampled_from(["", "```", "~~~", "===", "---", "    # code", "- # item", "> # quote"]),
)
TEXTS = st.lists(LINES, min_size=1, max_size=40).map("\n".join)


def document(text: str, name: str = "kb/doc.md") -> Document:
    made = text_document(name, text)
    assume(isinstance(made, Document))
    assert isinstance(made, Document)
    return made


@given(text=TEXTS)
def test_sections_nest_and_own_every_line_once(text):
    made = document(text)
    owned = [n for s in made.sections for n in range(s.first, s.own_last + 1)]
    assert len(owned) == len(set(owned))
    lines = lines_of(made)
    skipped = set(range(1, len(lines) + 1)) - set(owned)
    assert all(n < made.sections[0].first for n in skipped)  # only what stands before the first
    ids = {section.id: section for section in made.sections}
    assert len(ids) == len(made.sections)
    for section in made.sections:
        assert 1 <= section.first <= section.own_last <= section.last <= len(lines)
        parent = ids.get(section.id.rpartition(".")[0])
        if parent is not None:
            assert parent.first < section.first
            assert section.last <= parent.last


@given(text=TEXTS, long=st.sampled_from([1, 60]))
def test_the_pages_of_a_section_join_to_it(text, long):
    made = document("\n".join([text] * long))
    library = Library([made])
    for section in made.sections[:5]:
        asked: dict[str, Any] = {"doc": made.id, "section": section.id}
        shown = ""
        for _ in range(2000):
            answer = answer_knowledge("read_section", asked, library)
            shown += str(answer["text"])
            if answer["next"] is None:
                break
            asked |= answer["next"]
        assert shown == section_text(made, section)


@given(
    text=TEXTS,
    around=st.sampled_from(["[{}]", "见{}。", "({})", "“{}”", "as {}, and", "{}"]),
    name=st.sampled_from(["kb/doc.md", "退款/规则.md", "a b (1).md", "x#y.md"]),
)
def test_citations_resolve_to_the_lines_they_were_taken_from(text, around, name):
    made = document(text, name)
    library = Library([made])
    for section in made.sections[:6]:
        asked = {"doc": made.id, "section": section.id}
        answer = answer_knowledge("read_section", asked, library)
        places, lost = citations_in(around.format(answer["at"]), library)
        assert (len(places), lost) == (1, ())
        place = places[0]
        assert (place.document, place.section) == (made.id, section.id)
        shown = str(answer["text"]).removesuffix("\n").split("\n")
        assert lines_of(made)[place.first - 1 : place.last] == shown


@given(text=TEXTS, query=WORDS)
def test_hits_lie_where_they_say(text, query):
    library = Library([document(text), document(text + "\nmore", "kb/other.md")])
    for hit in library.search(query):
        assert hit.section.first <= hit.first <= hit.last <= hit.section.own_last
        assert library.get(hit.document.id) is hit.document
        place, lost = citations_in(f"[{hit.citation}]", library)
        assert (len(place), lost) == (1, ())


@given(count=st.integers(1, 300), room=st.integers(400, 4000))
def test_a_document_map_is_bounded(count, room):
    library = Library([document("text", f"kb/{n}/document-number-{n}.md") for n in range(count)])
    shown = document_map(library, room)
    assert len(shown.encode()) <= room + 300
    assert "search_docs" in shown or shown.count("\n") == count - 1
