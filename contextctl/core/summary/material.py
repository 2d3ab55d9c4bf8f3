"""What a summary is made from: the lines of the steps that leave, and what people said."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from contextctl.core.digest.lines import DigestLine
from contextctl.model.history_summary import Summary

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Material:
    """Everything a mechanical summary may use, oldest first.

    ``lines`` are one a step, as a digest has them, and one with the facts of each message of the
    user that leaves too. ``asked`` are the beginnings of those messages, with the step they came
    after. ``refused`` and ``ruled_out`` are whole sentences with the step they were said at;
    ``unanswered`` are calls and questions nobody answered; ``sources`` are the ids of retrieved
    passages with where each came from. ``uses`` are values and short commands with how many steps
    used them, those of at least two. ``previous`` are summaries by a model that are merged.
    """

    lines: tuple[DigestLine, ...] = ()
    asked: tuple[tuple[int, str], ...] = ()
    refused: tuple[tuple[int, str], ...] = ()
    ruled_out: tuple[tuple[int, str], ...] = ()
    unanswered: tuple[str, ...] = ()
    sources: tuple[tuple[str, str], ...] = ()
    uses: tuple[tuple[str, int], ...] = ()
    previous: tuple[Summary, ...] = field(default=())


def joined(parts: Sequence[Material]) -> Material:
    """The material of several stretches as one."""
    return Material(
        lines=tuple(line for part in parts for line in part.lines),
        asked=tuple(entry for part in parts for entry in part.asked),
        refused=_once(entry for part in parts for entry in part.refused),
        ruled_out=_once(entry for part in parts for entry in part.ruled_out),
        unanswered=_once(entry for part in parts for entry in part.unanswered),
        sources=_once(entry for part in parts for entry in part.sources),
        uses=_summed(part.uses for part in parts),
        previous=tuple(one for part in parts for one in part.previous),
    )


def _summed(parts: Iterable[tuple[tuple[str, int], ...]]) -> tuple[tuple[str, int], ...]:
    counts: dict[str, int] = {}
    for part in parts:
        for value, times in part:
            counts[value] = counts.get(value, 0) + times
    return tuple(counts.items())


def _once(entries: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(entries))
