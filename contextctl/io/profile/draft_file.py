"""A drafted profile as a YAML file: every number with its reason beside it."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from contextctl.io.profile.edit import yaml_scalar
from contextctl.model.draft import Draft, Kept, ToolSeen
from contextctl.model.message import Json, JsonObject

_SHOWN_TOOLS = 12
_WIDTH = 96
_WHY = {
    "budget": "A cut at the front re-bills the whole window: late and deep is cheaper than often.",
    "shaping": "Longer results are cut in the middle; the whole text stays readable by its ref.",
    "history": "A batch starts at live_share of the window and leaves recent_share of it whole.",
    "compaction": "The last step is never touched.",
    "workspace": "One reader of what left the window is enough, and cheaper than five.",
}


def draft_text(draft: Draft) -> str:
    """The file's text; it can be read as it is."""
    return "\n".join(_lines(draft)) + "\n"


def _lines(draft: Draft) -> Iterator[str]:
    many = f"{draft.traces} traces" if draft.traces > 1 else "one trace"
    yield f"# Drafted from {draft.source}: {many}, {draft.steps:,} steps."
    yield from _measured(draft)
    yield "# Change a number, look again: contextctl replay PROFILE TRACE, then contextctl explain."
    yield "version: 1"
    yield f"name: {yaml_scalar(draft.name)}"
    yield "model:"
    yield f"  name: {yaml_scalar(draft.model)}"
    takes = f"; the model takes {draft.model_window:,}" if draft.model_window else ""
    yield f"  # The largest trace holds {draft.largest:,} tokens with nothing left out{takes}."
    yield f"  window: {draft.window}"
    yield f"  reserve_output: {draft.reserve_output}"
    for key, value in draft.settings.items():
        if key in _WHY:
            yield f"# {_WHY[key]}"
        yield from _section(key, value)
    yield from _tools(draft.tools)


def _measured(draft: Draft) -> Iterator[str]:
    """Both profiles on the same traces: what later calls needed, and what the input costs."""
    if not draft.with_draft.needed:
        yield "# No later call of these traces needed a value from an earlier message."
    for name, kept in (("this profile", draft.with_draft), ("the defaults", draft.with_default)):
        yield f"#   {name}: {_kept(kept)}"


def _kept(kept: Kept) -> str:
    unfit = f", {kept.unfit} steps do not fit" if kept.unfit else ""
    return (
        f"{kept.in_window} of {kept.needed} needed values in the window, "
        f"{kept.recoverable} behind a ref; {kept.billed:,} tokens billed{unfit}"
    )


def _section(key: str, value: Json) -> Iterator[str]:
    if not isinstance(value, dict) or _is_flat(value):
        yield f"{key}: {yaml_scalar(value)}"
        return
    yield f"{key}:"
    for name, inner in value.items():
        yield f"  {name}: {yaml_scalar(inner)}"


def _is_flat(value: JsonObject) -> bool:
    return len(value) == 1 and not any(isinstance(item, dict) for item in value.values())


def _tools(tools: tuple[ToolSeen, ...]) -> Iterator[str]:
    if not tools:
        return
    shown = tools[:_SHOWN_TOOLS]
    declared = [tool for tool in shown if tool.page is not None or tool.unused]
    yield "# Results seen (tokens), largest share first:"
    for tool in shown:
        lists = f", lists of up to {tool.largest_list:,}" if tool.largest_list > 1 else ""
        yield (
            f"#   {tool.name}: {tool.results:,} results, median {tool.median:,},"
            f" largest {tool.largest:,}{lists}"
        )
    if len(tools) > len(shown):
        yield f"#   and {len(tools) - len(shown)} more tools"
    if declared:
        yield "tools:"
        for tool in declared:
            yield from _tool(tool)


def _tool(tool: ToolSeen) -> Iterator[str]:
    if tool.page is None:
        yield f"  {yaml_scalar(tool.name)}: {{}}"
    else:
        yield f"  {yaml_scalar(tool.name)}:"
        yield "    result:"
        page: Json = dict(tool.page)
        yield f"      page: {yaml_scalar(page)}"
        yield "      # aggregate: the tool that counts, if there is one: a page must not be counted"
    if tool.unused:
        used = [f"{path} ({step})" for path, step in tool.kept if step]
        share = f"{tool.unused_share:.0%} of the text"
        yield from _comment(f"A whitelist to try. Used later: {', '.join(used)}.")
        yield from _comment(f"In nothing said or called later ({share}): {', '.join(tool.unused)}.")
        fields = yaml_scalar([path for path, _ in tool.kept])
        if tool.page is None:
            yield f"  # {yaml_scalar(tool.name)}: {{result: {{fields: {fields}}}}}"
        else:
            yield f"      # fields: {fields}"


def _comment(text: str) -> Iterator[str]:
    for line in wrap(text, _WIDTH - 8, break_long_words=False, break_on_hyphens=False):
        yield f"      # {line}"
