"""A result that stands in the window as a reference: what it is, how large, and how to read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextctl.core.reading.exact_json import dump_exact
from contextctl.core.shaping.cut import cut_middle, facts_text, grapheme_floor
from contextctl.core.shaping.items import find_items
from contextctl.core.shaping.prune import Pruner
from contextctl.core.shaping.select import field_paths
from contextctl.model.shaping import Shaped

if TYPE_CHECKING:
    from contextctl.core.shaping.setting import Setting
    from contextctl.model.message import Json, JsonObject

HEAD_CHARS = 300
_FIELDS = 24


def refer_json(root: Json, kind: str, source: str, setting: Setting) -> Shaped:
    """The reference to a JSON result, itself JSON: its fields, its first record, its size."""
    items = find_items(root, only_records=True)
    sample: Json = root
    rows = None
    if items is not None and len(items.rows) > 1:
        sample, rows = items.rows[0], len(items.rows)
    size: JsonObject = {
        "ref": setting.ref,
        "kind": kind,
        "lines": source.count("\n") + 1,
        "chars": len(source),
        "tokens": setting.tokens(source),
    }
    if rows is not None:
        size["items"] = rows
    fields: list[Json] = [*field_paths(root, _FIELDS)]
    head = Pruner(sample).within(HEAD_CHARS)
    hint = setting.say("ref_fields", ref=setting.ref)
    return _shaped(_first_fitting(size, fields, head, hint, setting), kind, source, rows, setting)


def refer_text(text: str, kind: str, source: str, setting: Setting) -> Shaped:
    """The reference to a text: one line about it, then its head."""
    end = grapheme_floor(text, HEAD_CHARS)
    head = text[:end]
    said = setting.say(
        "ref",
        ref=setting.ref,
        kind=kind,
        lines=f"{source.count(chr(10)) + 1:,}",
        chars=f"{len(source):,}",
        tokens=f"{setting.tokens(source):,}",
        head=end,
        start=head.count("\n"),
    )
    facts = facts_text(text[end:], setting)
    shown = f"{said}{facts}\n{head}"
    if setting.tokens(shown) > setting.cap:
        shown = f"[ref {setting.ref}]"
    if setting.tokens(shown) > setting.cap:
        shown = cut_middle(shown, setting).text
    return _shaped(shown, kind, source, None, setting)


def _first_fitting(
    size: JsonObject, fields: list[Json], head: Json, hint: str, setting: Setting
) -> str:
    forms: tuple[JsonObject, ...] = (
        {**size, "fields": fields, "head": head, "hint": hint},
        {**size, "fields": fields, "hint": hint},
        size,
        {"ref": setting.ref},
    )
    for form in forms:
        text = dump_exact(form)
        if setting.tokens(text) <= setting.cap:
            return text
    return cut_middle(dump_exact(forms[-1]), setting).text


def _shaped(text: str, kind: str, source: str, rows: int | None, setting: Setting) -> Shaped:
    total = len(source) if rows is None else rows
    return Shaped(
        text=text,
        tokens=setting.tokens(text),
        kind=kind,
        returned=0,
        total=total,
        omitted=total,
        truncated=True,
        next_cursor=0,
        lossless=False,
        media="application/json" if kind in {"json", "ndjson"} else "text/plain",
    )
