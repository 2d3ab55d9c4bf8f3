"""Explain a step of a subject: walk it, look at two steps, try what would help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from shlex import quote

from contextctl.core.explain.advice import advice
from contextctl.core.explain.failed import execution_failures
from contextctl.core.explain.field_use import field_uses
from contextctl.core.explain.seen import Seen
from contextctl.core.explain.step import Beside, explain_step
from contextctl.core.explain.whatif import Case, assembled, first_enough, needed_edits, rungs
from contextctl.io.profile.edit import applied_by, created_patch, patch_for, settings_yaml
from contextctl.io.runs.folder import safe_name
from contextctl.model.explanation import Edit, Explanation, Fix, Rung
from contextctl.model.ledger import LedgerReport, Usage
from contextctl.model.profile import Profile, Remedies, WorkspaceRule, value_at
from contextctl.model.record import Noted, UsageReported
from contextctl.run.inspect import Look, Subject, look_at

MILDEST_CAP = 600
"""A first profile gets no cap below this where the default remedies are enough without it."""


def explain_subject(subject: Subject, number: int | None) -> Explanation:
    """Explain step ``number`` (the worst one by default)."""
    look = look_at(subject, number)
    now = _with_usage(subject, look.step.assembly.ledger)
    at = look.step.events
    fields = {
        use.tool: tuple(one.path for one in use.kept)
        for use in field_uses(subject.events).values()
        if use.is_evidence
    }
    case = Case(
        subject.profile, subject.counter, subject.events[:at], now, look.before, look.totals, fields
    )
    found = rungs(case) if now.zone != "safe" else ()
    fix = _fix(subject, case, found)
    booked = next((r for r in found if r.enough and r.booked), None)
    if fix is not None and fix.spare < 0 and booked is not None:
        fix = replace(fix, instead=f"rung {booked.number} is enough ({booked.booked})")
    messages = look.step.assembly.messages
    seen = Seen(subject.profile, subject.events, at, now, look.past, messages)
    recorded = look.step.recorded
    return explain_step(
        subject.profile,
        now,
        look.before,
        Beside(
            steps=look.count,
            events=subject.events[:at],
            recorded_digest=recorded.digest if recorded else "",
            rungs=found,
            advice=advice(seen),
            fix=fix,
            notes=tuple(_notes(subject, look, seen)),
            next=tuple(_next(subject, now, fix)),
        ),
    )


def _fix(subject: Subject, case: Case, found: Sequence[Rung]) -> Fix | None:
    """The edits that make the step fit, tried together once more under the profile they make."""
    if case.now.total <= case.now.usable:
        return None
    taken = first_enough(found)
    if subject.bare:
        return _new_profile(subject, case, taken)
    edits = needed_edits(subject.profile, taken)
    if not edits:
        return None
    total = assembled(case, edits, case.events).total
    spare = case.now.usable - total
    return Fix(
        why=_why(taken),
        total=total,
        spare=spare,
        lines=settings_yaml(edits),
        patch=patch_for(subject.profile, edits) if spare >= 0 else "",
        path=subject.profile.path,
    )


def _why(taken: Sequence[Rung]) -> str:
    if len(taken) == 1:
        return f"rung {taken[0].number} is enough alone"
    return f"rungs {', '.join(str(rung.number) for rung in taken)} together"


def _new_profile(subject: Subject, case: Case, taken: Sequence[Rung]) -> Fix | None:
    """A first profile for a bare trace: its model, and the rule of the first rung; all remedies
    on, as by default. Tried as it will be read."""
    name = safe_name(subject.task)
    head = [
        Edit("/version", 1),
        Edit("/name", name),
        Edit("/model/name", subject.profile.model.name),
        *_set_by_hand(subject.profile),
    ]
    trial = replace(case, profile=_plain(subject.profile))
    rule = [edit for edit in needed_edits(trial.profile, taken) if _is_rule(edit)]
    total = assembled(trial, (), case.events).total
    if total > case.now.usable or not any(_is_harsh(edit) for edit in rule):
        total = assembled(trial, rule, case.events).total
    else:
        rule = []
    spare = case.now.usable - total
    lines = settings_yaml([*head, *rule])
    path = f"profiles/{name}.yaml"
    text = f"# Drafted by contextctl explain: step {case.now.step} then fits.\n{lines}"
    with_rule = f" and the rule of rung {taken[0].number}" if rule else ""
    return Fix(
        why=f"a profile with the default remedies{with_rule}",
        total=total,
        spare=spare,
        lines=lines,
        patch=created_patch(path, text) if spare >= 0 else "",
        path=path,
    )


def _is_harsh(edit: Edit) -> bool:
    return isinstance(edit.value, int) and edit.value < MILDEST_CAP


def _set_by_hand(profile: Profile) -> Iterator[Edit]:
    """What ``--set`` put over the bare profile belongs into the new one."""
    tree = profile.to_json()
    for pointer, origin in profile.origins.items():
        value = value_at(tree, pointer)
        if origin.path.startswith("--set") and not isinstance(value, dict):
            yield Edit(pointer, value)


def _plain(profile: Profile) -> Profile:
    """The same profile with all remedies on, as they are by default."""
    return replace(profile, remedies=Remedies(), workspace=WorkspaceRule())


def _is_rule(edit: Edit) -> bool:
    """Switches of remedies and their reader tools are on in a default profile."""
    return not edit.pointer.startswith(("/remedies/", "/workspace/tools"))


def _with_usage(subject: Subject, ledger: LedgerReport) -> LedgerReport:
    """The ledger with what the provider counted for this step, where the record says it."""
    fact = next(
        (
            event
            for event in subject.events
            if isinstance(event, UsageReported) and event.step == ledger.step
        ),
        None,
    )
    if fact is None or not fact.prompt_tokens:
        return ledger
    ours = sum(ledger.raw_buckets.values()) if fact.traced else ledger.total
    usage = Usage(
        prompt_tokens=fact.prompt_tokens,
        cached_tokens=fact.cached_tokens,
        cache_write_tokens=fact.cache_write_tokens,
        completion_tokens=fact.completion_tokens,
        cost_usd=fact.cost_usd,
        count_error=round((ours - fact.prompt_tokens) / fact.prompt_tokens, 4),
    )
    return replace(ledger, usage=usage)


def _notes(subject: Subject, look: Look, seen: Seen) -> Iterator[str]:
    yield from subject.warnings
    if subject.bare:
        yield "no profile: the trace as it was recorded, with nothing left out"
        if subject.named_by_trace:
            yield f"the window is that of '{subject.profile.model.name}', which the trace names"
    if look.overflows > 1:
        yield f"{look.overflows} of {look.count} steps do not fit"
    elif not look.overflows:
        yield f"all {look.count} steps fit" if look.count > 1 else "its only step fits"
    aborted = sum(isinstance(e, Noted) and e.topic == "aborted" for e in subject.events)
    if aborted:
        yield f"{aborted} turns were aborted"
    failed = execution_failures(seen)
    if failed:
        yield failed


def _next(subject: Subject, now: LedgerReport, fix: Fix | None) -> Iterator[str]:
    """The commands to type after this one."""
    flags = subject.flags
    if fix is not None and fix.patch:
        again = f"contextctl explain {subject.shown}{flags} --step {now.step}"
        yield f"{again} --patch | {applied_by(fix.path)}"
    if subject.bare:
        yield f"contextctl init --from {subject.trace_shown}{_as_drafted(subject.profile)}"
    elif fix is None:
        yield f"contextctl show {subject.shown}{flags} --step {now.step}"


def _as_drafted(profile: Profile) -> str:
    """The options of ``init`` that mean the same model and window."""
    options = f" --model {quote(profile.model.name)}"
    for pointer, option, value in (
        ("/model/window", "--window", profile.model.window),
        ("/model/reserve_output", "--reserve", profile.model.reserve_output),
    ):
        if profile.origin(pointer).startswith("--set"):
            options += f" {option} {value}"
    return options
