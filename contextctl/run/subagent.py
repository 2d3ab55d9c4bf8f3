"""A subagent: a task of its own, with its own profile, window, record and budget (SPEC S7).

It is run like any other task, into ``sub/<n>`` of its parent's folder, so that it survives a crash
like any other: a parent that is continued finds what its subagent already did. Its parent's window
grows by the result and nothing else.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from contextctl.core.explain.tool_call import Arguments, bad_arguments
from contextctl.core.knowledge.citations import citations_in
from contextctl.core.knowledge.documents import Library
from contextctl.core.knowledge.tools import document_map
from contextctl.core.reading.exact_json import dump_exact
from contextctl.core.reading.refs import content_hash, make_ref
from contextctl.core.tools.coverage import SourceOf, coverage
from contextctl.core.tools.delegates import ASK_KNOWLEDGE
from contextctl.core.tools.delegation import (
    BRIEF,
    Held,
    brief_text,
    cut_summary,
    held_by,
    material_tokens,
    result_of,
    transcript,
)
from contextctl.errors import ContextctlError
from contextctl.io.runs.folder import SUB, TaskFolder
from contextctl.io.runs.records import read_record
from contextctl.io.text.files import write_atomic
from contextctl.io.text.jsonl import json_text
from contextctl.model.failure import ARGUMENTS, ENVIRONMENT, TOOL
from contextctl.model.message import Json, JsonObject, Message, ToolCall
from contextctl.model.outcome import ToolOutcome
from contextctl.model.profile import Profile
from contextctl.model.profile_parts import Subagent
from contextctl.model.record import MessageAdded, Noted, Record
from contextctl.model.subagent import SubagentResult
from contextctl.model.task import Task
from contextctl.run.live import Live
from contextctl.run.meter import Share
from contextctl.run.own_tools import KnowledgeTools, OwnTools, arguments_of, document_read
from contextctl.run.reader_profile import reading_rule
from contextctl.run.setting import Setting
from contextctl.run.summarize import open_summariser
from contextctl.run.task import Ended, run_task


def delegate(own: OwnTools, live: Live, call: ToolCall) -> ToolOutcome:
    """Run one delegated task to its end and answer with its structured result.

    What goes wrong with the subagent is in the answer; nothing about it is raised, but for a bug.
    """
    asked = Arguments(arguments_of(call) or {})
    task = asked.text("task")
    if asked.problem:
        return ToolOutcome(
            dump_exact(bad_arguments(asked.problem)), status="error", failure=ARGUMENTS
        )
    rule = live.profile.subagents.get(call.name) or reading_rule()
    try:
        return _Delegated(own, live, call, rule, task).outcome()
    except ContextctlError as error:
        reason = str(error)
        failed = SubagentResult(
            "failed", "subagent could not be started", reason=reason, confidence="low"
        )
        return ToolOutcome(dump_exact(failed.to_json()), status="error", failure=ENVIRONMENT)


class _Delegated:
    """One call of a delegate."""

    def __init__(
        self, own: OwnTools, live: Live, call: ToolCall, rule: Subagent, task: str
    ) -> None:
        self._own, self._live, self._call, self._rule = own, live, call, rule
        self._record = live.record()
        self._number = _number(self._record, call, own.delegate_names(live.task))
        self._library: Library | None = None
        material, source_of = "", None
        if call.name == ASK_KNOWLEDGE:
            self._library, faults = own.library(live.task)
            material = _material(self._library, [str(fault) for fault in faults])
            source_of = document_read
        self._source_of: SourceOf | None = source_of
        self._held = held_by(self._record, rule.inherit)
        locale = live.profile.shaping.locale
        self._brief = brief_text(task, self._held, locale, material)
        self._task = task

    def outcome(self) -> ToolOutcome:
        folder = TaskFolder(self._live.folder.path / SUB / str(self._number))
        setting = self._setting()
        folder.path.mkdir(parents=True, exist_ok=True)
        write_atomic(folder.profile, json_text(setting.profile.to_json()) + "\n")
        session = (self._live.workspace.session, self._live.key)
        given = (self._briefed(),)
        ended = run_task(setting, self._child(), folder, session=session, given=given)
        if ended.result.status == "interrupted":
            return ToolOutcome("interrupted", status="error", failure=ENVIRONMENT)
        record, _ = read_record(folder.record)
        return self._outcome(ended, record)

    def _outcome(self, ended: Ended, record: Record) -> ToolOutcome:
        live = self._live
        text = transcript(record)
        sha256 = content_hash(text)
        ref = make_ref(live.workspace.session, live.key, sha256)
        live.workspace.put(ref, sha256, text, "text/plain")
        fault = "" if ended.result.status == "ok" else ended.result.error or ended.result.status
        result = result_of(record, coverage(record, self._source_of), fault)
        if self._library is not None:
            result = _cited(result, self._library)
        more: JsonObject = {} if result.status == "ok" else {"trace": ref}
        summary = cut_summary(result.summary, ref)
        if summary != result.summary:
            more["trace"] = ref
        shown = replace(result, summary=summary, more={**result.more, **more})
        counter = live.setting.counter_of(live.profile.model.name)
        totals = ended.totals
        places = result.more.get("citations")
        isolate: JsonObject = {
            "subagent": self._call.name,
            "rule": _pointer(live.profile, self._call.name),
            "place": f"{SUB}/{self._number}",
            "ref": ref,
            "ref_shown": "trace" in more,
            "tokens": material_tokens(record, counter),
            "status": result.status,
            "steps": ended.result.steps,
            "input_tokens": totals.sent + totals.delegated_input,
            "output_tokens": totals.completion + totals.delegated_output,
            "cost_usd": round(totals.cost, 10),
            "peak_ratio": ended.result.peak.ratio,
        }
        if isinstance(places, list):
            isolate["citations"] = [one["at"] for one in places if isinstance(one, dict)]
        return ToolOutcome(
            dump_exact(shown.to_json()),
            status="error" if result.status == "failed" else "ok",
            extra={"isolate": isolate},
            failure=TOOL if result.status == "failed" else "",
        )

    def _child(self) -> Task:
        digest = hashlib.sha256(f"{self._call.name}\0{self._brief}".encode("utf-8", "replace"))
        return Task(
            id=f"{self._live.task.id}/{SUB}/{self._number}",
            messages=(Message("user", self._brief),),
            digest=digest.hexdigest(),
            source=self._live.task.source,
            input=self._brief,
            subject=self._live.task.subject,
        )

    def _briefed(self) -> Noted:
        held: list[Json] = [{"key": one.key, "text": one.text} for one in self._all_held()]
        return Noted(
            BRIEF,
            {
                "parent": self._live.task.id,
                "call_id": self._call.id,
                "subagent": self._call.name,
                "task": self._task,
                "held": held,
            },
        )

    def _all_held(self) -> tuple[Held, ...]:
        """Constraints always pass on, so that no level can lose them."""
        keys = dict.fromkeys((*self._rule.inherit, "constraints"))
        return held_by(self._record, tuple(keys))

    def _setting(self) -> Setting:
        """The child's own profile, model and tools; the run's workspace, stop and money."""
        base, reads = self._live.setting, self._library is not None
        child = self._own.children.get(self._call.name, self._rule, base.stop, reads=reads)
        meter = Share(base.meter, self._rule.max_cost)
        tools = child.tools or KnowledgeTools(self._library or Library(()), self._own.banks)
        return replace(
            base,
            profile=child.profile,
            counter_of=child.counter_of,
            model=child.model or base.model,
            tools=tools,
            meter=meter,
            own=child.own,
            summariser=open_summariser(child.profile, child.counter_of, meter, base.stop),
            state=None,
            leases=None,
        )


def _number(record: Record, call: ToolCall, names: frozenset[str]) -> int:
    """Which delegated task of its parent this is, from 1: the same again after a crash."""
    number = 0
    for event in record:
        if isinstance(event, MessageAdded):
            for made in event.message.tool_calls:
                number += made.name in names
                if made.id == call.id:
                    return number
    return number + 1


def _material(library: Library, faults: list[str]) -> str:
    parts = [f"Documents (id | title | sections):\n{document_map(library)}"]
    if faults:
        listed = "\n".join(f"- {fault}" for fault in faults)
        parts.append(f"Granted, and could not be had (say so where it matters):\n{listed}")
    return "\n\n".join(parts)


def _cited(result: SubagentResult, library: Library) -> SubagentResult:
    """An answer about documents stands on places in them: those that resolve are listed, those that
    do not are named, and an answer without any is no certain one."""
    places, lost = citations_in(result.summary, library)
    more: JsonObject = {"citations": [{"at": str(p), "title": p.title} for p in places]}
    if lost:
        more["unresolved"] = [*lost]
    if result.status == "ok" and not places:
        reason = result.reason or "the answer cites no document"
        result = replace(result, status="partial", confidence="low", reason=reason)
    elif lost and result.confidence == "high":
        result = replace(result, confidence="medium")
    return replace(result, more={**result.more, **more})


def _pointer(profile: Profile, name: str) -> str:
    if name in profile.subagents:
        return f"/subagents/{name}"
    return "/disclosure/knowledge"
