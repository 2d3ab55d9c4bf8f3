"""View a skill, read documents, cite them: what each answer says, and what it says when lost."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from contextctl.core.fold.index_layer import index_text
from contextctl.core.fold.state import State
from contextctl.core.knowledge.citations import citations_in
from contextctl.core.knowledge.documents import Library
from contextctl.core.knowledge.tools import answer_knowledge, document_map
from contextctl.core.tools.delegates import delegate_specs, knowledge_about, knowledge_spec
from contextctl.core.tools.skills import answer_view, index_entries
from contextctl.io.documents import text_document
from contextctl.io.models.vocab import counter_for
from contextctl.model.document import Document
from contextctl.model.profile import profile_from_mapping
from contextctl.model.profile_parts import Knowledge, Subagent
from contextctl.model.skill import Shelf, Skill, SkillFile

SKILLS = ("refunds", "invoices", "late-parcels")
FILES = {"SKILL.md": "# Refunds\nSee rules/late.md\n", "rules/late.md": "After 7 days.\n"}


class Kept:
    def read(self, skill: Skill, path: str) -> SkillFile:
        text = FILES.get(path)
        return SkillFile(problem="not_found") if text is None else SkillFile(text)

    def listed(self, skill: Skill) -> Sequence[str]:
        return tuple(FILES)


SHELF = Shelf(tuple(Skill(name, f"When it is about {name}", "", "") for name in SKILLS))


class TestViewSkill:
    def test_the_body_comes_with_the_files_it_may_name(self):
        answer = answer_view({"name": "refunds"}, SHELF, Kept())
        assert answer == {
            "skill": "refunds",
            "path": "SKILL.md",
            "files": ["rules/late.md"],
            "start": 0,
            "end": 2,
            "total_lines": 2,
            "truncated": False,
            "next": None,
            "text": FILES["SKILL.md"],
        }

    @pytest.mark.parametrize("path", ["rules/late.md", "./rules/late.md", " rules/late.md"])
    def test_then_a_file_by_its_path(self, path):
        answer = answer_view({"name": "Refunds", "path": path}, SHELF, Kept())
        assert answer["text"] == "After 7 days.\n"
        assert "files" not in answer

    def test_an_unknown_skill_is_answered_with_those_there_are(self):
        answer = answer_view({"name": "refund"}, SHELF, Kept())
        assert (answer["error"], answer["skills"]) == ("unknown_skill", list(SKILLS))
        assert answer["hint"] == "did you mean 'refunds'?"

    def test_an_unknown_file_is_answered_with_those_there_are(self):
        answer = answer_view({"name": "refunds", "path": "rules/lat.md"}, SHELF, Kept())
        assert (answer["error"], answer["files"]) == ("unknown_file", list(FILES))
        assert answer["hint"] == "did you mean 'rules/late.md'?"

    def test_a_folder_is_answered_with_what_is_in_it(self):
        answer = answer_view({"name": "refunds", "path": "rules"}, SHELF, Kept())
        assert (answer["error"], answer["files"]) == ("is_folder", ["rules/late.md"])

    @pytest.mark.parametrize("arguments", [{}, {"name": ""}, {"name": ["a"]}, {"name": True}])
    def test_arguments_that_cannot_be_used_are_told(self, arguments):
        assert answer_view(arguments, SHELF, Kept())["error"] == "bad_arguments"


class TestIndexLayer:
    def text(self, entries, **disclosure) -> list[str]:
        profile = profile_from_mapping(
            {
                "version": 1,
                "model": {"name": "gpt-4o", "window": 8192},
                "prefix": [{"id": "skills", "index": "skills"}],
                "disclosure": disclosure,
                "shaping": {"locale": "zh"} if disclosure.pop("zh", False) else {},
            }
        )
        state = State(profile=profile, counter=counter_for("o200k_base", "gpt-4o"))
        return index_text(state, profile.prefix[0], entries).split("\n")

    def test_a_line_is_10_to_20_tokens_and_says_what_for(self):
        lines = self.text(index_entries(SHELF))
        assert lines[1:] == [f"- {name}: When it is about {name}" for name in SKILLS]
        assert "view_skill(name)" in lines[0]

    def test_a_long_description_is_cut_between_words_with_a_mark(self):
        about = "Use when a customer asks for money back, " * 20
        line = self.text([{"name": "refunds", "about": about.strip()}])[1]
        assert counter_for("o200k_base", "gpt-4o").text(line) <= 20
        assert line.endswith(("customer…", "asks…", "for…", "money…", "back…", "when…", "Use…"))

    def test_chinese_is_cut_too_and_said_in_chinese(self):
        lines = self.text([{"name": "退款", "about": "客户要求退款或投诉延误时使用" * 20}], zh=True)
        assert lines[0].startswith("技能：")
        assert lines[1].startswith("- 退款: 客户要求退款")
        assert lines[1].endswith("…")

    def test_nothing_to_list_is_no_layer(self):
        assert self.text([]) == [""]


TEXT = """# Fees

General terms.

## Late fees

After 14 days 40 EUR are due.

## Waivers

