"""Lines of a screen that is 100 columns wide: wrapped at spaces, never cut off.

A column is what a terminal shows: wide characters (Chinese, Japanese, emoji) take two.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

WIDTH = 100


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
