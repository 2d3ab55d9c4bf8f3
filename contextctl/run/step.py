"""One step: assemble, ask, and take in the answer; with another model where the first one fails."""

from __future__ import annotations

import re
from dataclasses import replace

from contextctl.core.cache_marks import mark
from contextctl.errors import ContextOverflow, ModelError
from contextctl.io.models.map import model_facts
from contextctl.model.assembly import Assembly
from contextctl.model.ledger import LedgerReport
from contextctl.model.message import Message
from contextctl.model.record import Event, MessageAdded, SlotDelivered, UsageReported
from contextctl.model.reply import Reply, Request
from contextctl.run.live import Live, model_error

# What providers say when a window is too large for them.
_SAID_LIMIT = re.compile(
    r"(?:maximum context length(?: is)?|context (?:size|window)(?: of| is)?|> )\D{0,12}([\d,]{3,})",
    re.IGNORECASE,
)
_SAID_PROMPT = re.compile(
    r"(?:resulted in|requested|prompt is too long:?|request has|contains?)\D{0,12}([\d,]{3,})",
    re.IGNORECASE,
)


def take_step(live: Live) -> None:
    """Ask the model for the next turn, and write it down.

    A task stays with the model that answered last; when it fails, the next fallback is asked with a
    window assembled for it. Raises ``ContextOverflow`` when the window does not fit, ``ModelError``
    when no model answers.
    """
    names = live.setting.model.names
    first = names.index(live.profile.model.name) if live.profile.model.name in names else 0
    for name in names[first:]:
        live.use(name)
        try:
            _ask(live)
        except ModelError as error:
            if error.overflow or name == names[-1] or live.setting.stop.is_set():
                raise
            live.warnings.append(f"{error}; the next model is asked")
        else:
            return


def _ask(live: Live) -> None:
    """One try with the current model, and one more if the provider finds the window too large."""
    assembly = _window(live)
    try:
        reply = _send(live, assembly)
    except ModelError as error:
        step = assembly.ledger.step
        live.facts(model_error(step, live.profile.model.name, str(error)))
        if not error.overflow:
            live.report(assembly, replace(assembly.ledger, status="error"))
            raise
        live.facts(_counted_anew(assembly.ledger, str(error)))
        refused, assembly = assembly, _window(live)
        try:
            if assembly.ledger.digest == refused.ledger.digest:
                raise  # nothing could be left out, and the same window again is no use
            reply = _send(live, assembly)
        except ModelError as again:
            if again is not error:
                live.facts(model_error(step, live.profile.model.name, str(again)))
            status = "overflow" if again.overflow else "error"
            live.report(assembly, replace(assembly.ledger, status=status))
            raise
    _answered(live, assembly, reply)


def _window(live: Live) -> Assembly:
    assembly = live.window()
    if assembly.ledger.status == "overflow":
        live.report(assembly, assembly.ledger)
        live.totals.add(assembly.ledger)
        raise ContextOverflow(assembly.ledger)
    return assembly


def _send(live: Live, assembly: Assembly) -> Reply:
    setting, model = live.setting, live.profile.model
    ledger = assembly.ledger
    messages = mark(
        assembly.messages,
        [item.tokens for item in ledger.items],
        model_facts(model.name).cache,
        tail=len(assembly.messages) - assembly.stable,
        before=ledger.buckets.get("tools_schema", 0),
    )
    setting.meter.wait(setting.stop)
    return setting.model.complete(
        Request(messages=messages, tools=assembly.tools, model=model.name, task=live.task.id)
    )


def _answered(live: Live, assembly: Assembly, reply: Reply) -> None:
    """The reply and its usage are facts, its calls under ids that no earlier call has."""
    calls = tuple(replace(call, id=live.fresh_id(call.id)) for call in reply.message.tool_calls)
    said = _as_assistant(replace(reply.message, tool_calls=calls))
    step = assembly.ledger.step
    # Before the reply: torn apart by a crash, the window is sent again, and nothing told twice.
    facts: list[Event] = [SlotDelivered(assembly.delivers, step)] if assembly.delivers else []
    facts.append(MessageAdded(said))
    usage = reply.usage
    if usage is not None and usage.prompt_tokens:
        facts.append(
            UsageReported(
                step=assembly.ledger.step,
                model=reply.model,
                prompt_tokens=usage.prompt_tokens,
                completion_tokens=usage.completion_tokens,
                cached_tokens=usage.cached_tokens,
                cache_write_tokens=usage.cache_write_tokens,
                cost_usd=usage.cost_usd,
                first_token_s=reply.first_token_s,
            )
        )
    live.facts(*facts)
    live.setting.meter.spend(reply.cost_usd)
    if reply.finish_reason == "length":
        live.warnings.append(
            f"step {assembly.ledger.step}: the answer was cut at 'model.reserve_output'"
        )
    if live.finished is None:
        return
    ledger, _ = live.finished
    measured = {**ledger.measured, "duration_s": round(reply.duration_s, 3), "tries": reply.tries}
    live.report(assembly, replace(ledger, measured=measured))


def _as_assistant(message: Message) -> Message:
    return message if message.role == "assistant" else replace(message, role="assistant")


def _counted_anew(ledger: LedgerReport, message: str) -> Event:
    """What a refusal teaches: the provider counts more than we do, or its window is smaller.

    Its own numbers are used where it gives them, scaled so that what fits its limit fits ours;
    else the window counts as just over the usable one.
    """
    prompt, limit = _said(_SAID_PROMPT, message), _said(_SAID_LIMIT, message)
    counted = max(prompt or 0, ledger.total)
    if limit and limit < ledger.window:
        counted = int(counted * ledger.window / limit)
    counted = max(counted, ledger.usable + 1)
    if counted > 2 * ledger.total:  # beyond this it would be no matter of tokenizers
        counted = max(2 * ledger.total, ledger.usable + 1)
    return UsageReported(step=ledger.step, model=ledger.model, prompt_tokens=counted)


def _said(pattern: re.Pattern[str], message: str) -> int | None:
    found = pattern.search(message)
    return int(found[1].replace(",", "")) if found else None