A waiver needs a manager.
"""


def made(name: str, text: str) -> Document:
    document = text_document(name, text)
    assert isinstance(document, Document)
    return document


@pytest.fixture
def library() -> Library:
    other = "# Refunds\n\nMoney goes back within 5 days.\n\n# 退款\n\n七天内原路退回。\n"
    return Library([made("kb/fees.md", TEXT), made("kb/refunds.md", other)])


class TestKnowledge:
    def test_a_search_says_where_and_shows_a_little(self, library):
        answer = answer_knowledge("search_docs", {"query": "waiver manager"}, library)
        assert answer["searched"] == 2
        assert answer["hits"] == [
            {
                "at": "kb/fees.md#1.2:L9-11",
                "title": "Fees › Waivers",
                "text": "A waiver needs a manager.",
            }
        ]

    def test_a_search_in_chinese(self, library):
        answer = answer_knowledge("search_docs", {"query": "几天内可以退款"}, library)
        assert [hit["at"] for hit in answer["hits"]] == ["kb/refunds.md#2:L5-7"]

    def test_nothing_found_says_so_and_what_next(self, library):
        answer = answer_knowledge("search_docs", {"query": "zeppelin"}, library)
        assert (answer["error"], answer["searched"]) == ("nothing_found", 2)
        assert "other" in str(answer["hint"])

    def test_an_outline_has_every_section_with_its_lines(self, library):
        answer = answer_knowledge("read_doc", {"doc": "kb/fees.md"}, library)
        assert answer["sections"] == ["1 Fees L1-11", "1.1 Late fees L5-8", "1.2 Waivers L9-11"]
        assert (answer["total_sections"], answer["next"]) == (3, None)

    def test_a_long_outline_comes_in_pages(self):
        heads = "\n".join(f"# Heading number {n}" for n in range(900))
        library = Library([made("a.md", heads)])
        got: list[str] = []
        start = 0
        for _ in range(20):
            answer = answer_knowledge("read_doc", {"doc": "a.md", "start": start}, library)
            got += answer["sections"]
            if answer["next"] is None:
                break
            start = answer["next"]["start"]
        assert len(got) == 900

    @pytest.mark.parametrize(
        "asked",
        [
            {"doc": "kb/fees.md", "section": "1.1"},
            {"doc": "kb/fees.md#1.1"},
            {"doc": "[kb/fees.md#1.1:L5-8]", "section": "1.1:L5-8"},
            {"doc": "kb/fees.md", "section": 1.1},
        ],
    )
    def test_a_section_however_it_is_named(self, library, asked):
        answer = answer_knowledge("read_section", asked, library)
        assert answer["text"] == "## Late fees\n\nAfter 14 days 40 EUR are due.\n"
        assert answer["at"] == "kb/fees.md#1.1:L5-7"
        assert answer["title"] == "Fees › Late fees"

    def test_what_was_not_granted_is_as_if_it_were_not_there(self, library):
        answer = answer_knowledge("read_section", {"doc": "kb/secret.md#1"}, library)
        assert answer["error"] == "unknown_document"
        assert set(answer["documents"]) == {"kb/fees.md", "kb/refunds.md"}
        missing = answer_knowledge("read_section", {"doc": "kb/fees.md#9"}, library)
        assert missing["error"] == "unknown_section"
        assert "1.1 Late fees L5-8" in missing["sections"]

    def test_a_kind_of_documents_can_be_listed(self):
        library = Library([made(f"kb/rule_{n:03}.md", f"# Rule {n}") for n in range(300)])
        shown = document_map(library, 2_000)
        assert shown.split("\n")[0] == "- kb/rule_*.md: 300, such as: Rule 0"
        answer = answer_knowledge("read_doc", {"doc": "kb/rule_*.md"}, library)
        assert answer["total_documents"] == 300
        assert answer["documents"][0] == "kb/rule_000.md | Rule 0"
        assert answer["next"] is not None

    def test_citations_in_any_text(self, library):
        text = "见kb/fees.md#1.1:L7，and [kb/refunds.md#2:L5-7]; (kb/fees.md#1.2) kb/none.md#1:L2"
        places, lost = citations_in(text, library)
        assert [str(place) for place in places] == [
            "kb/fees.md#1.1:L7-7",
            "kb/refunds.md#2:L5-7",
            "kb/fees.md#1.2:L9-11",
        ]
        assert lost == ("kb/none.md#1:L2",)
        assert citations_in("kb/fees.md#1.1:L9-10", library)[1]  # lines outside the section


class TestDelegateSpecs:
    def test_the_description_says_what_it_is_and_when_delegation_fits(self):
        rules = {"b": Subagent("b.yaml", "Reads."), "a": Subagent("a.yaml", "Finds.")}
        by_name = {spec.name: spec for spec in delegate_specs(rules, "en")}
        assert by_name["a"].description.startswith("Finds. A delegate with its own window")
        for word in ("self-contained", "one-shot", "reads far more", "partial"):
            assert word in by_name["a"].description
        assert by_name["b"].description == "Reads. A delegate like a."

    def test_the_knowledge_tool_names_what_is_there(self):
        banks = {"kb": Knowledge("", "Rules of the bank")}
        about = knowledge_about(banks, ("kb/a.md", "kb/b.md", "note"))
        assert about == "kb: Rules of the bank; note"
        assert "Rules of the bank" in knowledge_spec(about, "zh").description
