"""Documents of every format as lines and sections."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextctl.io.documents import documents_in, read_document, safe_id, text_document
from contextctl.io.documents.grants import Banks
from contextctl.model.document import Document, DocumentFault
from contextctl.model.profile_parts import Knowledge


def read(folder: Path, name: str, content: str | bytes) -> Document:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    made = read_document(path, name)
    assert isinstance(made, Document), made
    return made


def outline(document: Document) -> list[tuple[str, str, int, int]]:
    return [(s.id, s.title, s.first, s.last) for s in document.sections]


MARKDOWN = """---
title: "The whole: title"
---
Intro.

# Fees #

Text.

## Late `fees` and [links](http://x)

```sh
# not a heading
```

Setext
------

### Deep

# Other
"""


def test_markdown(tmp_path):
    made = read(tmp_path, "a.md", MARKDOWN)
    assert made.title == "The whole: title"
    assert outline(made) == [
        ("0", "The whole: title", 4, 5),
        ("1", "Fees", 6, 20),
        ("1.1", "Late fees and links", 10, 15),
        ("1.2", "Setext", 16, 20),
        ("1.2.1", "Deep", 19, 20),
        ("2", "Other", 21, 21),
    ]
    section = made.section("1.2.1")
    assert section is not None
    assert made.heading_of(section) == "Fees › Setext › Deep"


def test_line_ends_and_marks_do_not_move_lines(tmp_path):
    made = read(tmp_path, "a.md", b"\xef\xbb\xbf# A\r\n\r\ntext\r\n## B\r\nmore")
    assert outline(made) == [("1", "A", 1, 5), ("1.1", "B", 4, 5)]
    assert made.text.split("\n")[2] == "text"


@pytest.mark.parametrize(
    "text",
    [
        "a rule\n\n---\n\nand more",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "- item\n---\ntext",
        "para\ntext\n---",
    ],
)
def test_rules_tables_and_paragraphs_are_no_headings(tmp_path, text):
    assert [s.title for s in read(tmp_path, "a.md", text).sections] == [text.split("\n")[0].strip()]


HTML = """<!DOCTYPE html><html><head><title>Manual</title><script>var a = "<h1>no</h1>";</script>
<style>h1 {}</style></head><body><nav><a href="x">Up</a></nav>
<h1>Chapter  1</h1><p>First <b>bold</b>
text.</p><pre>$ ls
# comment
</pre><h3>Odd level</h3><ul><li>one</li><li><p>two</p></li></ul>
<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table><h2>Next &amp; last</h2>end
</body></html>"""


def test_html(tmp_path):
    made = read(tmp_path, "a.html", HTML)
    lines = made.text.split("\n")
    assert made.title == "Manual"
    assert [(s.id, s.title) for s in made.sections] == [
        ("1", "Chapter 1"),
        ("1.1", "Odd level"),
        ("1.2", "Next & last"),
    ]
    assert "First bold text." in lines
    assert lines[lines.index("$ ls") + 1] == "# comment"
    assert {"- one", "- two", "a | b", "1 | 2", "end"} <= set(lines)
    assert "Up" not in lines
    assert "var a" not in made.text
    for section in made.sections:
        assert lines[section.first - 1] == section.title


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Title\n=====\n\na\n\nPart\n----\nb\n", [("1", "Title", 1, 8), ("1.1", "Part", 6, 8)]),
        ("1. One\n\ntext\n\n1.1 Sub\n\ntext\n", [("1", "1. One", 1, 7), ("1.1", "1.1 Sub", 5, 7)]),
        (
            "第一章 总则\n文\n第一条 目的\n文\n",
            [("1", "第一章 总则", 1, 4), ("1.1", "第一条 目的", 3, 4)],
        ),
        ("1. milk\n2. eggs\n3. bread\n", [("1", "1. milk", 1, 3)]),
    ],
)
def test_plain_text(tmp_path, text, found):
    assert outline(read(tmp_path, "a.txt", text)) == found


def test_text_without_headings_falls_into_even_parts(tmp_path):
    lines = [f"{n} {'word ' * 10}" if n % 10 else "" for n in range(1, 200)]
    made = read(tmp_path, "a.txt", "\n".join(lines))
    assert len(made.sections) > 3
    assert made.sections[0].first == 1
    assert made.sections[-1].last == 199
    for before, after in zip(made.sections, made.sections[1:], strict=False):
        assert after.first == before.last + 1
        assert lines[before.last - 1] == ""  # at an empty line
        assert sum(len(lines[n - 1]) for n in range(before.first, before.last + 1)) <= 2_400


def pdf(pages: list[str]) -> bytes:
    """A small PDF: one line of text a page, the first page with a bookmark."""
    count = len(pages)
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(count))
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R /Outlines %d 0 R >>" % (4 + 2 * count),
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET".encode() if text else b""
        parts.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % (5 + 2 * n)
        )
        parts.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
    item = 5 + 2 * count
    parts.append(b"<< /Type /Outlines /First %d 0 R /Last %d 0 R /Count 1 >>" % (item, item))
    parts.append(b"<< /Title (Start) /Parent %d 0 R /Dest [4 0 R /Fit] >>" % (item - 1))
    out, places = bytearray(b"%PDF-1.4\n"), []
    for number, part in enumerate(parts, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, part)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(parts) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(parts) + 1, start)
    return bytes(out)


def test_pdf(tmp_path):
    pytest.importorskip("pypdf")
    made = read(tmp_path, "a.pdf", pdf(["Fees are 3 EUR", "Refunds take 5 days"]))
    assert [(s.id, s.title) for s in made.sections] == [("p1", "page 1: Start"), ("p2", "page 2")]
    lines = made.text.split("\n")
    assert lines[made.sections[1].first - 1 : made.sections[1].last] == ["Refunds take 5 days"]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.docx", b"PK", "'.docx' is not read"),
        ("a.md", b"   \n", "holds no text"),
        ("a.md", b"---\ntitle: x\n---\n", "holds no text"),
        ("a.txt", b"ab \xe4 c", "not UTF-8"),
        ("a.txt", b"a\x00b", "NUL"),
        ("a.pdf", b"%PDF-1.4 broken", "not a readable PDF"),
        ("b.pdf", pdf([""]), "holds no text"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path, name, content, says):
    if name.endswith(".pdf"):
        pytest.importorskip("pypdf")
    (tmp_path / name).write_bytes(content)
    fault = read_document(tmp_path / name, name)
    assert isinstance(fault, DocumentFault)
    assert says in str(fault)
    assert str(fault).startswith(name)


def test_other_encodings_that_say_what_they_are(tmp_path):
    declared = '<html><head><meta charset="gb18030"></head><body><h1>退款</h1></body></html>'
    assert read(tmp_path, "a.html", declared.encode("gb18030")).sections[0].title == "退款"
    assert read(tmp_path, "b.txt", "退款".encode("utf-16")).text == "退款"


def test_ids_are_fit_for_citations():
    assert safe_id("kb/a b [1] #2.md") == "kb/a_b_1_2.md"
    assert safe_id("退款/规则.md") == "退款/规则.md"
    made = text_document("x y", "# T\ntext", "Own title")
    assert isinstance(made, Document)
    assert (made.id, made.title) == ("x_y", "Own title")


def test_hidden_files_and_links_that_lead_outside_are_no_documents(tmp_path):
    inside = tmp_path / "kb"
    (inside / ".git").mkdir(parents=True)
    (tmp_path / "secret.md").write_text("secret", "utf-8")
    for name in ("a.md", ".b.md", ".git/c.md", "d.png"):
        (inside / name).write_text("# x", "utf-8")
    (inside / "link.md").symlink_to(tmp_path / "secret.md")
    (inside / "folder").symlink_to(tmp_path)
    assert [name for _, name in documents_in(inside)] == ["a.md"]


@pytest.fixture
def banks(tmp_path) -> Banks:
    for name in ("fees/late.md", "fees/early.md", "refunds.md"):
        path = tmp_path / "kb" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {name}", "utf-8")
    (tmp_path / "kb" / "scan.txt").write_bytes(b"\xff")
    (tmp_path / "own.md").write_text("# own", "utf-8")
    return Banks({"kb": Knowledge(str(tmp_path / "kb"), "rules")})


@pytest.mark.parametrize(
    ("grants", "ids"),
    [
        (["kb"], ["kb/refunds.md", "kb/fees/early.md", "kb/fees/late.md"]),
        (["kb/fees"], ["kb/fees/early.md", "kb/fees/late.md"]),
        (["kb/fees/late.md"], ["kb/fees/late.md"]),
        (["kb/*late*"], ["kb/fees/late.md"]),
        ([{"bank": "kb", "path": "refunds.md"}], ["kb/refunds.md"]),
        (["own.md"], ["own.md"]),
        ([{"path": "own.md", "id": "mine"}], ["mine"]),
        ([{"id": "note 1", "text": "# T"}, "own.md", "own.md"], ["note_1", "own.md"]),
    ],
)
def test_grants(banks, tmp_path, grants, ids):
    documents, faults = banks.granted(grants, tmp_path)
    assert [document.id for document in documents] == ids
    assert [str(fault) for fault in faults] == (
        ["kb/scan.txt: not UTF-8: save it as UTF-8"] if grants == ["kb"] else []
    )


@pytest.mark.parametrize(
    ("grant", "says"),
    [
        ("kb/none.md", "kb/none.md: no document of this bank"),
        ("kc", "kc: neither a knowledge bank nor a file or folder"),
        ({"bank": "kc"}, "kc: the profile has no knowledge bank"),
        ({"title": "x"}, "needs 'bank', 'path', or 'id' with 'text'"),
        (7, "7: a grant is a name, a path or an object"),
        ("kb/../own.md", "kb/../own.md: no document of this bank"),
    ],
)
def test_grants_that_lead_nowhere_are_named(banks, tmp_path, grant, says):
    documents, faults = banks.granted([grant], tmp_path)
    assert documents == ()
    assert says in str(faults[0])


def test_two_documents_of_one_id_are_told(banks, tmp_path):
    documents, faults = banks.granted(["own.md", {"id": "own.md", "text": "other"}], tmp_path)
    assert len(documents) == 1
    assert "another document has this id already" in str(faults[0])


def test_the_published_manuals_have_outlines(shared):
    for folder, title in (
        ("debmake-doc_zh-cn_html", "概览"),
        ("postgresql15_html", "8.5.1. Date/Time Input"),
        ("openai-agents-docs_zh", "智能体"),
    ):
        root = shared / "data/04_long_docs" / folder
        made = [read_document(path, name) for path, name in documents_in(root)]
        assert made
        titles = []
        for one in made:
            assert isinstance(one, Document)
            assert one.sections
            titles += [one.title, *(section.title for section in one.sections)]
        assert any(title in one for one in titles)
        assert "Note" not in titles  # a box, not a section


def test_a_document_of_a_bank_may_be_named_without_its_ending(tmp_path):
    (tmp_path / "kb").mkdir()
    for name in ("fees.md", "fees-old.md", "rates.txt"):
        (tmp_path / "kb" / name).write_text("# A\n\ntext\n", encoding="utf-8")
    banks = Banks({"kb": Knowledge(str(tmp_path / "kb"))})
    documents, faults = banks.granted(["kb/fees", "kb/rates"], tmp_path)
    assert ([one.id for one in documents], faults) == (["kb/fees.md", "kb/rates.txt"], ())
    documents, faults = banks.granted(["kb/feees.md"], tmp_path)
    assert documents == ()
    told = "kb/feees.md: no document of this bank (did you mean 'kb/fees.md'?)"
    assert [str(fault) for fault in faults] == [told]
