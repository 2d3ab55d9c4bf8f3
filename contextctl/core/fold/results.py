"""Tool results as messages of the window: shaped, counted, with the action that says so."""

from __future__ import annotations

from dataclasses import replace

from contextctl.core.count import message_parts
from contextctl.core.digest.facts import extract_facts
from contextctl.core.fold.isolation import isolation
from contextctl.core.fold.state import State
from contextctl.core.fold.view import Piece
from contextctl.core.remedies.shape import shape_arrival
from contextctl.model.message import Message
from contextctl.model.record import ResultArrived

LATE = {
    "en": "Late result of call {call} ({tool}), which had been closed without one:",
    "zh": "调用 {call}（{tool}）的结果迟到，先前已按无结果处理：",
}
ORPHAN = {
    "en": "Result without a call in this record (call id {call}, {tool}):",
    "zh": "记录中找不到对应调用的结果（调用 id {call}，{tool}）：",
}


def result_piece(
    state: State, kind: str, frame: Message, event: ResultArrived, label: str = ""
) -> Piece:
    """The result in ``event`` inside ``frame`` (a message without content), under a ``label``."""
    shaped = shape_arrival(state, event)
    if _kept_readable(event):
        state.bring_readers()
    part = f"tool_results.{event.name or 'unnamed'}"
    head = f"{label}\n" if label else ""
    framing = sum(message_parts(replace(frame, content=head or None), state.counter).values())
    isolated = isolation(state, event)
    raw_tokens = shaped.raw_tokens if isolated is None else isolated.tokens_before
    state.book_raw({part: framing + raw_tokens})
    tokens = framing + shaped.tokens
    action = isolated or shaped.action
    if action is not None:
        before = framing + raw_tokens
        action = replace(action, tokens_before=before, tokens_after=tokens)
        state.take(action)
    return Piece(
        seq=state.at,
        step=state.step,
        kind=kind,
        message=replace(frame, content=head + shaped.text).to_openai(),
        parts=((part, tokens),),
        raw=event.content,
        name=event.name,
        call_id=event.call_id,
        label=head,
        facts=extract_facts(shaped.telling),
        action=action,
        ref=shaped.ref,
        event=state.event,
    )


def stray_piece(state: State, event: ResultArrived) -> Piece:
    """A result that answers no open call, as a labelled note."""
    late = state.closed_calls.get(event.call_id)
    form = (ORPHAN if late is None else LATE)[state.profile.shaping.locale]
    name = late or event.name
    label = form.format(call=event.call_id or "?", tool=name or "?")
    return result_piece(state, "note", Message(role="user"), replace(event, name=name), label)


def _kept_readable(event: ResultArrived) -> bool:
    """Whether text was kept beside the result (``ResultArrived.extra``): its ref can be read."""
    kept = event.extra.get("attachments")
    media = (
        [str(one.get("media")) for one in kept if isinstance(one, dict)]
        if isinstance(kept, list)
        else []
    )
    return any(one.startswith("text/") or one == "application/json" for one in media)
