"""The mechanical summary: deterministic, made from the record alone, bounded in tokens.

What users refused, what nobody answered and where passages came from always stand. The rest of the
budget is divided between what was done (the calls, each as long as the budget lets all of them be)
and the values they brought, best worth per token first: behind a name they are ``entities``,
without one they are ``findings`` of their step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from contextctl.core.digest import DigestLine
from contextctl.core.facts import Fact, cost
from contextctl.core.summary.material import Material
from contextctl.model.history_summary import Summary

VERSION = "mechanical-1"

MAX_NEGATIVES, MAX_OPEN, MAX_SOURCES = 24, 12, 60
# The longest call that all lines may have, tried from the left until the calls fit their share.
CALL_CHARS = (200, 160, 130, 100, 80, 64, 48, 36, 24)
# Of the budget that calls and values divide, the part for calls; what they leave goes to values.
CALL_SHARE = 0.5
# A summary merged again keeps at most this share of what a model wrote before.
PREVIOUS_SHARE = 0.6
_LINE_TOKENS = 3.0

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class _Value:
    rank: tuple[float, int, int]
    line: int
    fact: Fact


def mechanical_summary(
    material: Material, budget: int, count: Count, stands: Callable[[str], bool]
) -> Summary:
    """The summary of ``material`` in about ``budget`` tokens, counted by ``count``.

    ``stands`` tells whether a value stands in the rest of the window anyway.
    """
    negatives = _negatives(material)
    open_questions = _carried(material, "open_questions", material.unanswered)[-MAX_OPEN:]
    sources = [f"[{name}] {where}".rstrip() for name, where in material.sources[-MAX_SOURCES:]]
    room = budget - count("\n".join([*negatives, *open_questions, *sources]))
    before, room = _from_models(material, room, count)
    done, used = _calls(material.lines, int(max(room, 0) * CALL_SHARE), count)
    shown = "\n".join((*done, *negatives, *before.done, *before.findings))
    chosen = _values(material.lines, room - used, lambda text: text in shown or stands(text))
    findings = _findings(material.lines, chosen)
    return Summary(
        done=(*before.done, *done),
        findings=(*sources, *before.findings, *findings),
        open_questions=tuple(open_questions),
        negatives=tuple(negatives),
        entities=_entities(chosen, before.entities),
    )


def _negatives(material: Material) -> list[str]:
    own = [f"{step}: {text}" for step, text in material.refused]
    tried = [f"{step}: {text}" for step, text in material.ruled_out]
    failed = [
        f"{line.number}: {_cut(line.call, 80)} {line.outcome}"
        for line in material.lines
        if line.outcome.startswith("✗")
    ]
    carried = [text for one in material.previous for text in one.negatives]
    room = max(MAX_NEGATIVES - len(own), 0)
    rest = (*carried, *tried, *failed[-MAX_NEGATIVES // 4 :])
    return [*own[-MAX_NEGATIVES:], *rest[max(len(rest) - room, 0) :]]


def _carried(material: Material, name: str, new: Sequence[str]) -> list[str]:
    old = [text for one in material.previous for text in getattr(one, name)]
    return list(dict.fromkeys((*old, *new)))


def _from_models(material: Material, room: int, count: Count) -> tuple[Summary, int]:
    """What models wrote before, newest first as far as its share reaches, and the room left."""
    if not material.previous:
        return Summary(), room
    left = int(room * PREVIOUS_SHARE)
    entities: dict[str, str] = {}
    done: list[str] = []
    findings: list[str] = []
    for one in reversed(material.previous):
        for key, text in reversed(list(one.entities.items())):
            size = count(f"- {key}: {text}\n")
            if key not in entities and size <= left:
                entities[key] = text
                left -= size
        for items, kept in ((one.findings, findings), (one.done, done)):
            for text in reversed(items):
                size = count(f"- {text}\n")
                if size <= left:
                    kept.append(text)
                    left -= size
    old = Summary(
        tuple(reversed(done)),
        tuple(reversed(findings)),
        entities=dict(reversed(list(entities.items()))),
    )
    return old, room - int(room * PREVIOUS_SHARE) + left


def _calls(lines: Sequence[DigestLine], room: int, count: Count) -> tuple[list[str], int]:
    """A line for every step, all cut alike; when even that is too much, the oldest are counted."""
    told = [line for line in lines if line.call or line.said]
    for size in CALL_CHARS:
        texts = [_call(line, size) for line in told]
        used = count("\n".join(texts)) + 2 * len(texts)
        if used <= room:
            return texts, used
    texts = [_call(line, CALL_CHARS[-1]) for line in told]
    kept: list[str] = []
    used = 0
    while texts and used + (size := count(texts[-1]) + 3) <= room:
        kept.append(texts.pop())
        used += size
    if texts:
        kept.append(_tally(told[: len(texts)]))
        used += count(kept[-1])
    return kept[::-1], used


def _call(line: DigestLine, size: int) -> str:
    failed = " ✗" if line.outcome.startswith("✗") else ""
    ended = f" {line.outcome}" if line.outcome and size >= CALL_CHARS[1] else failed
    said = f"“{_cut(line.said, size)}”" if line.said and not line.call else ""
    return f"{line.number} {_cut(line.call, size)}{said}{ended}"


def _tally(lines: Sequence[DigestLine]) -> str:
    """``1-40 bash ×31, read ×8``: steps too old for a line of their own."""
    names: dict[str, int] = {}
    for line in lines:
        for call in line.call.split("; "):
            name = call.split(" ", 1)[0]
            if name:
                names[name] = names.get(name, 0) + 1
    told = ", ".join(f"{name} ×{times}" for name, times in names.items()) or "…"
    return f"{lines[0].number}-{lines[-1].number} {told}"


def _values(
    lines: Sequence[DigestLine], room: float, stands: Callable[[str], bool]
) -> list[tuple[int, Fact]]:
    """The facts that fit in ``room``, best first, then back in the order of their steps."""
    pool: dict[str, _Value] = {}
    for index, line in enumerate(lines):
        for place, fact in enumerate(line.facts):
            pool[fact.value] = _Value((-fact.score, -index, place), index, fact)
    kept: list[_Value] = []
    named: set[str] = set()
    numbered: set[int] = set()
    for value in sorted(pool.values(), key=lambda one: one.rank):
        fact = value.fact
        spent = cost(fact.value)
        if fact.key and fact.key not in named:
            spent += cost(fact.key) + _LINE_TOKENS
        elif not fact.key and value.line not in numbered:
            spent += _LINE_TOKENS
        if spent > room or stands(fact.value):
            continue
        room -= spent
        kept.append(value)
        named.add(fact.key)
        if not fact.key:
            numbered.add(value.line)
    kept.sort(key=lambda one: (one.line, one.rank[2]))
    return [(value.line, value.fact) for value in kept]


def _findings(lines: Sequence[DigestLine], chosen: Iterable[tuple[int, Fact]]) -> list[str]:
    by_line: dict[int, list[str]] = {}
    for index, fact in chosen:
        if not fact.key:
            by_line.setdefault(index, []).append(fact.value)
    return [f"{lines[index].number}: {', '.join(values)}" for index, values in by_line.items()]


def _entities(chosen: Iterable[tuple[int, Fact]], before: Mapping[str, str]) -> dict[str, str]:
    """Names and their values, those of a name that stands already behind its older ones."""
    values: dict[str, list[str]] = {key: [text] for key, text in before.items()}
    for _, fact in chosen:
        if fact.key:
            values.setdefault(fact.key, []).append(fact.value)
    return {key: ", ".join(found) for key, found in values.items()}


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else f"{text[: size - 1]}…"
