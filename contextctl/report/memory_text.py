"""Memories and their changes as tables for a person."""

from __future__ import annotations

from collections.abc import Sequence

from contextctl.model.memory import HELD, Change, Memory
from contextctl.model.memory_keys import MADE
from contextctl.report.columns import table

_TEXT = 80


def memories_text(rows: Sequence[Memory]) -> str:
    """One line a memory: id, whose, what kind, since when, how often recalled, its text."""
    lines = [["ID", "SUBJECT", "KIND", "KEY", "CHANGED", "HITS", "TEXT"]]
    for row in rows:
        marks = [row.state] if row.state == HELD else []
        marks += ["session"] if row.session else []
        marks += [f"until {row.expires_at[:10]}"] if row.expires_at else []
        marks += [f"{row.bad} complaints"] if row.bad else []
        text = f"[{', '.join(marks)}] {row.text}" if marks else row.text
        lines.append(
            [
                row.id,
                row.subject,
                row.kind,
                _key(row.key),
                row.updated_at[:10],
                str(row.hits),
                _cut(text),
            ]
        )
    return "\n".join(table(lines, [*[False] * 5, True, False]))


def changes_text(changes: Sequence[Change]) -> str:
    """One line a change: when, what, to which memory, by whom."""
    lines = [["AT", "ACTION", "MEMORY", "SUBJECT", "KEY", "BY", "TEXT"]]
    for one in changes:
        text = f"{one.before} -> {one.after}" if one.before else one.after or one.code
        lines.append(
            [one.at[:19], one.action, one.memory_id, one.subject, _key(one.key), one.by, _cut(text)]
        )
    return "\n".join(table(lines, [False] * 7))


def _key(key: str) -> str:
    """A key that somebody named."""
    return "-" if key.startswith(MADE) else key


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _TEXT else f"{text[:_TEXT]}…"
