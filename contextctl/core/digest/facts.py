"""Facts of a text: the identifiers, paths, amounts and named values that a later call may need.

Which kinds are worth their tokens was measured on recorded agents: of the values that later calls
take from far back, nearly all are what the agent itself used in an argument, or ids, paths, dates
and named fields (``tool_name: x``) of results. Code words (``this.editor.text``) are everywhere and
hardly ever needed; bare numbers only where there are few of them.

Time is linear in the text: it is cut into runs of bounded alphabets, and every other pattern has a
bounded length. Text without spaces (Chinese, Japanese) is no obstacle: a run ends where the script
changes, and full-width colons and quotation marks name fields too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

MAX_FACTS = 200
MAX_VALUE = 120
# Longer texts are read at both ends: what a tool says first and last.
SCAN_HEAD, SCAN_TAIL = 24_000, 8_000
# A table of numbers is data; a few numbers are amounts.
FEW_NUMBERS = 8
# Characters a token, for ranking only: what is shown is counted exactly by whoever shows it.
CHARS_PER_TOKEN = 3.0

# What a value of each kind is worth, from how often it was needed later.
WORTH = {
    "id": 7.0,
    "path": 6.0,
    "date": 6.0,
    "mail": 5.0,
    "url": 4.0,
    "field": 2.0,
    "number": 1.5,
    "file": 1.5,
    "name": 1.5,
    "option": 1.5,
    "code": 0.3,
}
# Longer words with digits are file names of packages and hashes: seldom typed again.
LONG_ID = 40
KEYED, IDENTIFYING = 2.0, 1.5

_ESCAPED_SPACE = re.compile(r"(?<!\\)\\{1,8}[nrt]")
_ESCAPED_QUOTE = re.compile(r"(?<!\\)\\{1,8}([\"'])")
_WIDE = r"\u3000-\u303f\uff00-\uffef"  # CJK and full-width punctuation
_RUN = re.compile(
    rf"https?://[^\s\"'<>()\[\]{{}}|\\^`,;{_WIDE}]{{1,400}}"
    r"|\d{1,3}(?:,\d{3}){1,6}(?:\.\d{1,9})?(?![\w,])"
    # Only words that hold a digit, punctuation or a capital inside: plain words name nothing.
    r"|(?<![\w./@+:~-])(?=[A-Za-z]{0,200}[\d_./@+:~-]|[A-Za-z]{0,200}[a-z][A-Z])[\w./@+:~-]+",
    re.ASCII,
)
_FOREIGN_PATH = re.compile(
    rf"(?<![\w./])(?:[~.]{{0,2}}/[^\s/\"'<>|:;,(){{}}\[\]{_WIDE}]{{1,80}}){{2,12}}"
)
_KEY = r"[\"']?(?P<key>[A-Za-z_\u3400-\u9fff][\w-]{0,30})[\"']?"
_FIELD = re.compile(
    rf"(?<![\w-]){_KEY}"
    r"(?:\s?[:=\uff1a]\s?"
    r"(?:\"(?P<double>[^\"\n(\[{<][^\"\n]{1,59})\"|'(?P<single>[^'\n(\[{<][^'\n]{1,59})'"
    r"|(?P<bare>[A-Za-z0-9_][\w.-]{2,60})(?=\s{0,40}(?:[,}\])\n\uff0c\u3002\uff1b]|$)))"
    r"|=(?P<number>\d[\w.-]{2,30})(?=[\s,;.)\]}]))"
)
_QUOTED = re.compile(r"[「『“《]([^」』”》\n]{2,40})[」』”》]")
# Quoted words in a row: the values an argument may take, the symbols of a list.
_OPTION = re.compile(r"([\"'`])([\w^.$+-]{3,24})\1")
_BETWEEN = re.compile(r"\s{0,8}[,|/、]\s{0,8}|\s{1,8}(?:or|and|或|和)\s{1,8}")
_TIME = re.compile(r"\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d{1,9})?[Z:]?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_FILE = re.compile(
    r"[\w.-]{0,80}\w\.(?:py|pyi|ipynb|js|mjs|ts|tsx|jsx|json|jsonl|md|rst|txt|ya?ml|toml|ini|cfg|conf"
    r"|env|lock|csv|tsv|parquet|html?|css|scss|xml|svg|png|jpe?g|gif|pdf|docx?|xlsx?|pptx?|sh|bash"
    r"|sql|db|log|rs|go|java|kt|c|h|cc|cpp|hpp|cs|rb|php|swift|zip|gz|tgz|tar|whl|diff|patch|bak)"
)
_PLAIN_PAIR = re.compile(r"[A-Za-z]+(?:/[A-Za-z]+){1,3}")
_COUNTED = re.compile(r"\d+-[A-Za-z][a-z]+")
_MAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
_DIGITS = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_CAMEL = re.compile(r"[a-z][A-Z]")
_IDENTIFYING = re.compile(
    r"(?i:(?:^|[_-])(?:id|name|title|key|code|number|ref|path|url|file|email|slug|sha|uuid|date"
    r"|account|order)s?$)|[a-z](?:Id|Name|Number|Key|Code)$|[号码名址]$"
)
_NOTHING = frozenset(
    (
        "true", "false", "null", "none", "string", "object", "integer", "number", "array", "any",
        "optional", "boolean", "text", "type", "list", "dict", "undefined", "required", "default",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fact:
    """One value. ``key`` is the name it stood behind (``order_id``), ``""`` for none.

    ``score`` is its worth per token, comparable between texts.
    """

    value: str
    key: str = ""
    score: float = 0.0


@dataclass(frozen=True)
class Facts:
    """The facts of one text in the order in which they first occur, each value once."""

    items: tuple[Fact, ...] = ()

    @cached_property
    def values(self) -> frozenset[str]:
        """The values alone, for asking whether one of them is here."""
        return frozenset(fact.value for fact in self.items)


NO_FACTS = Facts()


@lru_cache(maxsize=8)
def extract_facts(text: str, limit: int = MAX_FACTS) -> Facts:
    """The best ``limit`` facts of ``text``, in order of appearance.

    A result is asked for several times while it is shaped: the last few answers are kept.
    """
    found: dict[str, tuple[int, str, str]] = {}
    offset = 0
    for part in _ends(text):
        clean = _unescaped(part)
        for at, value, kind, key in _candidates(clean):
            if value.isprintable():
                found.setdefault(value, (offset + at, kind, key))
        offset += len(clean)
    numbers = sum(kind == "number" and not key for _, kind, key in found.values())
    keys = {key for _, _, key in found.values()}
    facts = [
        (at, Fact(value, key, _score(value, kind, key)))
        for value, (at, kind, key) in found.items()
        if key or (value not in keys and (kind != "number" or numbers <= FEW_NUMBERS))
    ]
    if len(facts) > limit:
        facts.sort(key=lambda item: (-item[1].score, item[0]))
        del facts[limit:]
    facts.sort(key=lambda item: item[0])
    return Facts(tuple(fact for _, fact in facts))


def omitted_names(text: str, tokens: int = 200) -> tuple[str, ...]:
    """The names in a text that is left out, best ones only, in order of appearance.

    About ``tokens`` tokens of them, for the marker of a cut: a reader sees what to look up there.
    """
    facts = extract_facts(text).items
    best = sorted(range(len(facts)), key=lambda index: (-facts[index].score, index))
    chosen: list[int] = []
    room = float(tokens)
    for index in best:
        fact = facts[index]
        room -= cost(fact.value)
        if room < 0 or fact.score < WORTH["name"] / math.sqrt(cost(fact.value)):
            break
        chosen.append(index)
    return tuple(facts[index].value for index in sorted(chosen))


def cost(value: str) -> float:
    """About how many tokens a value takes in a list."""
    return 1.0 + len(value) / CHARS_PER_TOKEN


def _score(value: str, kind: str, key: str) -> float:
    worth = WORTH[kind]
    if key and kind != "code":
        worth *= KEYED
    if key and _IDENTIFYING.search(key):
        worth *= IDENTIFYING
    if kind == "id" and len(value) > LONG_ID:
        worth *= LONG_ID / len(value) / 2
    return worth / math.sqrt(cost(value))


def _ends(text: str) -> tuple[str, ...]:
    if len(text) <= SCAN_HEAD + SCAN_TAIL:
        return (text,)
    return text[:SCAN_HEAD], text[-SCAN_TAIL:]


def _unescaped(text: str) -> str:
    """Text that stands in a JSON string or a Python repr, with its line ends and quotes back."""
    if "\\" not in text:
        return text
    return _ESCAPED_QUOTE.sub(r"\1", _ESCAPED_SPACE.sub("\n", text))


def _candidates(text: str) -> Iterator[tuple[int, str, str, str]]:
    """(position, value, kind, key) of every candidate; fields first, so that keys are not lost."""
    for match in _FIELD.finditer(text):
        value = match["double"] or match["single"] or match["bare"] or match["number"]
        value = value.strip().rstrip(".:-")
        if value.lower() in _NOTHING or len(value) < 2:
            continue
        kind = _kind(value) if _RUN.fullmatch(value) else ""
        if kind or len(value) >= 3:
            yield match.start(), value, kind or "field", match["key"]
    met: set[str] = set()
    for match in _RUN.finditer(text):
        run = match.group()
        if len(run) > 2 and run not in met:  # logs repeat their paths and hosts on every line
            met.add(run)
            if ":" in run and _TIME.fullmatch(run):
                continue  # when a line was written is not what a later call asks for
            before = text[match.start() - 1 : match.start()]
            for value, kind in _values(run, before):
                yield match.start(), value, kind, ""
    if not text.isascii():
        for match in _FOREIGN_PATH.finditer(text):
            if not match.group().isascii():
                yield match.start(), match.group().rstrip("."), "path", ""
    yield from _options(text)
    for match in _QUOTED.finditer(text):
        value = match.group(1).strip()
        if len(value) >= 2:
            yield match.start(), value, "name", ""


def _options(text: str) -> Iterator[tuple[int, str, str, str]]:
    """Quoted words that stand beside each other."""
    before: re.Match[str] | None = None
    told = False
    for match in _OPTION.finditer(text):
        if before and _BETWEEN.fullmatch(text, before.end(), match.start()):
            if not told:
                yield before.start(), before[2], "option", ""
            yield match.start(), match[2], "option", ""
            told = True
        else:
            told = False
        before = match


def _values(run: str, before: str) -> Iterator[tuple[str, str]]:
    """The values in one run: a URL, a mail address, a path, or a word."""
    if run.startswith(("http://", "https://")):
        url = run.rstrip(".:?!*")
        if len(url) <= MAX_VALUE:
            yield url, "url"
        return
    if len(run) > 2 * MAX_VALUE:
        return
    if "@" in run:
        mail = _MAIL.search(run)
        if mail and "/" not in run:
            yield mail.group(), "mail"
            return
    if "/" in run:
        path = run.partition(":")[0].rstrip("./:+~-")
        whole = before != "<" and (not before or before.isascii())
        if whole and 4 <= len(path) <= MAX_VALUE and "//" not in path:
            yield path, "name" if _PLAIN_PAIR.fullmatch(path) else "path"
        return
    word = run.strip(".:+~@-")
    kind = _kind(word)
    if kind and (len(word) >= 4 or kind == "number") and len(word) <= MAX_VALUE:
        yield word, kind


def _kind(word: str) -> str:
    """What a word without a slash is, by its letters and digits; ``""`` for an ordinary word."""
    if "/" in word:
        return "path" if len(word) >= 4 else ""
    if _COUNTED.fullmatch(word):
        return ""
    digits = len(_DIGITS.findall(word))
    if digits:
        return "id" if _LETTER.search(word) else _number(word, digits)
    if _FILE.fullmatch(word):
        return "file"
    if "_" in word.strip("_") or "-" in word:
        return "name"
    return "code" if "." in word or ":" in word or _CAMEL.search(word) else ""


def _number(word: str, digits: int) -> str:
    """A date, a number long enough to name something, an amount, or nothing worth a word."""
    if _DATE.match(word):
        return "date"
    if "," not in word and (word.count(".") >= 2 or digits >= 6):
        return "id"
    return "number" if digits >= 3 else ""
