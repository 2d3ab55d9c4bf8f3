"""Lines of a screen that is 100 columns wide: wrapped at spaces, never cut off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

WIDTH = 100


def wrapped(text: str, indent: str = "", first: str = "") -> Iterator[str]:
    """``text`` after ``first``, in lines that go on under ``indent``.

    Runs of spaces inside stay. A word longer than a line (an id, a path) goes on in the next one.
    """
    line = first
    room = WIDTH
    for word in text.split(" "):
        joined = f"{line} {word}" if line not in (first, indent) else line + word
        if len(joined) <= room:
            line = joined
            continue
        if line not in (first, indent):
            yield line.rstrip()
        line = indent + word if line not in (first, indent) else line + word
        while len(line) > room:
            yield line[:room]
            line = indent + line[room:]
    yield line.rstrip()


def table(rows: Sequence[Sequence[str]], right: Sequence[bool], gap: int = 2) -> Iterator[str]:
    """Rows in columns as wide as their widest cell; ``right`` says which lean to the right.

    The last column is not padded; where it does not fit, it goes on below itself.
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(right))]
    for row in rows:
        cells = [
            cell.rjust(widths[i]) if right[i] else cell.ljust(widths[i])
            for i, cell in enumerate(row)
        ]
        line = (" " * gap).join(cells).rstrip()
        if len(line) <= WIDTH or not row[-1]:
            yield line
            continue
        first = (" " * gap).join([*cells[:-1], ""])
        yield from wrapped(row[-1], " " * min(len(first), WIDTH // 2), first)
