"""The workspace of one session: content that left the window, kept whole under its refs.

A session is a root task with its subagents. It sees its own refs only: one of another session is
missing, exactly like one that never was, even where both share the folder. Content is stored once
however many refs lead to it, and putting it again changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from contextctl.errors import StoreError
from contextctl.io.workspace.blobs import BlobStore, open_store
from contextctl.io.workspace.files import export_refs
from contextctl.io.workspace.labels import LabelError, clean_label
from contextctl.io.workspace.stored import (
    StoredLabel,
    StoredRef,
    digest,
    owner_of,
    pack,
    ref_key,
    stored_label,
    stored_ref,
    unpack,
)

if TYPE_CHECKING:
    from contextctl.model.assembly import Offload


class Workspace:
    """The refs of one session over a shared store."""

    def __init__(self, store: BlobStore, session: str, key: str, *, run: str = "") -> None:
        self.store = store
        self.session = session
        self.damaged: set[str] = set()
        """Refs whose content was found damaged or gone when it was read."""
        self._owner = owner_of(session, key)
        self._run = run
        self._written: set[str] = set()

    @classmethod
    def open(
        cls,
        address: Path | str,
        session: str,
        key: str,
        *,
        run: str = "",
        size_limit: int | None = None,
    ) -> Workspace:
        """Open a folder, or an fsspec URL, for the session whose record opened with ``key`` (hex).

        ``run`` names the run in every ref written. ``size_limit`` in bytes refuses writes that
        would pass it; nothing is ever evicted. Raises ``StoreError``.
        """
        return cls(open_store(address, size_limit), session, key, run=run)

    def for_session(self, session: str, key: str) -> Workspace:
        """Another session over the same open store: a batch opens its folder once."""
        return Workspace(self.store, session, key, run=self._run)

    def put(self, ref: str, sha256: str, text: str, media: str = "text/plain") -> None:
        """Store ``text`` under ``ref``; again is harmless. Raises ``StoreError``."""
        self._put(((ref, sha256, _encoded(text), media, text),))

    def put_many(self, offloads: Iterable[Offload]) -> None:
        """Store what a step left out, in one transaction: when it returns, all of it is safe."""
        self._put(
            (one.ref, one.sha256, _encoded(one.text), one.media, one.text) for one in offloads
        )

    def put_bytes(self, ref: str, sha256: str, content: bytes, media: str) -> None:
        """Store content that is not text, such as a picture a tool returned."""
        self._put(((ref, sha256, content, media, None),))

    def get(self, ref: str) -> str | None:
        """The whole text of a ref; None when this session has no such text."""
        row = self._row(ref)
        content = self._content(row) if row is not None and row.is_text else None
        return None if content is None else content.decode("utf-8", "surrogatepass")

    def get_bytes(self, ref: str) -> bytes | None:
        """The content of a ref as bytes (text as UTF-8); None when this session has none."""
        row = self._row(ref)
        return None if row is None else self._content(row)

    def label(self, name: str, ref: str) -> None:
        """Give ``ref`` a name; a name given again leads to the new ref.

        Raises ``LabelError`` for a name that is refused, or that is a link in the folder.
        """
        clean = clean_label(name)
        if self._is_link(clean) or self._row(clean) is not None:
            raise LabelError("this name cannot be used; choose another")
        self.store.put_many(((self._label_key(clean), StoredLabel(clean, ref).to_bytes()),))

    def resolve(self, name: str) -> str | None:
        """The ref that ``name`` is, or that it is a label of; None when it is neither."""
        if self._row(name) is not None:
            return name
        try:
            clean = clean_label(name)
        except LabelError:
            return None
        label = stored_label(self.store.get(self._label_key(clean)))
        return None if label is None else label.ref

    def read(self, name: str) -> str | None:
        """The whole text of a ref or of a label; None for everything else, whatever the reason."""
        ref = self.resolve(name)
        return None if ref is None else self.get(ref)

    def refs(self) -> tuple[StoredRef, ...]:
        """This session's refs, oldest first."""
        rows = (self._row(key.removeprefix("ref/")) for key in self.store.keys("ref/"))
        return tuple(sorted((row for row in rows if row), key=lambda row: (row.time, row.ref)))

    def export(self, folder: Path) -> tuple[Path, ...]:
        """Write each ref's whole content to ``<folder>/<ref>.txt``, ``.json`` or ``.bin``."""
        return export_refs(self.store, self.refs(), folder).written

    def close(self) -> None:
        """Close the store, for every session that shares it."""
        self.store.close()

    def _put(self, items: Iterable[tuple[str, str, bytes, str, str | None]]) -> None:
        new: dict[str, tuple[StoredRef, bytes]] = {}
        for ref, sha256, content, media, text in items:
            if ref in self._written or ref in new:
                continue
            if digest(content) != sha256 or ref_key(ref) is None:
                raise ValueError(f"{ref!r} is no ref, or its content has not the hash {sha256!r}")
            new[ref] = self._new_row(ref, sha256, content, media, text), pack(content)
        if not new:
            return
        with self.store.exclusive():
            rows: dict[str, bytes] = {}
            for row, packed in new.values():
                rows |= self._missing_rows(row, packed)
            self.store.put_many(rows.items())
        self._written.update(new)

    def _missing_rows(self, row: StoredRef, packed: bytes) -> dict[str, bytes]:
        """What the store lacks of a ref and its content; damaged content is written anew."""
        rows = {}
        there = stored_ref(row.ref, self.store.get(f"ref/{row.ref}"))
        if there is not None and (there.owner, there.sha256) != (row.owner, row.sha256):
            raise StoreError(f"ref {row.ref!r} already leads to other content; it was not changed")
        stored = self.store.get(f"blob/{row.sha256}")
        if stored is None or unpack(stored, row.sha256) is None:
            rows[f"blob/{row.sha256}"] = packed
        if there is None:
            rows[f"ref/{row.ref}"] = row.to_bytes()
        return rows

    def _new_row(
        self, ref: str, sha256: str, content: bytes, media: str, text: str | None
    ) -> StoredRef:
        lines = 0 if not text else text.count("\n") + (not text.endswith("\n"))
        return StoredRef(
            ref=ref,
            sha256=sha256,
            media=media,
            size=len(content),
            lines=lines,
            chars=len(text or ""),
            owner=self._owner,
            run=self._run,
            time=round(time.time(), 3),
        )

    def _row(self, ref: str) -> StoredRef | None:
        key = ref_key(ref)
        row = None if key is None else stored_ref(ref, self.store.get(key))
        return row if row is not None and row.owner == self._owner else None

    def _content(self, row: StoredRef) -> bytes | None:
        stored = self.store.get(f"blob/{row.sha256}")
        content = None if stored is None else unpack(stored, row.sha256)
        if content is None:
            self.damaged.add(row.ref)
        return content

    def _label_key(self, clean: str) -> str:
        return f"label/{self._owner}/{digest(clean.encode('utf-8'))[:32]}"

    def _is_link(self, clean: str) -> bool:
        """Whether the folder has a link at this name: no label may look like a way out."""
        if self.store.folder is None:
            return False
        path = self.store.folder / clean
        steps = (path, *path.parents)
        return any(step.is_symlink() for step in steps if self.store.folder in step.parents)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
