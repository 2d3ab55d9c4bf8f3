"""An explanation as text, at most 100 columns wide."""

from __future__ import annotations

from collections.abc import Iterator

from contextctl.model.explanation import BucketRow, Explanation, Growth
from contextctl.model.ledger import Action

WIDTH = 100


def explanation_text(why: Explanation) -> str:
    """One screen: the verdict, the buckets, what grew, what was done, what would fit."""
    return "\n".join(line[:WIDTH].rstrip() for line in _lines(why)) + "\n"


def _lines(why: Explanation) -> Iterator[str]:
    yield from _verdict(why)
    yield ""
    yield from _table(why)
    if why.grew:
        yield ""
        yield f"GREW {why.rows[-1].delta:+,} since step {why.step - 1}"
        yield from (_growth(growth) for growth in why.grew)
    if why.did:
        saved = sum(a.tokens_after - a.tokens_before for a in why.did)
        yield ""
        yield f"DID {saved:+,} (in force in this window; * taken at this step)"
        yield from (_action(action) for action in why.did)
        if why.did_more:
            yield f"     … and {why.did_more} more"
    yield ""
    for index, one in enumerate(why.largest):
        yield f"{'LARGEST' if not index else '':<8}{one.delta:>7,}  {one.event} {one.what}"
    yield f"PREFIX  {why.prefix}"
    if why.reported:
        yield f"USAGE   {why.reported}"
    yield from _what_if(why)


def _verdict(why: Explanation) -> Iterator[str]:
    sign = ">" if why.over > 0 else "<="
    state = f"OVERFLOW by {why.over:,}" if why.status == "overflow" else why.zone.upper()
    yield f"{why.task} step {why.step} of {why.steps}: {state}"
    yield (
        f"{why.total:,} {sign} {why.usable:,} usable"
        f" (window {why.window:,} - reserve {why.reserve_output:,}), {why.ratio:.0%} full"
    )
    again = {True: "  replay matches", False: "  REPLAY DIFFERS", None: ""}[why.matches]
    kind = "exact" if why.exact else "estimate"
    yield f"{why.profile}  {why.model}  {why.tokenizer} ({kind}){again}"


def _table(why: Explanation) -> Iterator[str]:
    previous = f"step {why.step - 1}" if why.step > 1 else "before"
    yield (
        f"{'BUCKET':<13}{'limit':>9}{previous:>10}{'raw':>11}{'saved':>11}"
        f"{f'step {why.step}':>10}{'delta':>10}"
    )
    for row in why.rows:
        yield _row(row)


def _row(row: BucketRow) -> str:
    limit = f"{row.limit:,}" if row.limit is not None else "-"
    over = f"   over by {row.over:,}" if row.over else ""
    saved = f"{row.saved:+,}" if row.saved else "0"
    delta = f"{row.delta:+,}" if row.delta else "0"
    return (
        f"{row.bucket:<13}{limit:>9}{row.previous:>10,}{row.raw:>11,}{saved:>11}"
        f"{row.now:>10,}{delta:>10}{over}"
    )


def _growth(growth: Growth) -> str:
    what = f"{growth.event} {growth.what}".strip()
    return f"{growth.delta:>+9,}  {growth.bucket:<13} {what:<34} {growth.note}"


def _action(action: Action) -> str:
    saved = action.tokens_after - action.tokens_before
    mark = "*" if action.new else " "
    where = action.origin or f"default of {action.rule}"
    return (
        f"  {mark}{action.kind:<8} {action.target:<14} {action.tokens_before:>8,} ->"
        f" {action.tokens_after:>6,}  {saved:>+8,}  {where}"
    )


def _what_if(why: Explanation) -> Iterator[str]:
    if why.rungs:
        need = f"need {why.over:,}; * = enough alone" if why.over > 0 else "room to gain"
        yield ""
        yield f"WHAT IF, re-assembled rung by rung ({need})"
        yield f"  {'rung':<26}{'saves':>10}{'step ' + str(why.step):>11}  change"
        for rung in why.rungs:
            star = "*" if rung.enough else " "
            total = "-" if rung.total is None else f"{rung.total:,}"
            yield (
                f"  {rung.number} {rung.remedy:<24}{rung.saves:>9,}{star}{total:>11}  {rung.change}"
            )
    for line in why.advice:
        yield f"LOOK AT {line}"
    if why.patch:
        yield ""
        yield "TRY  the first rung that is enough alone"
        yield from ("  " + line for line in why.patch.splitlines())
