"""One tool result, shaped: the entry of this room.

What is inside the wrapper is looked at, cleaned, whitelisted, paged and cut, in that order; the
first check lets a short plain text through untouched, because most results are that.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from contextctl.core.reading.exact_json import dump_exact
from contextctl.core.shaping.binary import RUN_CHARS, binary_kind, longest_word, without_encoded
from contextctl.core.shaping.clean import clean_text, is_clean
from contextctl.core.shaping.cut import cut_middle
from contextctl.core.shaping.markup import html_text, is_html, is_xml
from contextctl.core.shaping.parsed import Records, records_in
from contextctl.core.shaping.read_json import (
    compact_json,
    escaped_halves,
    gains_from_compaction,
)
from contextctl.core.shaping.records import shape_records
from contextctl.core.shaping.reference import refer_json, refer_text
from contextctl.core.shaping.setting import Setting
from contextctl.core.shaping.table import parse_table, shape_table
from contextctl.core.shaping.unwrap import unwrapped
from contextctl.model.shaping import ShapeCall, Shaped, ShapeRule

if TYPE_CHECKING:
    from contextctl.model.counter import Counter
    from contextctl.model.message import Json

# How a line of a log begins: a date and time in any usual order, or a time alone.
_STAMP = re.compile(
    r"\A\[?(?:\d{2,4}[-/.]\d{1,2}[-/.]\d{1,4}[ T]\d{1,2}:\d{2}"
    r"|(?:[A-Z][a-z]{2} ){1,2} ?\d{1,2} \d\d:\d\d|\d\d:\d\d:\d\d)"
)

_FIELDLESS = frozenset({"text", "log", "xml", "html"})
_NO_RECORDS = "the result is {kind} without records, so the rule's 'fields' were not applied"


def shape_result(
    raw: str,
    rule: ShapeRule,
    mode: str,
    counter: Counter,
    ref: str,
    locale: str,
    call: ShapeCall | None = None,
) -> Shaped:
    """Shape the result ``raw`` of a tool by its ``rule``.

    ``mode`` is ``full`` or ``ref``; ``ref`` names where the loop will keep ``unwrapped(raw)``, and
    stands in the text wherever something is left out. The same arguments give the same text, which
    never has more tokens than ``rule.max_tokens``.
    """
    call = call or ShapeCall()
    if call.status == "error" and rule.fields is not None:
        rule = replace(rule, fields=None)
    setting = Setting(rule, counter, ref, locale, call)
    if rule.disposable:
        return _disposed(raw, setting)
    if mode == "full" and not _asks_for_records(setting) and _is_plain(raw):
        tokens = setting.tokens_or_more(raw)
        if tokens <= rule.max_tokens:
            return _whole(raw, tokens, "text")
    source = unwrapped(raw)
    if not source.strip():
        text = setting.say("empty")
        return replace(_whole(text, counter.text(text), "empty"), returned=0, total=0)
    shaped = _shape(source, setting)
    if mode == "full" or not ref:
        return shaped
    reference = _refer(source, shaped, setting)
    return reference if reference.tokens * 2 <= shaped.tokens else shaped


def _shape(source: str, setting: Setting) -> Shaped:
    what = binary_kind(source)
    if what is not None:
        ref = f"; ref {setting.ref}" if setting.ref else ""
        text = setting.say("binary", what=what, chars=f"{len(source):,}", ref=ref)
        return _part(text, "binary", source, setting, shown=0)
    text, dropped = _without_encoded(source, setting)
    records = records_in(text, loose=_asks_for_records(setting))
    if records is not None:
        shaped = _shape_json(records, text, setting)
    else:
        shaped = _shape_text(text, setting)
        if setting.rule.fields is not None and shaped.kind in _FIELDLESS and not shaped.warnings:
            shaped = replace(shaped, warnings=(_NO_RECORDS.format(kind=shaped.kind),))
    return replace(shaped, lossless=False) if dropped else shaped


def _shape_json(records: Records, text: str, setting: Setting) -> Shaped:
    if not isinstance(records.root, (dict, list)):
        return _shape_text(text, setting)
    if not _asks_for_records(setting):
        whole = _cheapest(text, records, setting)
        tokens = setting.tokens_or_more(whole)
        if tokens <= setting.cap:
            media = "text/plain" if records.kind == "python" else "application/json"
            return replace(_whole(whole, tokens, records.kind), media=media)
    return shape_records(records, setting)


def _shape_text(text: str, setting: Setting) -> Shaped:
    clean = clean_text(text)
    kind, lossless = _text_kind(clean, text), True
    if kind == "html":
        key = "html" if setting.ref else "html_bare"
        clean = setting.say(key, ref=setting.ref) + "\n" + clean_text(html_text(clean))
        lossless = False
    if not clean.strip():
        said = setting.say("empty")
        return replace(_whole(said, setting.tokens(said), "empty"), returned=0, total=0)
    tokens = setting.tokens_or_more(clean)
    if kind == "text" and (_asks_for_records(setting) or tokens > setting.cap):
        table = parse_table(clean)
        if table is not None:
            shaped = shape_table(table, clean, setting)
            if shaped.tokens <= setting.cap:
                return shaped
    if tokens <= setting.cap:
        return replace(_whole(clean, tokens, kind), lossless=lossless)
    cut = cut_middle(clean, setting)
    omitted = cut.end - cut.start
    return Shaped(
        text=cut.text,
        tokens=cut.tokens,
        kind=kind,
        returned=len(clean) - omitted,
        total=len(clean),
        omitted=omitted,
        truncated=True,
        next_cursor=clean.count("\n", 0, cut.start),
        lossless=False,
    )


def _refer(source: str, shaped: Shaped, setting: Setting) -> Shaped:
    if shaped.kind == "binary":
        return shaped
    records = records_in(source)
    if records is not None and isinstance(records.root, (dict, list)):
        reference = refer_json(records.root, records.kind, source, setting)
    else:
        text, _ = _without_encoded(source, setting)
        clean = clean_text(html_text(text) if is_html(text) else text)
        reference = refer_text(clean, shaped.kind, source, setting)
    return replace(reference, warnings=shaped.warnings)


def _asks_for_records(setting: Setting) -> bool:
    rule = setting.rule
    return rule.fields is not None or rule.page is not None or setting.call.cursor is not None


def _is_plain(raw: str) -> bool:
    """Whether nothing about ``raw`` asks for a closer look than its length."""
    first = raw.lstrip()[:8]
    if first[:1] in {"", "{", "[", "<", "("} or first.startswith(("meta=", "_meta=", "content=")):
        return False
    return is_clean(raw) and longest_word(raw) < RUN_CHARS and not first.startswith("%PDF-")


def _cheapest(text: str, records: Records, setting: Setting) -> str:
    """The text as it came, or its compact form where that is strict JSON or saves tokens."""
    plain = escaped_halves(text.strip().removeprefix("\ufeff"))
    if records.kind == "ndjson":
        return plain
    if records.kind == "json" and not gains_from_compaction(plain):
        return plain
    python = records.kind == "python"
    compact = dump_exact(records.root) if python else compact_json(plain)
    odd = python or "NaN" in plain or "Infinity" in plain
    return (
        compact if odd or setting.tokens_or_more(compact) < setting.tokens_or_more(plain) else plain
    )


def _without_encoded(text: str, setting: Setting) -> tuple[str, bool]:
    """``text`` without base64; the first description names the ref. True when there was any."""
    named = False

    def describe(media: str, chars: int) -> str:
        nonlocal named
        ref = f"; ref {setting.ref}" if setting.ref and not named else ""
        named = True
        return setting.say("base64", media=media, chars=f"{chars:,}", ref=ref)

    return without_encoded(text, describe), named


def _text_kind(clean: str, text: str) -> str:
    if is_html(clean):
        return "html"
    if is_xml(clean):
        return "xml"
    return "log" if "\x1b" in text or _STAMP.match(clean) else "text"


def _disposed(raw: str, setting: Setting) -> Shaped:
    size: dict[str, Json] = {
        "lines": raw.count("\n") + 1 if raw else 0,
        "chars": len(raw),
        "tokens": setting.tokens(raw),
    }
    call: dict[str, Json] = {"call_id": setting.call.call_id, "status": setting.call.status}
    text = dump_exact({"disposed": True, **call, "size": size})
    return _part(text, "text", raw, setting, shown=0)


def _whole(text: str, tokens: int, kind: str) -> Shaped:
    return Shaped(text=text, tokens=tokens, kind=kind, returned=len(text), total=len(text))


def _part(text: str, kind: str, source: str, setting: Setting, *, shown: int) -> Shaped:
    """A description in place of ``source``."""
    tokens = setting.tokens(text)
    if tokens > setting.cap:
        cut = cut_middle(text, setting)
        text, tokens = cut.text, cut.tokens
    total = len(source)
    return Shaped(
        text=text,
        tokens=tokens,
        kind=kind,
        returned=shown,
        total=total,
        omitted=total - shown,
        truncated=True,
        lossless=False,
    )
