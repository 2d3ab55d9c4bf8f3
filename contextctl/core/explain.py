"""Explain one step: each bucket beside the step before, what grew, what was done about it.

Everything here is read off two assemblies of the same record; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contextctl.model.explanation import BucketRow, Explanation, Growth, Rung
from contextctl.model.ledger import BUCKETS, Action, Item, LedgerReport
from contextctl.model.profile import Profile

_SHOWN = 6


def explain_step(
    profile: Profile,
    now: LedgerReport,
    before: LedgerReport | None,
    *,
    steps: int,
    recorded_digest: str = "",
    rungs: Sequence[Rung] = (),
    advice: Sequence[str] = (),
    patch: str = "",
) -> Explanation:
    """Explain ``now`` beside ``before`` (None at the first step)."""
    actions = sorted(now.actions, key=lambda a: (not a.new, a.tokens_after - a.tokens_before))
    name = profile.path or profile.name or "profile"
    return Explanation(
        task=now.task,
        step=now.step,
        steps=steps,
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
        digest=now.digest,
        matches=now.digest == recorded_digest if recorded_digest else None,
        rows=_rows(profile, now, before),
        largest=_largest(now),
        grew=_grew(profile, now, before),
        did=tuple(actions[:_SHOWN]),
        did_more=max(len(actions) - _SHOWN, 0),
        rungs=tuple(rungs),
        advice=tuple(advice),
        prefix=_prefix(now),
        patch=patch,
        reported=_reported(now),
    )


def cap_tokens(profile: Profile, bucket: str, usable: int) -> int | None:
    """The declared cap of a bucket in tokens: a fraction of usable up to 1, else tokens."""
    cap = profile.budget.caps.get(bucket)
    if cap is None:
        return None
    return int(cap * usable) if cap <= 1 else int(cap)


def _rows(
    profile: Profile, now: LedgerReport, before: LedgerReport | None
) -> tuple[BucketRow, ...]:
    previous = before.buckets if before else {}
    rows = []
    for bucket in BUCKETS:
        here, raw = now.buckets[bucket], now.raw_buckets[bucket]
        limit = cap_tokens(profile, bucket, now.usable)
        rows.append(_row(bucket, limit, previous.get(bucket, 0), raw, here))
    past = before.total if before else 0
    rows.append(_row("total", now.usable, past, sum(now.raw_buckets.values()), now.total))
    return tuple(rows)


def _row(bucket: str, limit: int | None, previous: int, raw: int, now: int) -> BucketRow:
    over = max(now - limit, 0) if limit is not None else 0
    return BucketRow(bucket, limit, previous, raw, now - raw, now, now - previous, over)


def _grew(profile: Profile, now: LedgerReport, before: LedgerReport | None) -> tuple[Growth, ...]:
    old = _by_event(before.items if before else ())
    new = _by_event(now.items)
    changes = []
    for event, (item, tokens) in {**old, **new}.items():
        delta = (tokens if event in new else 0) - (old[event][1] if event in old else 0)
        if delta:
            changes.append(_growth(profile, now, item, delta, gone=event not in new))
    changes.sort(key=lambda growth: (-abs(growth.delta), growth.event))
    shown = changes[:_SHOWN]
    rest = sum(growth.delta for growth in changes[_SHOWN:])
    if rest:
        shown.append(Growth(rest, "", "", f"{len(changes) - _SHOWN} more messages"))
    return tuple(shown)


def _by_event(items: Sequence[Item]) -> dict[str, tuple[Item, int]]:
    sums: dict[str, tuple[Item, int]] = {}
    for item in items:
        known = sums.get(item.event)
        sums[item.event] = (item, item.tokens + (known[1] if known else 0))
    return sums


def _growth(
    profile: Profile, now: LedgerReport, item: Item, delta: int, *, gone: bool
) -> Growth:
    what = describe(item)
    if gone:
        return Growth(delta, item.bucket, item.event, what, "left the window")
    actions = {action.target: action for action in now.actions}
    return Growth(delta, item.bucket, item.event, what, _note(profile, item, actions))


def _note(profile: Profile, item: Item, actions: Mapping[str, Action]) -> str:
    action = actions.get(item.event)
    if action is not None:
        where = action.origin or action.rule
        return f"{action.kind} {action.tokens_before:,} -> {action.tokens_after:,}  {where}"
    if item.bucket != "tool_results":
        return ""
    if item.name in profile.tools:
        return ""
    return f"no rule of its own: tools.{item.name}.result"


def describe(item: Item) -> str:
    """A message in a few words."""
    if item.bucket == "tool_results":
        return f"{item.name or 'result'} result (step {item.step})"
    if item.part == "history.summary":
        return "digest of trimmed steps"
    if item.role == "assistant":
        return f"assistant, calls {item.name}" if item.name else "assistant, text"
    if item.part.startswith("query"):
        return "the newest question" if item.part == "query.text" else "reminders"
    return {"system": "system text", "user": "earlier user message"}.get(item.role, item.role)


def _largest(now: LedgerReport) -> tuple[Growth, ...]:
    items = sorted(now.items, key=lambda item: -item.tokens)[:3]
    return tuple(Growth(i.tokens, i.bucket, i.event, describe(i)) for i in items)


def _prefix(now: LedgerReport) -> str:
    held = now.prefix.reused_tokens
    share = held / now.total if now.total else 0.0
    broke = f", broken at {now.prefix.broke_at}" if now.prefix.broke_at else ""
    return f"{held:,} of {now.total:,} tokens ({share:.0%}) as in the step before{broke}"


def _reported(now: LedgerReport) -> str:
    usage = now.usage
    if usage is None:
        return ""
    in_use = usage.prompt_tokens + usage.completion_tokens
    return (
        f"{in_use:,} tokens in use by the provider's count (prompt {usage.prompt_tokens:,}"
        f" incl. {usage.cached_tokens:,} cached, completion {usage.completion_tokens:,};"
        f" our count of the prompt is off by {usage.count_error:+.1%})"
    )
