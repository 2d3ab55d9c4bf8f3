"""A whitelist that fits nothing: said plainly, with the fields that there are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from contextctl.core.shaping.cut import cut_middle
from contextctl.core.shaping.select import field_paths
from contextctl.model.shaping import Shaped

if TYPE_CHECKING:
    from contextctl.core.shaping.parsed import Records
    from contextctl.core.shaping.setting import Setting
    from contextctl.model.message import Json, JsonObject

# An error message instead of the data is small: it is shown, whatever the whitelist says.
_SMALL_TOKENS = 300


def nothing_asked_exists(source: Records, setting: Setting) -> Shaped:
    """None of the whitelisted paths exists: say so, with what there is, instead of nothing."""
    fields = setting.rule.fields or ()
    said = setting.say("missed", fields=", ".join(fields))
    note: JsonObject = {"hint": said, "available": list(field_paths(source.root, 20))}
    if setting.ref:
        note["ref"] = setting.ref
    small = setting.tokens(source.text) <= min(_SMALL_TOKENS, setting.cap // 2)
    form = replace(source, kind="json")
    text = form.dumped({"result": source.root} if small else {}, note)
    if setting.tokens(text) > setting.cap:
        text = form.dumped({}, {key: note[key] for key in ("hint", "ref") if key in note})
    tokens = setting.tokens(text)
    if tokens > setting.cap:
        cut = cut_middle(text, setting)
        text, tokens = cut.text, cut.tokens
    size = len(source.text)
    return Shaped(
        text=text,
        tokens=tokens,
        kind=source.kind,
        returned=size if small else 0,
        total=size,
        omitted=0 if small else size,
        truncated=not small,
        warnings=tuple(unknown_field(path, source.root) for path in fields),
        lossless=small,
        media="application/json",
    )


def unknown_field(path: str, root: Json) -> str:
    """The warning about one path of a whitelist."""
    known = ", ".join(field_paths(root, 12))
    return f"field '{path}' occurs nowhere in this result; it has: {known}"
