"""The values a summary carries: which of all that steps used and saw are worth their tokens.

Measured on 521 values that later calls took from before a cut, in 138 points of recorded agents:
what the agent itself used counts for more than what it only saw, what it used often for more than
what it used once, and what is older for no less. Which is why a value is ranked over the whole
stretch, and not step by step. A short command is a value too: agents repeat them to the letter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from contextctl.core.digest.calls import call_form
from contextctl.core.digest.facts import Fact, cost, extract_facts
from contextctl.core.digest.lines import OWN, DigestLine, StepFacts

# What a line of its own costs beside its values: a dash, a number or name, a newline.
_LINE_TOKENS = 3.0
# What a whole command is worth (the kinds of facts are weighed in ``facts``), and its length.
_COMMAND, _COMMAND_CHARS = 1.5, (6, 110)
_AGAIN = "(again) "
# The words at the place of a cut are parts of some value, and no values.
_CUT = re.compile(r"\S*…\S*(?:\s\S+)?")
# How long something took or how large it was: reported at every step, asked for at none.
_MEASURED = re.compile(r"\d+(?:\.\d+)?(?:[nmu]?s|secs?|mins?|[kKMG]i?B)")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A fact that stays, and the index of the line that it is told on.

    ``is_command``: it is the whole call of that line.
    """

    line: int
    fact: Fact
    is_command: bool = False


@dataclass(slots=True)
class _Used:
    fact: Fact
    score: float
    line: int
    uses: int = 1
    is_command: bool = False

    @property
    def worth(self) -> float:
        return self.score * (1.0 + math.log2(self.uses))


def used_often(steps: Sequence[StepFacts]) -> tuple[tuple[str, int], ...]:
    """The values and short commands that at least two of ``steps`` used, with how many did.

    Lines of a digest do not tell: they say a value once, and shorten it where it stands already.
    """
    counts: dict[str, int] = {}
    for step in steps:
        commands = (form.arguments[0][1] for form in map(call_form, step.calls) if form.is_command)
        for value in {*step.own.values, *commands}:
            counts[value] = counts.get(value, 0) + 1
    return tuple((value, times) for value, times in counts.items() if times > 1)


def choose_values(
    lines: Sequence[DigestLine],
    room: float,
    stands: Callable[[str], bool],
    uses: Mapping[str, int] | None = None,
) -> list[Chosen]:
    """The values that fit in ``room`` tokens, best first, then back in the order of their lines.

    ``stands`` tells whether a value is there anyway, ``uses`` how many steps used one.
    """
    pool = _pool(lines)
    for value, times in (uses or {}).items():
        if value in pool:
            pool[value].uses = max(pool[value].uses, times)
    ranked = sorted(pool.values(), key=lambda one: (-one.worth, -one.line, one.fact.value))
    kept = _Kept(room)
    for used in ranked:
        if not stands(used.fact.value):
            kept.add(used)
    return sorted(kept.chosen, key=lambda one: one.line)


@dataclass(slots=True)
class _Kept:
    """The values that stay, and the room that is left. One inside another is not said again."""

    room: float
    chosen: list[Chosen] = field(default_factory=list)
    spent: list[float] = field(default_factory=list)
    named: set[str] = field(default_factory=set)
    numbered: set[int] = field(default_factory=set)

    def add(self, used: _Used) -> None:
        """Keep a value if there is room for it: beside the others, or for those it holds."""
        fact = used.fact
        if any(fact.value in one.fact.value for one in self.chosen):
            return
        inside = [at for at, one in enumerate(self.chosen) if self._is_inside(one, fact.value)]
        room = self.room + sum(self.spent[at] for at in inside)
        spent = cost(fact.value)
        if fact.key:
            spent += 0.0 if fact.key in self.named else cost(fact.key) + _LINE_TOKENS
        elif used.line not in self.numbered:
            spent += _LINE_TOKENS
        if spent > room:
            return
        for at in reversed(inside):
            del self.chosen[at], self.spent[at]
        self.room = room - spent
        self.chosen.append(Chosen(used.line, fact, used.is_command))
        self.spent.append(spent)
        if fact.key:
            self.named.add(fact.key)
        else:
            self.numbered.add(used.line)

    def _is_inside(self, one: Chosen, value: str) -> bool:
        return not (one.fact.key or one.is_command) and one.fact.value in value


def findings(lines: Sequence[DigestLine], chosen: Iterable[Chosen]) -> list[str]:
    """The values without a name, each behind the number of its step."""
    by_line: dict[int, list[str]] = {}
    for one in chosen:
        if not one.fact.key and not one.is_command:
            by_line.setdefault(one.line, []).append(one.fact.value)
    return [f"{lines[line].number}: {', '.join(values)}" for line, values in by_line.items()]


def entities(chosen: Iterable[Chosen], before: Mapping[str, str]) -> dict[str, str]:
    """Names and their values, those of a name that stands already behind its older ones."""
    values: dict[str, list[str]] = {key: [text] for key, text in before.items()}
    for one in chosen:
        if one.fact.key:
            values.setdefault(one.fact.key, []).append(one.fact.value)
    return {key: ", ".join(found) for key, found in values.items()}


def _pool(lines: Sequence[DigestLine]) -> dict[str, _Used]:
    """Every value once, with its best score, the last line that has it, and how many have it."""
    pool: dict[str, _Used] = {}
    for index, line in enumerate(lines):
        seen = {fact.value for fact in line.facts}
        whole = _CUT.sub(" ", line.call)
        called = (fact for fact in extract_facts(whole).items if fact.value not in seen)
        for fact, weight in (*((f, 1.0) for f in line.facts), *((f, OWN) for f in called)):
            if not fact.key and _MEASURED.fullmatch(fact.value):
                continue
            score, known = weight * fact.score, pool.get(fact.value)
            if known is None:
                pool[fact.value] = _Used(fact, score, index)
                continue
            if fact.key and not known.fact.key:
                known.fact = fact
            known.score, known.line = max(known.score, score), index
            known.uses += 1
        for command in _commands(line.call):
            _add_command(pool, command, index)
    return pool


def _commands(call: str) -> Iterator[str]:
    """The calls of a line that are one short argument, without the tool's name."""
    for one in call.split("; "):
        argument = one.partition(" ")[2]
        size = len(argument.removeprefix(_AGAIN))
        is_named = "=" in argument.partition(" ")[0]
        if _COMMAND_CHARS[0] <= size <= _COMMAND_CHARS[1] and not is_named:
            yield argument


def _add_command(pool: dict[str, _Used], command: str, line: int) -> None:
    """A command, or one more use of the command that a line repeats (``(again) cd /src && …``)."""
    if command.startswith(_AGAIN):
        start = command.removeprefix(_AGAIN).rstrip("…")
        for value, used in pool.items():
            if used.is_command and value.startswith(start):
                used.uses += 1  # it stands whole on its first line only
    elif "…" not in command and command not in pool:
        score = _COMMAND * OWN / math.sqrt(cost(command))
        pool[command] = _Used(Fact(command, "", score), score, line, is_command=True)
