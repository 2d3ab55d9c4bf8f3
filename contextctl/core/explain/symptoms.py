"""Symptoms in the conversation itself: what the agent forgot, repeated, invented or miscounted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping

from contextctl.core.digest.facts import omitted_names
from contextctl.core.explain.field_use import field_uses
from contextctl.core.explain.growth import one_line
from contextctl.core.explain.partial import Partial, partial_lists
from contextctl.core.explain.seen import Called, Seen, name_of
from contextctl.core.measure.needed import message_text, needed_values
from contextctl.model.explanation import Advice
from contextctl.model.message import Json
from contextctl.model.record import Noted, RetrievedAdded, TodoSet

COUNTS = re.compile(
    r"\bhow (?:many|much|often)\b|\b(?:total|count|number of|sum of|average|in all|altogether)\b"
    r"|多少|几(?:笔|个|条|次|张|家|位|天|种|单)|总(?:数|共|计|额|和)|一共|合计|统计|平均",
    re.IGNORECASE,
)
RULES = re.compile(
    r"\b(?:only|never|always|must|do not|don't|make sure|at most|at least|without)\b"
    r"|只(?:能|要|寄|用|看|回)|必须|不要|不得|不能|务必|一定要|最多|至少|禁止",
    re.IGNORECASE,
)
_SAME = 3
_FAILED = re.compile(
    r"\b(?:error|not found|no such|does not exist|invalid|404)\b|未找到|不存在", re.IGNORECASE
)


def _miscounts(seen: Seen) -> Iterator[Advice]:
    """T8: a question that counts, and a list that was not whole."""
    asked = next((text for _, text in reversed(seen.users) if COUNTS.search(text)), "")
    if not asked:
        return
    lists = partial_lists(seen)
    if not lists:
        return
    one = lists[-1]
    found = COUNTS.search(asked)
    rule = seen.profile.tools.get(one.tool)
    known = rule.result.aggregate if rule else None
    total = f"{one.returned:,} of {one.total:,}" if one.total else f"{one.returned:,} of more"
    claimed = _claimed(seen, one)
    yield Advice(
        "select",
        "a part is counted as the whole",
        f"the question counts ('{found[0] if found else ''}'), and {one.tool} returned {total}"
        f" rows ({one.event}){claimed}",
        f"ask {known} for the number" if known else
        f"offer a tool that counts, and name it: tools.{one.tool}.result.aggregate",
    )  # fmt: skip


def _claimed(seen: Seen, one: Partial) -> str:
    for step, place, message in seen.turns:
        if place > one.place and re.search(rf"(?<![\d.,]){one.returned}(?![\d.,])", message.text):
            return f"; step {step} then says {one.returned}"
    return ""


def _unused_fields(seen: Seen) -> Iterator[Advice]:
    for use in field_uses(seen.events).values():
        rule = seen.profile.tools.get(use.tool)
        if rule is not None and rule.result.fields is not None:
            continue
        if not use.is_evidence:
            continue
        names = ", ".join(one.path for one in use.unused[:4])
        more = f" and {len(use.unused) - 4} more" if len(use.unused) > 4 else ""
        kept = ", ".join(json.dumps(f.path) if "[" in f.path else f.path for f in use.kept)
        yield Advice(
            "select",
            "fields that nobody reads",
            f"{use.unused_share:.0%} of {use.tool}'s records ({use.rows:,} rows) is in fields that"
            f" occur in nothing said or called later: {names}{more}",
            f"tools.{use.tool}.result.fields: [{kept}]",
            remedy=1,
        )


def _drift(seen: Seen) -> Iterator[Advice]:
    """The same call three times, with nothing new tried in between: a build after each edit is
    work, a search repeated is drift."""
    same: dict[tuple[str, str], list[tuple[Called, int]]] = {}
    new = 0
    for one in seen.before:
        key = (one.call.name, one.call.arguments)
        new += key not in same
        same.setdefault(key, []).append((one, new))
    again = [calls for calls in same.values() if _is_circling(calls)]
    if not again:
        return
    worst = [one for one, _ in max(again, key=len)]
    steps = ", ".join(str(one.step) for one in worst[:8])
    more = " …" if len(worst) > 8 else ""
    more += f"; {len(again) - 1} more such calls" if len(again) > 1 else ""
    answers = {one.result.content for one in worst if one.result is not None}
    said = "with the same answer" if len(answers) == 1 else f"with {len(answers)} answers"
    yield Advice(
        "assemble",
        "the agent repeats itself",
        f"'{one_line(f'{worst[0].call.name} {worst[0].call.arguments}', 60)}' {len(worst)} times"
        f" {said} (steps {steps}{more})",
        "restate the goal at the tail (reminders), keep progress outside the window (plan)",
    )


def _is_circling(calls: list[tuple[Called, int]]) -> bool:
    """Whether three calls in a row had at most one new call between them."""
    return any(
        third - first <= 1
        for (_, first), (_, third) in zip(calls, calls[_SAME - 1 :], strict=False)
    )


def _poisoned(seen: Seen) -> Iterator[Advice]:
    """A value that stands in nothing the agent was told, used again and again, and failing."""
    first: dict[str, Called] = {}
    uses: dict[str, list[Called]] = {}
    told = ""
    at = 0
    for one in seen.before:
        told += "\n".join(_text(seen, place) for place in range(at, one.place))
        at = one.place
        for value in _identifiers(one):
            if value in first or value not in told:
                first.setdefault(value, one)
                uses.setdefault(value, []).append(one)
    for value, calls in uses.items():
        failed = [c for c in calls if c.result is not None and _is_failure(c)]
        if len(calls) >= _SAME and 2 * len(failed) >= len(calls):
            yield Advice(
                "assemble",
                "an invented value is taken for a fact",
                f"'{value}' stands in nothing the agent was told before step {calls[0].step}, is"
                f" used in {len(calls)} calls, and {len(failed)} of them fail",
                "correct it where it entered; results keep their source, and what is not from a"
                " live source says so",
            )
            return


def _text(seen: Seen, place: int) -> str:
    """What an event told the agent; its own words do not count."""
    event = seen.events[place]
    message = getattr(event, "message", None)
    if message is not None:
        return "" if message.role == "assistant" else str(message.text)
    return str(getattr(event, "content", "") or getattr(event, "input", ""))


def _identifiers(one: Called) -> list[str]:
    """Short argument values with a digit in them: ids, dates, numbers."""
    try:
        arguments = json.loads(one.call.arguments or "{}")
    except ValueError:
        return []
    values = arguments.values() if isinstance(arguments, dict) else []
    texts = [str(value) for value in values if isinstance(value, (str, int))]
    return [text for text in texts if 4 <= len(text) <= 40 and re.search(r"\d", text)]


def _is_failure(one: Called) -> bool:
    if one.result is None:
        return False
    return one.result.status == "error" or bool(_FAILED.search(one.result.content[:200]))


def _forgotten(seen: Seen) -> Iterator[Advice]:
    """A rule of the user that stands in the record and no more in the window."""
    if not seen.messages:
        return
    window = "\n".join(message_text(message) for message in seen.messages)
    for place, text in seen.users:
        for line in text.splitlines():
            rule = line.strip()
            if RULES.search(rule) and 8 <= len(rule) <= 300 and rule not in window:
                yield Advice(
                    "recover",
                    "truncation amnesia",
                    f"'{one_line(rule, 90)}' ({name_of(place)}) is no longer in the window",
                    "give such rules as constraints of the task: pins stand in every window",
                )
                return


def _own_cuts(seen: Seen) -> Iterator[Advice]:
    """Compactions that the agent of a recorded trace made by itself."""
    cuts = [
        place
        for place, event in enumerate(seen.events)
        if isinstance(event, Noted) and event.topic == "compaction"
    ]
    if cuts:
        steps = [sum(at < place for _, at, _ in seen.turns) for place in cuts]
        yield Advice(
            "recover",
            "the agent compacted by itself",
            f"{len(cuts)} times, after step {', '.join(map(str, steps[:6]))}: from there on it saw"
            " its summary, while the record here still holds everything",
            "what a summary may not lose belongs to pins; compare with a replay of this profile",
        )


def _lost(seen: Seen) -> Iterator[Advice]:
    """Values that the next turn uses and that its window no longer holds."""
    turn = seen.next_turn
    if turn is None or not seen.messages:
        return
    earlier = "\n".join(_text(seen, place) for place in range(seen.at))
    window = "\n".join(message_text(message) for message in seen.messages)
    needed = [value for value in needed_values(turn.to_openai()) if value in earlier]
    gone = [value for value in dict.fromkeys(needed) if value not in window]
    if gone:
        shown = ", ".join(f"'{one_line(value, 40)}'" for value in gone[:3])
        yield Advice(
            "recover",
            "a value that is needed now has left the window",
            f"{len(gone)} of {len(set(needed))} values of this step's calls: {shown}",
            "keep more of trimmed steps (history.digest), or pin it: tools.NAME.result.pin",
        )


def _unused_material(seen: Seen) -> Iterator[Advice]:
    """Passages that were found, placed in the window, and left no trace in what was said."""
    for place, event in enumerate(seen.events[: seen.at]):
        if not isinstance(event, RetrievedAdded):
            continue
        said = [f"{m.text} {m.tool_calls}" for _, at, m in seen.turns if at > place]
        names = {name for one in event.passages for name in _names(one)}
        if said and names and not any(name in text for name in names for text in said):
            yield Advice(
                "select",
                "material that was provided is not used",
                f"{len(event.passages)} retrieved passages ({name_of(place)}): none of their ids,"
                " sources or names occurs in anything said later",
                "look at the grant, the index and what the search was asked for",
            )
            return


def _names(passage: Mapping[str, Json]) -> list[str]:
    """What would show that a passage was read."""
    known = [str(passage.get(key) or "") for key in ("id", "source")]
    return [
        name for name in (*known, *omitted_names(str(passage.get("text") or ""))) if len(name) > 3
    ]


def _done_too_early(seen: Seen) -> Iterator[Advice]:
    """The agent answers while its own plan still has open items."""
    plans = [event for event in seen.events if isinstance(event, TodoSet)]
    last = seen.turns[-1][2] if seen.turns else None
    if not plans or last is None or last.tool_calls:
        return
    left = [item for item in plans[-1].items if item.status in ("pending", "active")]
    if left:
        yield Advice(
            "assemble",
            "the plan is taken as done",
            f"{len(left)} of {len(plans[-1].items)} items of the plan are open at the last answer",
            "show the plan at the tail (plan.enabled), and end a task by limits.done_when:"
            " plan_complete",
        )


SYMPTOMS: tuple[Callable[[Seen], Iterator[Advice]], ...] = (
    _miscounts,
    _unused_material,
    _unused_fields,
    _drift,
    _poisoned,
    _done_too_early,
    _forgotten,
    _own_cuts,
    _lost,
)
