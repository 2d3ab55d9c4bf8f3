"""Tool names that every provider takes, each leading back to the server's own.

Providers accept letters of ASCII, digits, ``_`` and ``-``, at most 64 of them; servers use dots,
slashes, Chinese, or a name that another server uses too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence

MOST_CHARS = 64
_FINE = re.compile(rf"[A-Za-z0-9_-]{{1,{MOST_CHARS}}}")
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]+")
_HASH_CHARS = 8


class NameBook:
    """The names given so far. A tool keeps its name for as long as the process lives.

    ``taken`` are names of tools that do not come from a server; they are never given away.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._owners: dict[str, tuple[str, str]] = {name: ("", name) for name in taken}
        self._names: dict[tuple[str, str], str] = {}

    def give(self, found: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
        """A name for each ``(server, tool)`` of ``found``, the same whatever came first.

        A name that is fine and nobody else's stays as it is. Where two servers want the same one,
        both get their server's name before it.
        """
        new = [key for key in dict.fromkeys(found) if key not in self._names]
        wanted = [_safe(tool) for _, tool in new]
        for key, first in zip(new, wanted, strict=True):
            whole = "__".join(key)
            choices = (
                *((first,) if wanted.count(first) == 1 else ()),
                _safe(whole),
                _marked(whole, "\0".join(key)),
            )
            name = next(choice for choice in choices if choice not in self._owners)
            self._owners[name] = key
            self._names[key] = name
        return {key: self._names[key] for key in found}

    def owner(self, name: str) -> tuple[str, str] | None:
        """The server and its own name of the tool; None for a name that no server has."""
        owner = self._owners.get(name)
        return owner if owner is not None and owner[0] else None


def _safe(name: str) -> str:
    """``name`` as providers take it; what is lost on the way is made up for by a hash."""
    if _FINE.fullmatch(name):
        return name
    slug = _FOREIGN.sub("_", name).strip("_")
    readable = name.isascii() and 0 < len(slug) <= MOST_CHARS
    return slug if readable else _marked(name, name)


def _marked(name: str, identity: str) -> str:
    """A readable head of ``name`` and a hash of ``identity``."""
    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]
    head = _FOREIGN.sub("_", name).strip("_")[: MOST_CHARS - _HASH_CHARS - 1]
    return f"{head or 'tool'}_{digest}"
