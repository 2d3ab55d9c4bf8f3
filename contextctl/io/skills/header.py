"""The frontmatter of a SKILL.md, read tolerantly and reported exactly.

What authors write is often not quite YAML: a byte order mark, CRLF, a colon in a description that
is not quoted. What was surely meant is taken and said; what cannot be known is a fault at its line.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from contextctl.io.profile.yaml_nodes import Listing, Place, Scalar, Table
from contextctl.io.profile.yaml_positions import Fault, YamlError, read_yaml
from contextctl.model.skill import SkillFault

LONGEST_NAME = 64
LONGEST_ABOUT = 1024
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_PLAIN = re.compile(r"(?P<key>[A-Za-z_][\w-]*):[ \t]+(?P<value>[^\s'\"\[{|>&*!%@`#].*?)[ \t]*")
_MANUAL = "disable-model-invocation"


@dataclass(frozen=True, slots=True)
class SkillHeader:
    """``name`` None: the skill cannot be indexed, and ``faults`` say why."""

    name: str | None = None
    about: str = ""
    name_line: int = 0
    faults: tuple[SkillFault, ...] = ()


def read_header(raw: bytes, path: str, folder: str) -> SkillHeader:
    """What a SKILL.md says of itself. ``folder`` is the name of its folder."""
    reader = _Reader(path, folder)
    header = reader.read(raw)
    return SkillHeader(header.name, header.about, header.name_line, tuple(reader.faults))


class _Reader:
    def __init__(self, path: str, folder: str) -> None:
        self.faults: list[SkillFault] = []
        self._path = path
        self._folder = folder

    def read(self, raw: bytes) -> SkillHeader:
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            self._fault(line, f"not UTF-8 (byte 0x{raw[error.start]:02x}): save it as UTF-8")
            return SkillHeader()
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        opening = next((at for at, line in enumerate(lines) if line.strip()), None)
        if opening is None:
            self._fault(0, "the file is empty")
            return SkillHeader()
        if lines[opening].rstrip() != "---":
            what = "no frontmatter: begin with '---', name, description and '---'"
            self._fault(opening + 1, what)
            return SkillHeader()
        closing = next(
            (at for at in range(opening + 1, len(lines)) if lines[at].rstrip() in ("---", "...")),
            None,
        )
        if closing is None:
            self._fault(opening + 1, "the frontmatter that begins here has no closing '---'")
            return SkillHeader()
        table = self._table(lines[opening + 1 : closing], opening + 1)
        if table is None:
            return SkillHeader()
        header = self._header(table, opening + 1)
        if header.name is not None and not any(line.strip() for line in lines[closing + 1 :]):
            self._fault(closing + 1, "nothing stands below the frontmatter", "warning")
        return header

    def _table(self, block: list[str], above: int) -> Table | None:
        """The frontmatter as YAML, with unquoted colons mended where that is all that is wrong."""
        try:
            return self._yaml(block, above)
        except YamlError as error:
            found = error.fault
        mended, places = _quoted(block)
        try:
            table = self._yaml(mended, above)
        except YamlError:  # what was wrong first is what the author has to know
            self._fault(found.place.line, f"the frontmatter is not YAML: {found.message}")
            return None
        for at, key in places:
            what = f"the value of '{key}' holds ': ' without quotes: taken whole, quote it"
            self._fault(above + at + 1, what, "warning")
        return table

    def _yaml(self, block: list[str], above: int) -> Table:
        """Raises ``YamlError``, also for YAML that is no mapping."""
        document = read_yaml("\n" * above + "\n".join(block), self._path)
        if not isinstance(document.root, Table):
            raise YamlError(Fault(Place(self._path, above), "no 'key: value' lines"))
        for fault in document.faults:
            self._fault(fault.place.line, fault.message, "warning")
        return document.root

    def _header(self, table: Table, line: int) -> SkillHeader:
        told = len(self.faults)
        about, at = self._text(table, "description")
        if not about:
            if len(self.faults) == told:
                self._fault(at or line, "no 'description': nobody could tell when to load it")
            return SkillHeader()
        if len(about) > LONGEST_ABOUT:
            what = f"the description has {len(about):,} characters, over {LONGEST_ABOUT:,}"
            self._fault(at, f"{what}: the index shows its beginning", "warning")
        manual, where = self._text(table, _MANUAL)
        if manual.casefold() == "true":
            self._fault(where, f"'{_MANUAL}' is set: not offered to the model", "note")
            return SkillHeader()
        name, at = self._text(table, "name")
        if not name:
            what = f"no 'name': it is known by its folder's, '{self._folder}'"
            self._fault(at or line, what, "warning")
            return SkillHeader(self._folder, about, at or line)
        self._check_name(name, at)
        return SkillHeader(name, about, at)

    def _check_name(self, name: str, line: int) -> None:
        """A name out of form is kept: it is what other files call the skill by."""
        if len(name) > LONGEST_NAME:
            what = f"the name has {len(name)} characters, over {LONGEST_NAME}"
            self._fault(line, what, "warning")
        if not _NAME.fullmatch(name):
            what = f"the name '{name}' is not made of lower-case letters, digits and single hyphens"
            self._fault(line, what, "warning")
        if name != self._folder:
            what = f"the name '{name}' is not that of its folder, '{self._folder}'"
            self._fault(line, what, "warning")

    def _text(self, table: Table, key: str) -> tuple[str, int]:
        """A value as one line of text, and where it stands; empty when there is none."""
        entry = table.entries.get(key)
        if entry is None:
            return "", 0
        value = entry.node
        if not isinstance(value, Scalar):
            kind = "a list" if isinstance(value, Listing) else "a mapping"
            self._fault(value.place.line, f"'{key}' must be text, not {kind}")
            return "", value.place.line
        text = "" if value.value is None else value.text or str(value.value)
        return " ".join(text.split()), entry.key_place.line

    def _fault(self, line: int, reason: str, severity: str = "error") -> None:
        self.faults.append(SkillFault(self._path, line, reason, severity))


def _quoted(block: list[str]) -> tuple[list[str], list[tuple[int, str]]]:
    """``block`` with every plain value that holds a colon in quotes, and where those stand."""
    out, places = [], []
    for at, line in enumerate(block):
        found = _PLAIN.fullmatch(line)
        value = found["value"] if found else ""
        if found and (": " in value or value.endswith(":")):
            places.append((at, found["key"]))
            line = f"{found['key']}: {json.dumps(value, ensure_ascii=False)}"  # noqa: PLW2901  # the line, mended
        out.append(line)
    return out, places
