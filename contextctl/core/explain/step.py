"""Explain one step: each bucket beside the step before, what grew, what was done about it.

Everything here is read off two assemblies of the same record; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from contextctl.core.explain.growth import growth, root_of, sources_of
from contextctl.model.explanation import STAGES, Advice, BucketRow, Explanation, Fix, Rung
from contextctl.model.ledger import BUCKETS, Action, LedgerReport, Usage
from contextctl.model.profile import Profile
from contextctl.model.record import Event, event_id

_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Beside:
    """What is known of a step beside its two ledgers: see the fields of ``Explanation``."""

    steps: int
    events: Sequence[Event] = ()
    recorded_digest: str = ""
    rungs: tuple[Rung, ...] = ()
    advice: tuple[Advice, ...] = ()
    fix: Fix | None = None
    notes: tuple[str, ...] = ()
    next: tuple[str, ...] = ()


def explain_step(
    profile: Profile, now: LedgerReport, before: LedgerReport | None, beside: Beside
) -> Explanation:
    """Explain ``now`` beside ``before`` (None at the first step)."""
    did, more, rest = _did(now)
    name = profile.path or profile.name or "profile"
    return Explanation(
        task=now.task,
        step=now.step,
        steps=beside.steps,
        status=now.status,
        model=now.model,
        zone=now.zone,
        ratio=now.ratio,
        total=now.total,
        usable=now.usable,
        window=now.window,
        reserve_output=now.reserve_output,
        profile=f"{name}@{profile.digest.removeprefix('sha256:')[:6]}",
        tokenizer=now.tokenizer,
        exact=now.exact,
        factor=now.factor,
        digest=now.digest,
        matches=now.digest == beside.recorded_digest if beside.recorded_digest else None,
        record=f"{event_id(1)}..{event_id(len(beside.events))}" if beside.events else "",
        rows=_rows(profile, now, before),
        grew=growth(profile, now, before),
        root=root_of(profile, now, beside.events),
        sources=sources_of(now),
        did=did,
        did_more=more,
        did_rest=rest,
        rungs=beside.rungs,
        look_first=look_first(beside.advice),
        advice=beside.advice,
        prefix=_prefix(now),
        fix=beside.fix,
        reported=_reported(now.usage, exact=now.exact),
        notes=(*now.warnings, *beside.notes),
        next=beside.next,
    )


def look_first(advice: Sequence[Advice]) -> str:
    """The first stage, in the order in which symptoms are looked into, that shows one."""
    shown = {one.stage for one in advice}
    return next((stage for stage in STAGES if stage in shown), "")


def cap_tokens(profile: Profile, key: str, usable: int) -> int | None:
    """The declared cap of a bucket or part in tokens: a fraction of usable up to 1, else tokens."""
    cap = profile.budget.caps.get(key)
    if cap is None:
        return None
    return int(cap * usable) if cap <= 1 else int(cap)


def _rows(
    profile: Profile, now: LedgerReport, before: LedgerReport | None
) -> tuple[BucketRow, ...]:
    previous = before.buckets if before else {}
    past_parts = before.parts if before else {}
    rows = []
    for bucket in BUCKETS:
        here, limit = now.buckets[bucket], cap_tokens(profile, bucket, now.usable)
        rows.append(_row(bucket, limit, previous.get(bucket, 0), _raw(now, bucket), here))
        for part in profile.budget.caps:
            if part.startswith(f"{bucket}."):
                own, past = now.parts.get(part, 0), past_parts.get(part, 0)
                rows.append(_row(part, cap_tokens(profile, part, now.usable), past, own, own))
    past = before.total if before else 0
    raw = sum(row.raw for row in rows if "." not in row.bucket)
    rows.append(_row("total", now.usable, past, raw, now.total))
    return tuple(rows)


def _raw(now: LedgerReport, bucket: str) -> int:
    """The bucket had nothing been left out. Where nothing was, it is the bucket itself: what may
    differ then is the rounding, and our own notes for calls that have no result."""
    raw, here = now.raw_buckets[bucket], now.buckets[bucket]
    reduced = any(action.bucket == bucket for action in now.actions)
    return raw if reduced and abs(raw - here) > 1 else max(here, raw) if reduced else here


def _row(bucket: str, limit: int | None, previous: int, raw: int, now: int) -> BucketRow:
    over = max(now - limit, 0) if limit is not None else 0
    return BucketRow(bucket, limit, previous, raw, now - raw, now, now - previous, over)


def _did(now: LedgerReport) -> tuple[tuple[Action, ...], int, int]:
    """The actions in force by what they save, how many more there are, and what those save."""
    scaled = [
        replace(
            action,
            tokens_before=round(action.tokens_before * now.factor),
            tokens_after=round(action.tokens_after * now.factor),
        )
        for action in now.actions
    ]
    scaled.sort(key=lambda a: (not a.new, a.tokens_after - a.tokens_before))
    rest = scaled[_SHOWN:]
    saved = sum(action.tokens_after - action.tokens_before for action in rest)
    return tuple(scaled[:_SHOWN]), len(rest), saved


def _prefix(now: LedgerReport) -> str:
    held = min(round(now.prefix.reused_tokens * now.factor), now.total)
    share = held / now.total if now.total else 0.0
    broke = f", broken at {now.prefix.broke_at}" if now.prefix.broke_at else ""
    return f"{held:,} of {now.total:,} tokens ({share:.0%}) as in the step before{broke}"


def _reported(usage: Usage | None, *, exact: bool) -> str:
    if usage is None:
        return ""
    cached = f" ({usage.cached_tokens:,} of them cached)" if usage.cached_tokens else ""
    kind = "our count" if exact else "our estimate"
    return (
        f"the provider counted {usage.prompt_tokens:,} tokens in{cached} and"
        f" {usage.completion_tokens:,} out; {kind} of what went in: {usage.count_error:+.1%}"
    )
