"""An explanation as text: one screen, 100 columns wide, on which nothing is cut off."""

from __future__ import annotations

from collections.abc import Iterator

from contextctl.model.explanation import Advice, BucketRow, Explanation, Growth, Root, Rung
from contextctl.model.ledger import Action
from contextctl.report.columns import WIDTH, chunks, command, table, wrapped

_LABEL = 8


def explanation_text(why: Explanation) -> str:
    """The verdict, the buckets, what grew and from where, what was done, what would fit."""
    blocks = (_verdict, _table, _grew, _did, _root, _what_if, _look_at, _fix)
    parts = ["\n".join(lines) for block in blocks if (lines := list(block(why)))]
    return "\n\n".join(parts) + "\n"


def _verdict(why: Explanation) -> Iterator[str]:
    sign = ">" if why.over > 0 else "<="
    state = f"OVERFLOW by {why.over:,}" if why.status == "overflow" else why.zone.upper()
    room = f"(window {why.window:,} - reserve {why.reserve_output:,}), {why.ratio:.0%} full"
    head = f"{why.task} step {why.step} of {why.steps}: {state}"
    sums = f"{why.total:,} {sign} {why.usable:,} {room}"
    both = f"{head}   {sums}"
    if len(both) <= WIDTH:
        yield both
    else:
        yield from wrapped(head, "  ")
        yield from wrapped(sums, "  ")
    again = {True: "  replay matches", False: "  REPLAY DIFFERS", None: ""}[why.matches]
    factor = f" x {why.factor:.3f}" if why.factor != 1.0 else ""
    kind = "exact" if why.exact else "estimate"
    record = f"  record {why.record}" if why.record else ""
    yield from wrapped(
        f"{why.profile}  {why.model}  {why.tokenizer}{factor} ({kind}){record}{again}", "  "
    )
    for note in why.notes:
        yield from wrapped(note, "  ", "note: ")


def _table(why: Explanation) -> Iterator[str]:
    previous = f"step {why.step - 1}" if why.step > 1 else "before"
    head = ["BUCKET", "limit", previous, "raw", "saved", f"step {why.step}", "delta", ""]
    rows = [head, *(_cells(row) for row in why.rows)]
    yield from table(rows, [False, True, True, True, True, True, True, False])


def _cells(row: BucketRow) -> list[str]:
    limit = f"{row.limit:,}" if row.limit is not None else "-"
    over = f"over by {row.over:,}" if row.over else ""
    name = f"  {row.bucket}" if "." in row.bucket else row.bucket
    return [
        name,
        limit,
        f"{row.previous:,}",
        f"{row.raw:,}",
        _signed(row.saved),
        f"{row.now:,}",
        _signed(row.delta),
        over,
    ]


def _grew(why: Explanation) -> Iterator[str]:
    if not why.grew:
        return
    yield f"GREW {_signed(why.rows[-1].delta)}" + (
        f" since step {why.step - 1}" if why.step > 1 else ""
    )
    width = max(len(_signed(one.delta)) for one in why.grew)
    for one in why.grew:
        yield from _growth(one, width)


def _growth(one: Growth, width: int) -> Iterator[str]:
    first = f"  {_signed(one.delta):>{width}}  {one.bucket:<13} "
    what = f"{one.event} {one.what}".strip()
    note = f"  {one.note}" if one.note else ""
    yield from wrapped(what + note, " " * len(first), first)


def _did(why: Explanation) -> Iterator[str]:
    if not why.did:
        return
    saved = why.rows[-1].saved
    yield f"DID {_signed(saved)} in this window (* at this step)"
    rows = [_action(action) for action in why.did]
    shown = sum(a.tokens_after - a.tokens_before for a in why.did)
    if why.did_more:
        rows.append([f"  {why.did_more} more", "", "", "", _signed(why.did_rest), ""])
    other = saved - shown - why.did_rest
    if other:
        what = "of results shaped before they were trimmed" if other < 0 else "of digests"
        rows.append(["  and", "", "", "", _signed(other), what])
    yield from table(rows, [False, False, True, True, True, False])


