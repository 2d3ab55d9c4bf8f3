"""CSV and TSV results: the whitelist names columns, a page counts rows, values stay as they are."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contextctl.core.shaping.page import Listing, listing, next_cursor, page_note
from contextctl.model.shaping import Shaped

if TYPE_CHECKING:
    from contextctl.core.shaping.setting import Setting
    from contextctl.model.message import Json

_NAME = re.compile(r"[^\W\d][\w .%/#()-]{0,60}")
_LOOKED_AT = 30
_ROUNDS = 12
_KINDS = {",": "csv", "\t": "tsv", ";": "csv"}


@dataclass(frozen=True, slots=True)
class Table:
    """A table with named columns; ``rows`` are texts, as many in each as there are columns."""

    delimiter: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def kind(self) -> str:
        """``csv`` or ``tsv``."""
        return _KINDS[self.delimiter]


def parse_table(text: str) -> Table | None:
    """Read a table with a header of distinct names and at least two rows, all equally wide."""
    first = text[: text.find("\n")] if "\n" in text else ""
    if not first.strip():
        return None
    delimiter = max(_KINDS, key=first.count)
    if not first.count(delimiter):
        return None
    names = next(csv.reader([first], delimiter=delimiter), [])
    distinct = len(set(names)) == len(names) > 1
    if not distinct or not all(_NAME.fullmatch(name.strip()) for name in names):
        return None
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        rows = [tuple(row) for row in reader if row]
    except csv.Error:
        return None
    if len(rows) < 3 or any(len(row) != len(names) for row in rows):
        return None
    return Table(delimiter, rows[0], tuple(rows[1:]))


def shape_table(table: Table, whole: str, setting: Setting) -> Shaped:
    """The asked columns and as many rows as page and cap allow, then a line that says so."""
    rule = setting.rule
    wanted = [name for name in table.columns if name.strip() in (rule.fields or ())]
    known = [name.strip() for name in table.columns]
    missing = [name for name in rule.fields or () if name not in known]
    columns = [table.columns.index(name) for name in wanted] or list(range(len(table.columns)))
    records: list[Json] = [dict(zip(known, row, strict=True)) for row in table.rows]
    found = listing(None, records, "", setting)
    count = found.rest if rule.page is None else min(found.rest, max(1, rule.page.limit))
    text = _rendered(table, columns, found, count, setting)
    tokens = setting.tokens(text)
    for _ in range(_ROUNDS):
        if tokens <= setting.cap or count == 0:
            break
        count = min(count - 1, int(count * setting.cap / tokens * 0.95))
        text = _rendered(table, columns, found, count, setting)
        tokens = setting.tokens(text)
    return Shaped(
        text=text,
        tokens=tokens,
        kind=table.kind,
        returned=count,
        total=found.total,
        omitted=found.total - count,
        truncated=count < found.total,
        next_cursor=next_cursor(found, count, setting),
        warnings=tuple(
            f"field '{name}' occurs nowhere in this result; it has: {', '.join(known)}"
            for name in missing
        ),
        lossless=text.rstrip("\n") == whole.rstrip("\n"),
        media="text/csv" if table.kind == "csv" else "text/tab-separated-values",
    )


def _rendered(
    table: Table, columns: list[int], found: Listing, count: int, setting: Setting
) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=table.delimiter, lineterminator="\n")
    for row in (table.columns, *table.rows[found.start : found.start + count]):
        writer.writerow([row[column] for column in columns])
    dropped = len(table.columns) - len(columns)
    if count == found.total and not dropped:
        return out.getvalue()
    if count == found.total:
        ref = f"; ref {setting.ref}" if setting.ref else ""
        said = f"returned {count} of {count} rows; omitted_fields {dropped}{ref}"
        return f"{out.getvalue()}[{said}]"
    note = page_note(found, count, setting)
    hint = note.pop("hint")
    said = "; ".join(f"{key} {_word(value)}" for key, value in note.items())
    return f"{out.getvalue()}[{said}. {hint}]"


def _word(value: Json) -> str:
    return "true" if value is True else "none" if value in (None, False) else str(value)
