"""JSON results: whitelist, then page, then made to fit; always strict JSON with exact values."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from contextctl.core.reading.exact_json import dump_exact
from contextctl.core.shaping.cut import cut_middle, facts_text
from contextctl.core.shaping.items import find_items, with_rows
from contextctl.core.shaping.missed import nothing_asked_exists, unknown_field
from contextctl.core.shaping.page import Listing, listing, next_cursor, page_note, whole_note
from contextctl.core.shaping.prune import Pruner, json_size
from contextctl.core.shaping.select import Paths, value_at
from contextctl.core.shaping.whitelist import dropped_fields, whitelisted
from contextctl.model.message import Json, JsonObject
from contextctl.model.shaping import Shaped

if TYPE_CHECKING:
    from contextctl.core.shaping.items import Items
    from contextctl.core.shaping.parsed import Records
    from contextctl.core.shaping.setting import Setting

_ROUNDS = 12
_SAMPLE = 50
# Rows that are too large to be shown whole are cut to about this size, so that several are seen.
_ROW_TOKENS = 250
_NOTE_CHARS = 240


def shape_records(source: Records, setting: Setting) -> Shaped:
    """Apply the rule's whitelist and page to ``source``, and keep the result under the cap."""
    rule = setting.rule
    items = find_items(source.root, only_records=rule.page is None)
    if rule.page is None and rule.fields is None and setting.call.cursor is None:
        items = _dominant(items, source)
    source = replace(source, items=items)
    found = None if items is None else listing(source.root, items.rows, _place(source), setting)
    count = 0
    if found is not None:
        count = found.rest if rule.page is None else min(found.rest, max(1, rule.page.limit))
        if rule.page is None and rule.fields is None:
            count = min(count, _likely_rows(found.rest, source, setting))
    view = _View(source, found, setting, Paths.of(rule.fields or ()))
    if rule.fields and not view.finds_any_field():
        return nothing_asked_exists(source, setting)
    return view.fitted(count)