def _action(action: Action) -> list[str]:
    where = action.origin or f"default of {action.rule.strip('/').replace('/', '.')}"
    return [
        f"{' *' if action.new else '  '}{action.kind}",
        action.target,
        f"{action.tokens_before:,} ->",
        f"{action.tokens_after:,}",
        _signed(action.tokens_after - action.tokens_before),
        where,
    ]


def _root(why: Explanation) -> Iterator[str]:
    if why.root is not None:
        yield from wrapped(_root_words(why.root), " " * _LABEL, "ROOT    ")
    else:
        yield "ROOT    no single message: the largest is below a tenth of the window"
    label = "MOST"
    for source in why.sources:
        count = f" in {source.messages} messages" if source.messages > 1 else ""
        share = f" ({source.tokens / why.total:.0%})" if why.total else ""
        largest = f", largest {source.largest}" if source.messages > 1 else ""
        words = f"{source.tokens:,}{share}  {source.name}{count}{largest}"
        yield from wrapped(words, " " * _LABEL, f"{label:<{_LABEL}}")
        label = ""
    yield from wrapped(why.prefix, " " * _LABEL, "PREFIX  ")
    if why.reported:
        yield from wrapped(why.reported, " " * _LABEL, "USAGE   ")


def _root_words(root: Root) -> str:
    back = (
        f"{root.steps_back} step{'s' * (root.steps_back != 1)} back"
        if root.step
        else "at the start"
    )
    size = (
        f"{root.now:,} tokens" if root.raw == root.now else f"{root.now:,} of {root.raw:,} tokens"
    )
    call = f"; asked by: {root.call}" if root.call else ""
    alone = "; without it the step fits" if root.decides else ""
    return f"{root.event} {root.what}, {back}: {size}, {root.rule}{alone}{call}"


def _what_if(why: Explanation) -> Iterator[str]:
    if not why.rungs:
        return
    need = f"need {why.over:,}; * = enough alone" if why.over > 0 else "it fits; room to gain"
    yield f"WHAT IF, re-assembled rung by rung ({need})"
    rows = [["  rung", "alone", "adds", f"step {why.step}", "prefix"]]
    rows += [_rung(rung, star=why.over > 0) for rung in why.rungs]
    lines = list(table(rows, [False, True, True, True, False]))
    changes = ["change", *(rung.change for rung in why.rungs)]
    left = max(map(len, lines)) + 2
    for line, change in zip(lines, changes, strict=True):
        if left + len(change) <= WIDTH:
            yield f"{line:<{left}}{change}"
        else:
            yield line
            yield from wrapped(change, "      ", "      ")


def _rung(rung: Rung, *, star: bool) -> list[str]:
    mark = "*" if rung.enough and star else " "
    return [
        f"  {rung.number} {rung.remedy}",
        f"{rung.alone:,}{mark}",
        f"{rung.adds:,}",
        f"{rung.total:,}",
        rung.prefix,
    ]


def _look_at(why: Explanation) -> Iterator[str]:
    if not why.advice:
        return
    yield f"LOOK AT, first {why.look_first} (select > assemble > budget > recover)"
    for one in why.advice:
        yield from _advice(one)


def _advice(one: Advice) -> Iterator[str]:
    rung = f" (rung {one.remedy})" if one.remedy else ""
    yield from wrapped(f"{one.symptom}{rung}: {one.evidence}", " " * 12, f"  {one.stage:<10}")
    yield from wrapped(one.do, " " * 15, " " * 12 + "-> ")


def _fix(why: Explanation) -> Iterator[str]:
    fix = why.fix
    if fix is not None:
        left = f"fits with {fix.spare:,} spare"
        if fix.spare < 0:
            left = f"is still {-fix.spare:,} over; {fix.instead or 'there has to be less to read'}"
        yield from wrapped(f"{fix.why}; step {why.step} then {left}", "     ", "TRY  ")
        for line in (fix.patch or fix.lines).splitlines():
            yield from chunks(f"  {line}", "   ")
    elif why.status == "overflow":
        yield "TRY  no rung of the profile is enough: see LOOK AT for what takes the room"
    label = "NEXT"
    for each in why.next:
        yield from command(each, "     ", f"{label:<5}")
        label = ""


def _signed(number: int) -> str:
    return f"{number:+,}" if number else "0"
