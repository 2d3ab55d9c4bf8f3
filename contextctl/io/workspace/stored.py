"""How content, refs and labels are written in a blob store.

    blob/<sha256>            the content: one tag byte, then the bytes, packed if that is shorter
    ref/<ref>                JSON: what the ref leads to and whose it is
    label/<owner>/<digest>   JSON: a name that a model gave, and its ref

Content is checked against its hash whenever it is read, so damage shows as missing, never as
other content.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from dataclasses import asdict, dataclass

_PLAIN, _PACKED = b"r", b"z"
_PACK_FROM = 200
_REF_FORM = re.compile(r"[A-Za-z0-9_-]{3,80}", re.ASCII)


@dataclass(frozen=True, slots=True)
class StoredRef:
    """What a ref leads to. ``size`` is bytes of the content, ``time`` seconds since 1970.

    ``owner`` stands for the session with its key, ``run`` is the run that wrote it, and ``lines``
    and ``chars`` are 0 for what is not text.
    """

    ref: str
    sha256: str
    media: str
    size: int
    lines: int
    chars: int
    owner: str
    run: str
    time: float

    @property
    def is_text(self) -> bool:
        """Whether the content is text, stored as UTF-8."""
        return self.media.startswith("text/") or self.media == "application/json"

    @property
    def suffix(self) -> str:
        """The ending of the content's file when it is exported."""
        if self.media == "application/json":
            return ".json"
        return ".txt" if self.is_text else ".bin"

    def to_bytes(self) -> bytes:
        """The row as stored; the ref itself is its key."""
        fields = asdict(self)
        del fields["ref"]
        return json.dumps(fields, ensure_ascii=False).encode("utf-8")


@dataclass(frozen=True, slots=True)
class StoredLabel:
    """A name a model gave, and the ref it leads to."""

    name: str
    ref: str

    def to_bytes(self) -> bytes:
        """The row as stored."""
        return json.dumps(asdict(self), ensure_ascii=False).encode("utf-8")


def stored_label(row: bytes | None) -> StoredLabel | None:
    """Read a label's row. A row that is missing or not ours is None."""
    try:
        return None if row is None else StoredLabel(**json.loads(row))
    except (ValueError, TypeError):
        return None


def ref_key(ref: str) -> str | None:
    """The key of a ref's row; None for text that cannot be a ref (a path, a name, a NUL)."""
    return f"ref/{ref}" if _REF_FORM.fullmatch(ref) else None


def stored_ref(ref: str, row: bytes | None) -> StoredRef | None:
    """Read a ref's row. A row that is missing or not ours is None."""
    if row is None:
        return None
    try:
        return StoredRef(ref=ref, **json.loads(row))
    except (ValueError, TypeError):
        return None


def owner_of(session: str, key: str) -> str:
    """The mark of a session and its key; the key cannot be found from it."""
    return hashlib.sha256(f"{session}\0{key}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def digest(content: bytes) -> str:
    """The hex SHA-256 under which ``content`` is stored."""
    return hashlib.sha256(content).hexdigest()


def pack(content: bytes) -> bytes:
    """``content`` as it is stored."""
    if len(content) >= _PACK_FROM:
        packed = zlib.compress(content, 1)
        if len(packed) < len(content):
            return _PACKED + packed
    return _PLAIN + content


def unpack(stored: bytes, sha256: str) -> bytes | None:
    """The content, or None when what is stored is cut short or otherwise not that content."""
    content = stored[1:]
    if stored[:1] == _PACKED:
        try:
            content = zlib.decompress(content)
        except zlib.error:
            return None
    return content if digest(content) == sha256 else None
