"""Digests: what stays of steps that left the window. Made once from the steps, then frozen.

A line for each step says what was called and how it ended, and carries the facts that stand
nowhere else in the window, each behind its key and on the line of the step it came from::

    12 get_order order_id=SO-77 | status: shipped; tracking_id: 1Z999AA1 “The parcel is on its way”

Which facts: best worth per token first, over all steps of the digest, for a number of tokens that
grows with what was removed. What a digest costs is therefore bounded by what it replaces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from contextctl.core.digest.calls import CallForm, call_form, calls_text, one_line, outcome
from contextctl.core.digest.facts import NO_FACTS, Fact, Facts, cost
from contextctl.core.digest.small_talk import is_small_talk
from contextctl.model.message import ToolCall, message_from_openai

if TYPE_CHECKING:
    from contextctl.core.fold.view import Piece

SAID_CHARS, ANSWER_CHARS = 40, 160
# What the agent itself used or said is needed again far more often than what it saw.
OWN = 4.0
MAX_OUTCOMES = 3
# So many facts in a row too dear for what is left of the budget, and it is taken for spent.
MAX_MISSES = 8

# (characters of the calls, characters of the facts) that a line keeps when its digest is folded.
FOLDS = ((130, 160), (100, 100), (64, 60))


@dataclass(frozen=True, slots=True)
class DigestRule:
    """How much a digest carries: ``step_tokens`` of facts a step and ``share`` of what was removed.

    Facts scoring below ``least`` are not worth their tokens anywhere.
    """

    step_tokens: float = 10.0
    share: float = 0.15
    least: float = 0.8


@dataclass(frozen=True, slots=True)
class StepFacts:
    """One step that leaves: what was said, called and answered, and the facts kept of each.

    ``own`` are the facts of the assistant's message, ``seen`` those of each result; ``results`` are
    their texts. ``tokens`` is what the step took in the window.
    """

    number: int
    said: str = ""
    calls: tuple[ToolCall, ...] = ()
    results: tuple[str, ...] = ()
    own: Facts = NO_FACTS
    seen: tuple[Facts, ...] = ()
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class DigestLine:
    """One step in a digest: what was done (``call``, ``outcome``) and what it brought."""

    number: int
    call: str = ""
    outcome: str = ""
    facts: tuple[Fact, ...] = ()
    said: str = ""

    def __str__(self) -> str:
        """The line as it stands in the window."""
        facts = f"| {facts_text(self.facts)}" if self.facts else ""
        said = f"“{self.said}”" if self.said else ""
        pieces = (str(self.number), self.call, self.outcome, facts, said)
        return " ".join(piece for piece in pieces if piece)

    def folded(self, level: int) -> DigestLine:
        """The line with less on it, level 1 to 3: words and outcomes go, the best facts stay."""
        call_chars, fact_chars = FOLDS[min(level, len(FOLDS)) - 1]
        call = self.call if len(self.call) <= call_chars else f"{self.call[:call_chars]}…"
        best = sorted(range(len(self.facts)), key=lambda at: (-self.facts[at].score, at))
        kept: list[int] = []
        for at in best:
            chars = len(self.facts[at].value) + 2
            if chars <= fact_chars or not (call or kept):  # a line without a call keeps its best
                fact_chars -= chars
                kept.append(at)
        facts = tuple(self.facts[at] for at in sorted(kept))
        failed = "✗" if self.outcome.startswith("✗") else ""
        said = "" if call or facts else self.said[: 2 * SAID_CHARS]
        return DigestLine(self.number, call, failed, facts, said)


def digest_lines(
    steps: Sequence[StepFacts], stands: Callable[[str], bool], rule: DigestRule | None = None
) -> tuple[DigestLine, ...]:
    """A line for every step, oldest first. ``stands``: does a value stand in the window anyway?

    Facts cost at most ``step_tokens`` a step and ``share`` of the tokens removed; the rest of a
    line is bounded by its calls.
    """
    rule = rule or DigestRule()
    said: set[CallForm] = set()
    values: set[str] = set()
    lines = []
    for step in steps:
        forms = [call_form(call) for call in step.calls]
        call = calls_text(forms, said, lambda value: value in values or stands(value))
        values.update(value for form in forms for _, value in form.arguments)
        lines.append(DigestLine(step.number, call, _outcomes(step), (), _said(step)))
    bare = "\n".join(map(str, lines))
    budget = rule.step_tokens * len(steps) + rule.share * sum(step.tokens for step in steps)
    chosen = _choose(steps, lambda value: value in bare or stands(value), budget, rule.least)
    with_facts = zip(lines, chosen, strict=True)
    return tuple(replace(line, facts=tuple(facts)) for line, facts in with_facts)


def segment_text(lines: Sequence[DigestLine], heading: str) -> str:
    """A digest: its heading (which names the ref of the whole text), then a line a step."""
    shown = [str(line) for line in lines if line.call or line.facts or line.said]
    return "\n".join([heading, *shown])


def step_facts(pieces: Sequence[Piece]) -> StepFacts:
    """A step of the view: its assistant message, then its results."""
    head, results = pieces[0], [piece for piece in pieces if piece.kind == "result"]
    message = message_from_openai(head.message)
    return StepFacts(
        number=head.step,
        said=message.text,
        calls=message.tool_calls,
        results=tuple(piece.raw for piece in results),
        own=head.facts or NO_FACTS,
        seen=tuple(piece.facts or NO_FACTS for piece in results),
        tokens=sum(piece.tokens for piece in pieces),
    )


def _outcomes(step: StepFacts) -> str:
    outcomes = [found for found in dict.fromkeys(map(outcome, step.results)) if found]
    if len(step.results) > MAX_OUTCOMES:
        outcomes = [found for found in outcomes if found.startswith("✗")]
    return " ".join(outcomes[:MAX_OUTCOMES])


def _said(step: StepFacts) -> str:
    size = SAID_CHARS if step.calls else ANSWER_CHARS
    text = step.said.strip()
    return "" if not text or is_small_talk(text) else one_line(text, size)


def _choose(
    steps: Sequence[StepFacts], stands: Callable[[str], bool], budget: float, least: float
) -> list[list[Fact]]:
    """The facts of each step that the budget pays for, best first over all steps."""
    pool: list[tuple[float, int, int, Fact]] = []
    met: set[str] = set()
    for index, step in enumerate(steps):
        sources = [(step.own, OWN), *((seen, 1.0) for seen in step.seen)]
        place = 0
        for facts, worth in sources:
            for fact in facts.items:
                place += 1
                score = worth * fact.score
                if fact.value not in met and score >= least:
                    met.add(fact.value)
                    pool.append((-score, index, place, fact))
    pool.sort(key=lambda entry: entry[:3])
    chosen: list[list[tuple[int, Fact]]] = [[] for _ in steps]
    misses = 0
    for _, index, place, fact in pool:
        if misses > MAX_MISSES:
            break
        spent = cost(fact.value)
        if spent > budget:
            misses += 1
        elif not stands(fact.value):  # asked last: it searches the whole window
            budget -= spent
            chosen[index].append((place, fact))
    return [[fact for _, fact in sorted(facts, key=lambda item: item[0])] for facts in chosen]


def facts_text(facts: Sequence[Fact]) -> str:
    """Facts behind their keys, those without a key first where they came first."""
    groups: dict[str, list[str]] = {}
    for fact in facts:
        groups.setdefault(fact.key, []).append(fact.value)
    return "; ".join(
        f"{key}: {', '.join(values)}" if key else ", ".join(values)
        for key, values in groups.items()
    )
