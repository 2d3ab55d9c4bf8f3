"""A summary as text in the window: a heading that names the compaction and its refs, then fields.

Empty fields are left out. The text says of itself what it is, so that nobody takes it for a request
or for something the user wrote.
"""

from __future__ import annotations

from contextctl.model.history_summary import LISTS, Summary

LABELS = {
    "en": {
        "done": "done:",
        "findings": "findings:",
        "open_questions": "open questions:",
        "negatives": "refused or ruled out:",
        "entities": "entities:",
    },
    "zh": {
        "done": "已完成：",
        "findings": "结论：",
        "open_questions": "未决问题：",
        "negatives": "已拒绝或已排除：",
        "entities": "实体：",
    },
}
HEADING = {
    "en": "[summary {id}] Steps {first}-{last}, generation {generation}; whole text: {refs}",
    "zh": "[摘要 {id}] 步骤 {first}-{last}，第 {generation} 代；原文：{refs}",
}
REFUSED_MORE = {
    "en": "[summary {id}] Steps {first}-{last}: summarised too often to be trusted; use the plan "
    "and the whole text: {refs}",
    "zh": "[摘要 {id}] 步骤 {first}-{last}：摘要已达代数上限，请以计划和原文为准：{refs}",
}


def summary_text(summary: Summary, heading: str, locale: str) -> str:
    """The block as it stands in the window."""
    labels = LABELS[locale]
    out = [heading]
    for name in LISTS:
        items = getattr(summary, name)
        if items:
            out += [labels[name], *(f"- {item}" for item in items)]
    if summary.entities:
        out += [labels["entities"], *(f"- {key}: {text}" for key, text in summary.entities.items())]
    return "\n".join(out)
