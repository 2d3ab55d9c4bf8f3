"""Lines of a screen that is 100 columns wide: wrapped at spaces, never cut off.

A column is what a terminal shows: wide characters (Chinese, Japanese, emoji) take two.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

WIDTH = 100
_WORD = re.compile(r"(?:'[^']*'|\\.|[^\s'])+")


def columns(text: str) -> int:
    """How many columns ``text`` takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def wrapped(text: str, indent: str = "", first: str = "") -> Iterator[str]:
    """``text`` after ``first``, in lines that go on under ``indent``.

    Runs of spaces inside stay. A word longer than a line (an id, a path) goes on in the next one.
    """
    line, empty = first, True
    for word in text.split(" "):
        joined = line + word if empty else f"{line} {word}"
        if columns(joined) <= WIDTH:
            line, empty = joined, False
            continue
        if not empty:
            yield line.rstrip()
            line = indent
        *whole, line = chunks(line + word, indent)
        yield from whole
        empty = False
    yield line.rstrip()


def command(text: str, indent: str = "", first: str = "") -> Iterator[str]:
    """A shell command after ``first``: where it takes several lines, each but the last ends in a
    backslash, so that it can be copied whole. A quoted word is never broken."""
    line, empty = first, True
    for word in _WORD.findall(text):
        joined = line + word if empty else f"{line} {word}"
        if not empty and columns(joined) > WIDTH - 2:
            yield f"{line} \\"
            joined = indent + word
        if "'" not in word:
            while columns(joined) > WIDTH - 2:
                cut = len(next(chunks(joined))) - 2
                yield f"{joined[:cut]}\\"
                joined = joined[cut:]
        line, empty = joined, False
    yield line


def chunks(line: str, indent: str = "") -> Iterator[str]:
    """``line`` as it is, in pieces of the screen's width; further ones go on under ``indent``."""
    while columns(line) > WIDTH:
        cut, taken = 0, 0
        while taken + _columns(line[cut]) <= WIDTH:
            taken += _columns(line[cut])
            cut += 1
        yield line[:cut]
        line = indent + line[cut:]
    yield line


def table(rows: Sequence[Sequence[str]], right: Sequence[bool], gap: int = 2) -> Iterator[str]:
    """Rows in columns as wide as their widest cell; ``right`` says which lean to the right.

    The last column is not padded; where it does not fit, it goes on below itself.
    """
    widths = [max(columns(row[i]) for row in rows) for i in range(len(right))]
    for row in rows:
        cells = [_padded(cell, widths[i], right=right[i]) for i, cell in enumerate(row)]
        line = (" " * gap).join(cells).rstrip()
        if columns(line) <= WIDTH or not row[-1]:
            yield line
            continue
        first = (" " * gap).join([*cells[:-1], ""])
        yield from wrapped(row[-1], " " * min(columns(first), WIDTH // 2), first)


def _padded(cell: str, width: int, *, right: bool) -> str:
    space = " " * (width - columns(cell))
    return space + cell if right else cell + space
