"""The documents a task was granted, and nothing else, whatever their form.

A grant is the name of a bank (all of it), ``bank/part`` (a document, a folder or a pattern), a file
or folder beside the task file, or an object: ``{"bank", "path"?}``, ``{"path", "id"?}``, or a
document itself, ``{"id", "text", "title"?}``. A grant that leads nowhere is a fault, by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

from contextctl.io.documents import documents_in, read_document, safe_id, text_document
from contextctl.model.document import Document, DocumentFault
from contextctl.model.message import Json
from contextctl.model.profile_parts import Knowledge

Read = Document | DocumentFault


class Banks:
    """The knowledge banks of a profile; each file is read once, when it is first granted."""

    def __init__(self, banks: Mapping[str, Knowledge]) -> None:
        self._banks = banks
        self._read: dict[Path, Read] = {}

    def granted(
        self, grants: Sequence[Json], base: Path
    ) -> tuple[tuple[Document, ...], tuple[DocumentFault, ...]]:
        """The documents of ``grants`` in their order, each once, and what could not be had.

        ``base`` is the folder that relative paths start from.
        """
        documents: dict[str, Document] = {}
        faults: list[DocumentFault] = []
        for grant in grants:
            for one in self._of(grant, base):
                if isinstance(one, DocumentFault):
                    faults.append(one)
                elif one.id in documents and documents[one.id].text != one.text:
                    faults.append(DocumentFault(one.id, "another document has this id already"))
                else:
                    documents[one.id] = one
        return tuple(documents.values()), tuple(dict.fromkeys(faults))

    def holds(self, document: str) -> bool:
        """Whether a bank has this document, granted or not: a refusal is then one of the grant."""
        bank, _, part = document.partition("/")
        if bank not in self._banks or not part:
            return False
        folder = Path(self._banks[bank].path)
        return any(safe_id(inside) == part for _, inside in documents_in(folder))

    def _of(self, grant: Json, base: Path) -> Iterator[Read]:
        if isinstance(grant, str):
            bank, _, part = grant.partition("/")
            if bank in self._banks:
                yield from self._of_bank(bank, part)
            else:
                yield from self._of_path(grant, base, "")
        elif isinstance(grant, dict):
            yield from self._of_object(grant, base)
        else:
            yield DocumentFault(repr(grant), "a grant is a name, a path or an object")

    def _of_object(self, grant: Mapping[str, Json], base: Path) -> Iterator[Read]:
        text = grant.get("text", grant.get("content"))
        name = str(grant.get("id") or grant.get("name") or "")
        path = str(grant.get("path") or "")
        if isinstance(grant.get("bank"), str):
            bank = str(grant["bank"])
            if bank in self._banks:
                yield from self._of_bank(bank, path)
            else:
                yield DocumentFault(bank, "the profile has no knowledge bank of this name")
        elif isinstance(text, str) and name:
            yield text_document(name, text, str(grant.get("title") or ""))
        elif path:
            yield from self._of_path(path, base, name)
        else:
            yield DocumentFault(name or "a document", "needs 'bank', 'path', or 'id' with 'text'")

    def _of_bank(self, bank: str, part: str) -> Iterator[Read]:
        folder = Path(self._banks[bank].path)
        if not folder.is_dir():
            yield DocumentFault(bank, "the folder of this knowledge bank does not exist")
            return
        wanted = safe_id(part) if part.strip("/") else ""
        there = [(path, inside, safe_id(inside)) for path, inside in documents_in(folder)]
        meant = [one for one in there if not wanted or _is_named(one[2], wanted)]
        if not meant:  # a document may be named without its ending
            meant = [one for one in there if one[2].rpartition(".")[0] == wanted]
        for path, inside, _ in meant:
            yield self._document(path, f"{bank}/{inside}")
        if not meant:
            ids = [name for _, _, name in there]
            close = get_close_matches(wanted, ids, 1) if wanted else []
            hint = f" (did you mean '{bank}/{close[0]}'?)" if close else ""
            name = f"{bank}/{part}" if part else bank
            yield DocumentFault(name, f"no document of this bank{hint}")

    def _of_path(self, written: str, base: Path, name: str) -> Iterator[Read]:
        path = (base / Path(written).expanduser()).absolute()
        if path.is_dir():
            found = False
            for file, inside in documents_in(path):
                found = True
                yield self._document(file, f"{written.strip('./') or path.name}/{inside}")
            if not found:
                yield DocumentFault(written, "no document lies in this folder")
        elif path.is_file():
            yield self._document(path, name or Path(written).name)
        else:
            yield DocumentFault(written, "neither a knowledge bank nor a file or folder")

    def _document(self, path: Path, name: str) -> Read:
        read = self._read.get(path)
        known = safe_id(name)
        if read is None or (isinstance(read, Document) and read.id != known):
            read = self._read[path] = read_document(path, name)
        return read


def _is_named(name: str, wanted: str) -> bool:
    """Whether a document is the one wanted, lies in that folder, or matches that pattern."""
    return name == wanted or name.startswith(f"{wanted}/") or fnmatchcase(name, wanted)
