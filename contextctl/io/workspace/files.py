"""The workspace as people see it: every session's refs, exported to files, swept by age and run."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from contextctl.io.text.files import write_atomic
from contextctl.io.workspace.stored import StoredRef, ref_key, stored_label, stored_ref, unpack

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable

    from contextctl.io.workspace.blobs import BlobStore


@dataclass(frozen=True, slots=True)
class Export:
    """Files written, and refs whose content is damaged or gone."""

    written: tuple[Path, ...]
    damaged: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Collected:
    """What a garbage collection removed: refs, contents no ref leads to, files left behind."""

    refs: int
    blobs: int
    files: int


def all_refs(
    store: BlobStore,
    *,
    owners: Container[str] | None = None,
    run: str | None = None,
    older_than_s: float | None = None,
) -> tuple[StoredRef, ...]:
    """Refs of all sessions, oldest first; or of some owners, of one run, or older than an age."""
    now = time.time()
    rows = (stored_ref(key.removeprefix("ref/"), store.get(key)) for key in store.keys("ref/"))
    wanted = (
        row
        for row in rows
        if row is not None
        and run in (None, row.run)
        and (owners is None or row.owner in owners)
        and (older_than_s is None or now - row.time > older_than_s)
    )
    return tuple(sorted(wanted, key=lambda row: (row.time, row.ref)))


def all_labels(store: BlobStore) -> dict[str, tuple[str, ...]]:
    """The names that models gave, by the ref each leads to now."""
    names: dict[str, tuple[str, ...]] = {}
    for key in store.keys("label/"):
        label = stored_label(store.get(key))
        if label is not None:
            names[label.ref] = (*names.get(label.ref, ()), label.name)
    return names


def content_of(store: BlobStore, ref: str) -> tuple[StoredRef, bytes | None] | None:
    """A ref of any session with its content; the content is None when it is damaged or gone."""
    key = ref_key(ref)
    row = None if key is None else stored_ref(ref, store.get(key))
    if row is None:
        return None
    stored = store.get(f"blob/{row.sha256}")
    return row, None if stored is None else unpack(stored, row.sha256)


def export_refs(store: BlobStore, refs: Iterable[StoredRef], folder: Path) -> Export:
    """Write each ref's whole content to ``<folder>/<ref>.txt``, ``.json`` or ``.bin``."""
    written: list[Path] = []
    damaged: list[str] = []
    for row in refs:
        stored = store.get(f"blob/{row.sha256}")
        content = None if stored is None else unpack(stored, row.sha256)
        if content is None:
            damaged.append(row.ref)
            continue
        path = folder / f"{row.ref}{row.suffix}"
        write_atomic(path, content, sync=False)
        written.append(path)
    return Export(tuple(written), tuple(damaged))


def collect(store: BlobStore, removable: Collection[str] = ()) -> Collected:
    """Remove the refs ``removable`` with their names, then whatever nothing leads to.

    With none given, only content without a ref and files of killed writers go.
    """
    refs = store.delete_many(f"ref/{ref}" for ref in removable)
    # From here on no writer may come between: it could find a content stored, and write only its
    # ref, just before the content goes.
    with store.exclusive():
        labels = ((key, stored_label(store.get(key))) for key in list(store.keys("label/")))
        store.delete_many([key for key, label in labels if label and label.ref in removable])
        used = {f"blob/{row.sha256}" for row in all_refs(store)}
        blobs = store.delete_many([key for key in store.keys("blob/") if key not in used])
        return Collected(refs, blobs, store.sweep())
