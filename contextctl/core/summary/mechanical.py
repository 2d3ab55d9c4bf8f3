"""The mechanical summary: deterministic, made from the record alone, bounded in tokens.

What users refused, what nobody answered and where passages came from always stand. Of the rest of
the budget a small part first goes to what was done; then come the values the steps used and saw,
best worth per token first: behind a name they are ``entities``, without one ``findings`` of their
step. What they leave goes back to what was done, so that calls are told as fully as there is room.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from contextctl.core.digest.lines import DigestLine
from contextctl.core.summary.material import Material
from contextctl.core.summary.values import choose_values, entities, findings
from contextctl.model.history_summary import LISTS, Summary

VERSION = "mechanical-2"

MAX_NEGATIVES, MAX_OPEN, MAX_SOURCES = 24, 12, 60
# The longest call that all lines may have, tried from the left until the calls fit their share.
CALL_CHARS = (200, 160, 130, 100, 80, 64, 48, 36, 24)
# When calls have to be cut, the part of their room for cut ones; the rest goes to whole ones.
CUT_SHARE = 0.5
# Of what calls and values divide, the part that calls have for certain.
CALL_SHARE = 0.1
# A summary merged again keeps at most this share of what a model wrote before.
PREVIOUS_SHARE = 0.6
# What leaving messages of users may take of the room, and how much of each is told.
ASKED_SHARE, ASKED_CHARS = 0.2, (60, 400)
# What calls that failed may take of the budget, the latest first.
FAILED_SHARE, FAILED_CHARS = 0.04, 80
# How far over its budget a summary may come out, and how often it is made again to get there.
TOLERANCE, TRIES = 1.03, 3

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class _Fixed:
    """What stands whatever the budget is, and what models wrote before."""

    negatives: tuple[str, ...]
    open_questions: tuple[str, ...]
    sources: tuple[str, ...]
    before: Summary

    @property
    def text(self) -> str:
        texts = (*self.negatives, *self.before.done, *self.before.findings)
        return "\n".join((*texts, *self.before.entities.values()))


def mechanical_summary(
    material: Material, budget: int, count: Count, stands: Callable[[str], bool]
) -> Summary:
    """The summary of ``material`` in about ``budget`` tokens, counted by ``count``.

    ``stands`` tells whether a value stands in the rest of the window anyway.
    """
    aim = budget
    for _ in range(TRIES):
        summary = _attempt(material, aim, count, stands)
        size = _size(summary, count)
        if size <= TOLERANCE * budget:
            break
        aim = max(int(aim * budget / size) - 4, 0)
    return summary


def _attempt(
    material: Material, budget: int, count: Count, stands: Callable[[str], bool]
) -> Summary:
    sources = tuple(f"[{name}] {where}".rstrip() for name, where in material.sources[-MAX_SOURCES:])
    open_questions = dict.fromkeys(
        (*(text for one in material.previous for text in one.open_questions), *material.unanswered)
    )
    negatives = _negatives(material, _failed(material, int(FAILED_SHARE * budget), count))
    fixed = _Fixed(negatives, tuple(open_questions)[-MAX_OPEN:], sources, Summary())
    head = Summary((), fixed.sources, fixed.open_questions, fixed.negatives)
    room = max(budget - _size(head, count), 0)
    fixed = replace(fixed, before=_from_models(material, int(PREVIOUS_SHARE * room), count))
    asked = _asked(material, int(ASKED_SHARE * room), count)
    room -= _size(fixed.before, count) + _lines_size(asked, count)
    done, used = _calls(material.lines, int(CALL_SHARE * max(room, 0)), count)
    shown = "\n".join((*asked, *done, fixed.text))
    chosen = choose_values(
        material.lines,
        room - used,
        lambda text: text in shown or stands(text),
        dict(material.uses),
    )
    values = Summary(
        findings=(*fixed.before.findings, *findings(material.lines, chosen)),
        entities=entities(chosen, fixed.before.entities),
    )
    left = room + _size(fixed.before, count) - _size(values, count)
    if left > used:
        whole = {one.line for one in chosen if one.is_command}
        done, _ = _calls(material.lines, left, count, whole)
    return Summary(
        done=(*fixed.before.done, *sorted((*done, *asked), key=_step)),
        findings=(*fixed.sources, *values.findings),
        open_questions=fixed.open_questions,
        negatives=fixed.negatives,
        entities=values.entities,
    )


def _asked(material: Material, room: int, count: Count) -> list[str]:
    """What users asked in messages that leave: the beginning of each, all cut alike."""
    low, high = ASKED_CHARS
    texts: list[str] = []
    for size in (high, 250, 160, 100, low):
        texts = [f"{step} user: “{_cut(text, size)}”" for step, text in material.asked]
        if _lines_size(texts, count) <= room:
            return texts
    while texts and _lines_size(texts, count) > room:
        texts.pop(0)
    return texts


def _negatives(material: Material, failed: Sequence[str]) -> tuple[str, ...]:
    """Refusals of users first, then what was ruled out, then the latest calls that failed."""
    own = [f"{step}: {text}" for step, text in material.refused][-MAX_NEGATIVES:]
    tried = [f"{step}: {text}" for step, text in material.ruled_out]
    carried = [text for one in material.previous for text in one.negatives]
    rest = list(dict.fromkeys((*carried, *tried, *failed)))
    room = MAX_NEGATIVES - len(own)
    return (*own, *rest[max(len(rest) - room, 0) :])


def _failed(material: Material, room: int, count: Count) -> list[str]:
    """The latest calls that failed, as many as there is room for."""
    out: list[str] = []
    for line in reversed(material.lines):
        if line.call and line.outcome.startswith("✗"):
            text = f"{line.number}: {_cut(line.call, FAILED_CHARS)} {line.outcome}"
            room -= _lines_size([text], count)
            if room < 0 or len(out) == MAX_NEGATIVES // 4:
                break
            out.append(text)
    return out[::-1]


def _from_models(material: Material, room: int, count: Count) -> Summary:
    """What models wrote before, the newest first as far as there is room."""
    found: dict[str, str] = {}
    done: list[str] = []
    told: list[str] = []
    for one in reversed(material.previous):
        for key, text in one.entities.items():
            size = count(f"- {key}: {text}\n")
            if key not in found and size <= room:
                found[key] = text
                room -= size
        for items, kept in ((one.findings, told), (one.done, done)):
            for text in reversed(items):
                size = count(f"- {text}\n")
                if size <= room:
                    kept.append(text)
                    room -= size
    return Summary(tuple(reversed(done)), tuple(reversed(told)), entities=found)


def _calls(
    lines: Sequence[DigestLine], room: int, count: Count, whole: AbstractSet[int] = frozenset()
) -> tuple[list[str], int]:
    """A line for every step, all cut alike but those of ``whole``; when even that is too much, the
    oldest are counted."""
    told = [line for line in lines if line.call or line.said]
    longest = [at in whole for at, line in enumerate(lines) if line.call or line.said]
    texts: list[str] = []
    for size in CALL_CHARS:
        sizes = (CALL_CHARS[0] if is_whole else size for is_whole in longest)
        texts = [_call(line, chars) for line, chars in zip(told, sizes, strict=True)]
        used = _lines_size(texts, count)
        if used <= room * (1.0 if size == CALL_CHARS[0] else CUT_SHARE):
            return _made_whole(told, texts, room - used, count)
    return _newest(told, texts, [at for at, one in enumerate(longest) if one], room, count)


def _newest(
    lines: Sequence[DigestLine],
    texts: Sequence[str],
    kept: Sequence[int],
    room: int,
    count: Count,
) -> tuple[list[str], int]:
    """The newest lines that fit beside those that are ``kept``; the others are counted."""
    left = room - _lines_size([texts[at] for at in kept], count)
    chosen = set(kept)
    for at in range(len(texts) - 1, -1, -1):
        size = count(texts[at]) + 3
        if at not in chosen and size > left:
            break
        if at not in chosen:
            chosen.add(at)
            left -= size
    rest = [line for at, line in enumerate(lines) if at not in chosen]
    out = [_tally(rest)] if rest else []
    out += [texts[at] for at in sorted(chosen)]
    return out, _lines_size(out, count)


def _made_whole(
    lines: Sequence[DigestLine], texts: list[str], room: int, count: Count
) -> tuple[list[str], int]:
    """Cut calls told whole after all, as far as there is room: a call that was repeated is likely
    to be repeated again, and a short one costs little."""
    uses: dict[str, int] = {}
    for line in lines:
        uses[_first_words(line.call)] = uses.get(_first_words(line.call), 0) + 1
    order = sorted(
        range(len(lines)),
        key=lambda at: (-uses[_first_words(lines[at].call)], len(lines[at].call), -at),
    )
    for at in order:
        whole = _call(lines[at], CALL_CHARS[0])
        more = count(whole) - count(texts[at])
        if more > room:
            break
        texts[at] = whole
        room -= more
    return texts, _lines_size(texts, count)


def _first_words(call: str) -> str:
    """What a repeated call is known by, in a digest too: ``bash (again) cd /src && …``."""
    return call.replace(" (again)", "", 1)[:24]


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
            name = call.split(" ", 1)[0][:40]
            if name:
                names[name] = names.get(name, 0) + 1
    most = sorted(names.items(), key=lambda item: -item[1])[:8]
    told = ", ".join(f"{name} ×{times}" for name, times in most) or "…"
    return f"{lines[0].number}-{lines[-1].number} {told}"


def _step(text: str) -> int:
    """The step that a line of what was done begins with; a range is where its first step is."""
    return int(text.partition(" ")[0].partition("-")[0])


def _size(summary: Summary, count: Count) -> int:
    texts = [text for name in LISTS for text in getattr(summary, name)]
    texts += [f"{key}: {text}" for key, text in summary.entities.items()]
    return _lines_size(texts, count)


def _lines_size(texts: Sequence[str], count: Count) -> int:
    return count("\n".join(f"- {text}" for text in texts)) if texts else 0


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else f"{text[: size - 1]}…"