class _View:
    """Renders ``count`` rows of one result, and looks for a count that fits."""

    def __init__(
        self, source: Records, found: Listing | None, setting: Setting, paths: Paths
    ) -> None:
        self.source, self.found, self.setting, self.paths = source, found, setting, paths
        self.matched: set[str] = set()

    def fitted(self, count: int) -> Shaped:
        """The most rows, up to ``count``, that stay under the cap."""
        asked, cap = count, self.setting.cap
        value, dropped = self._value(count)
        text, tokens = self._text(value, count, dropped)
        for _ in range(_ROUNDS):
            if tokens <= cap or count <= 1:
                break
            count = max(1, min(count - 1, int(count * cap / tokens * 0.95)))
            value, dropped = self._value(count)
            text, tokens = self._text(value, count, dropped)
        pruned = tokens > cap
        if pruned:
            count = min(asked, max(1, cap // _ROW_TOKENS))
            text, tokens, count = self._pruned(count, tokens / len(text))
        return self._shaped(text, tokens, count, lossless=not (dropped or pruned), pruned=pruned)

    def finds_any_field(self) -> bool:
        """Whether a whitelisted path exists at all; collects those that do in ``matched``."""
        self._value(_SAMPLE)
        if self.found is not None and len(self.matched) < len(self.setting.rule.fields or ()):
            self._value(self.found.rest, from_start=True)
        rows = self.found is None or bool(self.found.rows)
        return bool(self.matched) or not rows

    def _value(self, count: int, *, from_start: bool = False) -> tuple[Json, int]:
        """``count`` rows in their surroundings, whitelisted; and how many fields were dropped."""
        root, items, found = self.source.root, self.source.items, self.found
        rows: list[Json] = []
        if items is not None and found is not None:
            start = 0 if from_start else found.start
            rows = items.rows[start:] if from_start else items.rows[start : start + count]
            if len(rows) < len(items.rows):
                root = with_rows(root, items.path, rows)
        if not self.setting.rule.fields:
            return root, 0
        kept = whitelisted(root, self.paths, self.matched, items, rows)
        return kept, dropped_fields(root, kept, items)

    def _text(self, value: Json, count: int, dropped: int) -> tuple[str, int]:
        """The first form that fits: a part states what it is, a whole only if it is cheap."""
        notes = self._notes(count, dropped)
        whole = self.setting.tokens_or_more(self.source.text) if len(notes) > 1 else 0
        for note in notes[:-1]:
            text = self.source.dumped(value, note)
            tokens = self.setting.tokens_or_more(text)
            if tokens <= min(whole, self.setting.cap):
                return text, tokens
        text = self.source.dumped(value, notes[-1])
        return text, self.setting.tokens_or_more(text)

    def _notes(self, count: int, dropped: int) -> tuple[JsonObject, ...]:
        found, setting = self.found, self.setting
        fields: JsonObject = {"omitted_fields": dropped} if dropped else {}
        if found is not None and count < found.total:
            return (page_note(found, count, setting) | fields,)
        if found is not None and found.total == 0 and setting.rule.page is not None:
            return (whole_note(found, setting),)
        if not dropped:
            return ({},)
        ref: JsonObject = {"ref": setting.ref} if setting.ref else {}
        whole = whole_note(found, setting) if found is not None else {}
        return (whole | fields | ref, fields | ref, ref, {}) if ref else (whole | fields, {})

    def _pruned(self, count: int, density: float) -> tuple[str, int, int]:
        """Cut inside the values until a few rows, or an object without rows, fit.

        ``density`` is tokens a character. Gives the text, its tokens and the rows still in it.
        """
        setting = self.setting
        value = self._value(count)[0]
        size, pruner = json_size(value), Pruner(value)
        room = int(setting.cap / density)
        for _ in range(_ROUNDS):
            shown, rows = self._without_mark(pruner.within(room - _NOTE_CHARS))
            note = self._pruned_note(rows, size, room)
            named = facts_text(self.source.text, setting, shown=dump_exact(shown)).strip()
            note["hint"] = setting.joined(str(note["hint"]), named)
            text = self.source.dumped(shown, note)
            tokens = setting.tokens(text)
            if tokens <= setting.cap:
                return text, tokens, rows or 0
            room = int(room * min(0.9, setting.cap / tokens))
        cut = cut_middle(self.source.text, setting)
        return cut.text, cut.tokens, 0

    def _without_mark(self, value: Json) -> tuple[Json, int | None]:
        """A pruned value whose note counts its rows instead of a mark; None when rows are gone."""
        items = self.source.items
        rows = value if items is None else value_at(value, items.path)
        if items is None or not isinstance(rows, list):
            return value, None
        kept = [row for row in rows if not (isinstance(row, str) and row.startswith("…["))]
        return with_rows(value, items.path, kept), len(kept)

    def _pruned_note(self, count: int | None, size: int, room: int) -> JsonObject:
        setting = self.setting
        hint = setting.say("pruned")
        if setting.ref:
            hint = setting.joined(hint, setting.say("whole", ref=setting.ref))
        if self.found is not None and count and self.found.total > count:
            note = page_note(self.found, count, setting)
            return note | {"hint": setting.joined(str(note["hint"]), setting.say("pruned"))}
        shown = min(room, size)
        return {
            "returned": shown, "total": size, "truncated": True, "omitted": size - shown,
            "next_cursor": None, "hint": hint,
        }  # fmt: skip

    def _shaped(
        self, text: str, tokens: int, count: int, *, lossless: bool, pruned: bool
    ) -> Shaped:
        found, fields = self.found, self.setting.rule.fields or ()
        unknown = [path for path in fields if path not in self.matched]
        if found is not None and not found.rows:
            unknown = []
        returned, total = len(text), max(len(text), len(self.source.text))
        if found is not None:
            returned, total = count, found.total
        media = "application/json" if self.source.kind != "python" else "text/plain"
        return Shaped(
            text=text,
            tokens=tokens,
            kind=self.source.kind,
            returned=returned,
            total=total,
            omitted=total - returned if found is not None or pruned else 0,
            truncated=pruned or (found is not None and count < total),
            next_cursor=None if found is None else _plain(next_cursor(found, count, self.setting)),
            warnings=(
                *(unknown_field(path, self.source.root) for path in unknown),
                *(_repeated_key(key) for key in self.source.duplicates),
            ),
            lossless=lossless
            and not self.source.duplicates
            and (found is None or count == len(found.rows)),
            media=media,
        )


def _likely_rows(rows: int, source: Records, setting: Setting) -> int:
    """Somewhat more rows than will fit of a result that is known not to fit as a whole."""
    share = setting.cap / max(1, setting.tokens_or_more(source.text))
    return max(1, math.ceil(rows * share * 1.5))


def _dominant(items: Items | None, source: Records) -> Items | None:
    """The records, when they make up most of the result; else its outline is worth more."""
    if items is None or len(items.rows) < 2:
        return None
    sample = items.rows[:_SAMPLE]
    rows = sum(map(json_size, sample)) * len(items.rows) / len(sample)
    return items if rows > json_size(with_rows(source.root, items.path, [])) else None


def _place(source: Records) -> str:
    """The path by which ``fetch`` reads the rows; ``""`` where the stored text is not JSON."""
    if source.kind == "python" or source.items is None:
        return ""
    return ".".join(source.items.path) or "[]"


def _repeated_key(key: str) -> str:
    return f"key '{key}' occurs twice in one object; its last value is kept"


def _plain(cursor: Json) -> Json:
    """A cursor without the mark of an exact number."""
    return str(cursor) if isinstance(cursor, str) else cursor
