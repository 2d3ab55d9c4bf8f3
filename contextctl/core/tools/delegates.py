"""The delegates as tools: what the parent's model sees of them, and when delegation fits."""

from __future__ import annotations

from collections.abc import Mapping

from contextctl.core.explain.tool_call import tool_spec
from contextctl.model.message import JsonObject, ToolSpec
from contextctl.model.own_sources import KNOWLEDGE, SUBAGENTS
from contextctl.model.profile_parts import Knowledge, Subagent

ASK_KNOWLEDGE = "ask_knowledge"
"""The one delegate that reads documents; the main window gets its answer and citations."""

_FITS = {
    "en": "A delegate with its own window: sees only 'task', so state everything it needs. For"
    " self-contained, one-shot work that reads far more than it reports and may take longer;"
    " independent ones can be called together. Returns status, summary, failures; 'partial': try"
    " another source, say so, or hand to a person.",
    "zh": "独立窗口的子代理：只看得到 task，请把所需信息写全。适合自成一体、一次交付、"
    "读得多而结论少、可以多等一会的工作；互不依赖的可同时调用。返回 status、summary、failures；"
    "partial 时换来源、如实说明或转人工。",
}
_LIKE = {"en": "A delegate like {}.", "zh": "子代理，用法同 {}。"}
_KNOWLEDGE = {
    "en": "Ask a delegate that reads this task's documents ({about}). It sees only 'task': state"
    " the whole question. Returns an answer with citations [document#section:lines], status,"
    " failures.",
    "zh": "让子代理查阅本任务的文档（{about}）。它只看得到 task：请写出完整问题。返回带引用"
    " [文档#章节:行] 的答案、status、failures。",
}


def delegate_specs(subagents: Mapping[str, Subagent], locale: str) -> tuple[ToolSpec, ...]:
    """One tool a subagent, under its own name. When delegation fits is said once, at the first."""
    names = [name for name in subagents if name != ASK_KNOWLEDGE]
    return tuple(
        _spec(
            name,
            " ".join(
                (
                    subagents[name].description,
                    _FITS[locale] if name == min(names) else _LIKE[locale].format(min(names)),
                )
            ).strip(),
            SUBAGENTS,
        )
        for name in names
    )


def knowledge_spec(about: str, locale: str) -> ToolSpec:
    """The tool that asks the documents. ``about`` says what they are."""
    return _spec(ASK_KNOWLEDGE, _KNOWLEDGE[locale].format(about=about), KNOWLEDGE)


def knowledge_about(banks: Mapping[str, Knowledge], granted: tuple[str, ...]) -> str:
    """What a task's documents are: the banks' own lines, else the documents' names."""
    tops = list(dict.fromkeys(name.partition("/")[0] for name in granted))
    lines = [
        f"{top}: {banks[top].description}" if top in banks and banks[top].description else top
        for top in tops
    ]
    shown = lines[:8]
    return "; ".join(shown) + (f"; {len(lines) - 8} more" if len(lines) > 8 else "")


def _spec(name: str, description: str, source: str) -> ToolSpec:
    task: JsonObject = {"type": "string"}
    return tool_spec(name, description, {"task": task}, source=source)
