"""What a shaped result says about itself, in English and Chinese.

A bare ``truncated: true`` does not keep a model from taking a part for the whole: the hint says
what not to do, and names the tool or the cursor that gives the rest.
"""

from __future__ import annotations

_EN = {
    "empty": "(no output)",
    "none": "no items",
    "past": "This page is empty: the list ends after {total} items.",
    "part": "Items {first} to {last} of {total}. Do not answer as if these were all of them.",
    "more_part": "Only {returned} of at least {total} are shown.",
    "aggregate": "For totals or counts call {tool}.",
    "cursor": "For more, pass next_cursor.",
    "fetch": 'For more: fetch(ref="{ref}", fields="{path}", start={start}).',
    "read": 'For more: read_workspace(ref="{ref}", start={start}).',
    "whole": 'Whole original: ref "{ref}".',
    "pruned": "Parts marked … are left out; this is not the whole result.",
    "missed": "None of the asked fields exist in this result: {fields}.",
    "cut": "[… truncated: returned {returned} of {total} characters, omitted {omitted}{lines}. "
    "This is a part, not the whole.{more} …]",
    "cut_lines": " (lines {first}-{last} of {count})",
    "cut_more": ' next_cursor: read_workspace(ref="{ref}", start={start}).',
    "cut_search": ' Or search_workspace(ref="{ref}", pattern=…).',
    "facts": " Omitted names: {facts}.",
    "ref": "[ref {ref}: {kind}, {lines} lines, {chars} characters, {tokens} tokens; only its first "
    '{head} characters follow. Read on: read_workspace(ref="{ref}", start={start}), '
    'search_workspace(ref="{ref}", pattern=…)]',
    "ref_fields": 'Only the head is shown. fetch(ref="{ref}", fields="a,b[].c", start=0) gives '
    'fields, read_workspace(ref="{ref}") the text.',
    "base64": "[{media}, {chars} characters, not shown{ref}]",
    "binary": "[{what}, {chars} characters, not shown{ref}]",
    "html": '[HTML page as text; source: ref "{ref}"]',
    "html_bare": "[HTML page as text]",
    "error": "[the tool reported an error]",
    "rows": "returned {returned} of {total} rows",
}
_ZH = {
    "empty": "（无输出）",
    "none": "没有条目 (no items)",
    "past": "本页为空：列表共 {total} 条，已到末尾。",
    "part": "仅返回第 {first} 到 {last} 条，共 {total} 条。回答时不得把这部分当作全部。",
    "more_part": "仅显示 {returned} 条，至少共 {total} 条。",
    "aggregate": "需要总数或统计请调用 {tool}。",
    "cursor": "需要更多请用 next_cursor 翻页。",
    "fetch": '需要更多：fetch(ref="{ref}", fields="{path}", start={start})。',
    "read": '需要更多：read_workspace(ref="{ref}", start={start})。',
    "whole": '完整原文：ref "{ref}"。',
    "pruned": "标有 … 之处已省略；这不是完整结果。",
    "missed": "所要的字段在此结果中都不存在：{fields}。",
    "cut": "[… 已截断 (truncated)：共 {total} 字符，返回 (returned) {returned}，"
    "省略 (omitted) {omitted}{lines}。这只是一部分，不得当作全部。{more} …]",
    "cut_lines": "（第 {first}-{last} 行，共 {count} 行）",
    "cut_more": 'next_cursor：read_workspace(ref="{ref}", start={start})。',
    "cut_search": '或 search_workspace(ref="{ref}", pattern=…)。',
    "facts": "省略部分的标识：{facts}。",
    "ref": "[ref {ref}：{kind}，{lines} 行，{chars} 字符，{tokens} token；"
    "以下仅为开头 {head} 字符。"
    '续读：read_workspace(ref="{ref}", start={start})，search_workspace(ref="{ref}", pattern=…)]',
    "ref_fields": '此处仅为开头。取字段：fetch(ref="{ref}", fields="a,b[].c", start=0)；'
    '读原文：read_workspace(ref="{ref}")。',
    "base64": "[{media}，{chars} 字符，未显示{ref}]",
    "binary": "[{what}，{chars} 字符，未显示{ref}]",
    "html": '[HTML 页面转为文本；源文件：ref "{ref}"]',
    "html_bare": "[HTML 页面转为文本]",
    "error": "[工具报告了错误]",
    "rows": "返回 {returned} 行，共 {total} 行",
}
_BY_LOCALE = {"en": _EN, "zh": _ZH}


def say(locale: str, key: str, **values: object) -> str:
    """The phrase ``key`` in ``locale`` (``en`` where that language is not there)."""
    language = "zh" if locale.lower().startswith("zh") else "en"
    return _BY_LOCALE[language][key].format(**values)


def joined(locale: str, *phrases: str) -> str:
    """Sentences one after the other, as the language writes them."""
    return ("" if locale.lower().startswith("zh") else " ").join(p for p in phrases if p)
