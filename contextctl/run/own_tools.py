"""What contextctl itself offers a task beside the profile's tools: skills, documents, delegates.

Which of them depends on the profile, the task and how deep it is: skills where there are some,
documents only when the task was granted some, delegates only while there is depth left. What is
offered is a fact of the record; a call of anything that is not offered is refused here.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from contextctl.core.explain.tool_call import bad_arguments
from contextctl.core.knowledge.documents import Library
from contextctl.core.knowledge.tools import KNOWLEDGE_TOOLS, answer_knowledge
from contextctl.core.reading.exact_json import dump_exact
from contextctl.core.tools.delegates import (
    ASK_KNOWLEDGE,
    delegate_specs,
    knowledge_about,
    knowledge_spec,
)
from contextctl.core.tools.skills import VIEW_SKILL, answer_view, index_entries
from contextctl.io.documents.grants import Banks
from contextctl.io.skills.index import read_skills, skill_file, skill_files
from contextctl.model.document import DocumentFault
from contextctl.model.failure import ARGUMENTS, GRANT, INDEX, QUERY, note_topic
from contextctl.model.message import Json, JsonObject, ToolCall, ToolSpec
from contextctl.model.outcome import ToolOutcome
from contextctl.model.own_sources import KNOWLEDGE, SKILLS, SUBAGENTS
from contextctl.model.profile import Profile
from contextctl.model.record import (
    Event,
    IndexRead,
    MessageAdded,
    Noted,
    Record,
    RetrievedAdded,
    StepTaken,
    ToolsListed,
)
from contextctl.model.record_json import event_to_json
from contextctl.model.skill import Shelf, Skill, SkillFile
from contextctl.model.task import Task
from contextctl.run.children import Children, check_children

if TYPE_CHECKING:
    from contextctl.run.live import Live

Answer = Callable[[Mapping[str, Json]], JsonObject]

# What an answer's ``error`` says about where finding it failed.
_FAILURES = {
    "unknown_skill": INDEX,
    "unknown_file": INDEX,
    "unknown_document": INDEX,
    "unknown_section": INDEX,
    "nothing_found": QUERY,
    "bad_arguments": ARGUMENTS,
}


class SkillFolders:
    """The files of skills on disk."""

    def read(self, skill: Skill, path: str) -> SkillFile:
        """One file inside the skill's folder."""
        return skill_file(skill, path)

    def listed(self, skill: Skill) -> tuple[str, ...]:
        """All files of the skill."""
        return skill_files(skill)


class OwnTools:
    """The tools of one profile that no profile declares. Safe to use from many threads.

    ``depth`` is how many levels of delegates may stand below this one.
    """

    def __init__(self, profile: Profile, shelf: Shelf, *, depth: int) -> None:
        self.profile = profile
        self.shelf = shelf
        self.depth = depth
        self.children = Children(profile, depth)
        self.banks = Banks(profile.disclosure.knowledge)
        self._libraries: dict[str, tuple[Library, tuple[DocumentFault, ...]]] = {}
        self._lock = threading.Lock()

    @property
    def delegates(self) -> bool:
        """Whether anything may be delegated from here."""
        return self.depth > 0 and self.profile.remedies.isolate

    def library(self, task: Task) -> tuple[Library, tuple[DocumentFault, ...]]:
        """The documents the task was granted, and those that could not be had."""
        key = json.dumps([task.documents, str(_base(task))], ensure_ascii=False)
        with self._lock:
            if key not in self._libraries:
                documents, faults = self.banks.granted(task.documents, _base(task))
                self._libraries[key] = (Library(documents), faults)
            return self._libraries[key]

    def close(self) -> None:
        """End what subagents have running."""
        self.children.close()

    def warnings(self) -> list[str]:
        """What is wrong with the profile's skills, for whoever starts a run."""
        faults = [fault for fault in self.shelf.faults if fault.severity != "note"]
        broken = [f"skill not indexed: {fault}" for fault in faults if fault.severity == "error"]
        rest = len(faults) - len(broken)
        more = f"{rest} remarks on skills; 'contextctl validate' shows them" if rest else ""
        return [*broken, more] if more else broken

    def remarks(self, task: Task) -> list[str]:
        """What the task was granted and cannot have, for whoever reads its result."""
        if not task.documents:
            return []
        library, faults = self.library(task)
        out = [f"a document cannot be had: {fault}" for fault in faults]
        if not library.documents:
            out.append(f"none of its documents can be read, so '{ASK_KNOWLEDGE}' is not offered")
        return out

    def facts(self, task: Task) -> list[Event]:
        """What is offered to ``task``, as facts before its first step, and what could not be."""
        out: list[Event] = []
        if self.shelf.skills:
            out += [IndexRead(SKILLS, index_entries(self.shelf)), *_listed([VIEW_SKILL])]
        out += _listed(list(self._delegates(task).values()))
        out += _listed(list(self._knowledge(task).values()))
        out += [
            _missed(INDEX, VIEW_SKILL.name, str(fault))
            for fault in self.shelf.faults
            if fault.severity == "error"
        ]
        if task.documents:
            faults = self.library(task)[1]
            out += [_missed(GRANT, ASK_KNOWLEDGE, str(fault)) for fault in faults]
        return out

    def names(self, task: Task) -> frozenset[str]:
        """The names of all tools offered to ``task``."""
        skills = {VIEW_SKILL.name} if self.shelf.skills else set()
        return frozenset({*skills, *self._delegates(task), *self._knowledge(task)})

    def delegate_names(self, task: Task) -> frozenset[str]:
        """The names among them that start a subagent."""
        return self.names(task) - {VIEW_SKILL.name, *KNOWLEDGE_TOOLS}

    def outcome(self, live: Live, call: ToolCall) -> ToolOutcome | None:
        """The outcome of a call of one of these tools; None when it is none of them."""
        if call.name not in self.names(live.task):
            return None
        if call.name == VIEW_SKILL.name:
            return answered(call, lambda given: answer_view(given, self.shelf, SkillFolders()))
        if call.name in KNOWLEDGE_TOOLS and not self.delegates:
            library, _ = self.library(live.task)
            return KnowledgeTools(library, self.banks).call(call.name, call.arguments, call.id)
        from contextctl.run.subagent import delegate  # a subagent is a task: it imports this

        return delegate(self, live, call)

    def _delegates(self, task: Task) -> dict[str, ToolSpec]:
        if not self.delegates:
            return {}
        specs = delegate_specs(self.profile.subagents, self.profile.shaping.locale)
        return {s.name: s for s in specs if task.tools is None or s.name in task.tools}

    def _knowledge(self, task: Task) -> dict[str, ToolSpec]:
        """The delegate that reads, where one may be had; else what it would read with."""
        if not task.documents or not self.library(task)[0].documents:
            return {}
        if not self.delegates:
            return dict(KNOWLEDGE_TOOLS)
        names = tuple(document.id for document in self.library(task)[0].documents)
        about = knowledge_about(self.profile.disclosure.knowledge, names)
        return {ASK_KNOWLEDGE: knowledge_spec(about, self.profile.shaping.locale)}


class KnowledgeTools:
    """The tools of a knowledge subagent, and the only ones it has.

    What it may read is ``library``; ``banks`` tell a document that was not granted from one that
    is not there, for the record only.
    """

    def __init__(self, library: Library, banks: Banks) -> None:
        self._library = library
        self._banks = banks

    def specs(self) -> tuple[ToolSpec, ...]:
        """``search_docs``, ``read_doc`` and ``read_section``."""
        return tuple(KNOWLEDGE_TOOLS.values())

    def has_effects(self, name: str) -> bool:
        """Reading changes nothing."""
        del name
        return False

    def missing(self) -> tuple[()]:
        """Nothing is missing: documents that could not be had are told in the brief."""
        return ()

    def call(self, name: str, arguments: str, call_id: str = "", task: str = "") -> ToolOutcome:  # noqa: ARG002  # the protocol of tools
        """Answer one call."""
        if name not in KNOWLEDGE_TOOLS:
            text = f"error: there is no tool '{name}'; the tools are: {', '.join(KNOWLEDGE_TOOLS)}"
            return ToolOutcome(text, status="error", failure=INDEX)
        call = ToolCall(call_id, name, arguments)
        outcome = answered(call, lambda given: answer_knowledge(name, given, self._library))
        if outcome.failure == INDEX and self._banks.holds(document_asked(call)):
            return replace(outcome, failure=GRANT)
        return outcome

    def close(self) -> None:
        """Nothing is running."""


def answered(call: ToolCall, answer: Answer) -> ToolOutcome:
    """The outcome of a call that is answered from what is at hand."""
    given = arguments_of(call)
    value = bad_arguments("the arguments are not a JSON object") if given is None else answer(given)
    error = value.get("error")
    if error is None:
        return ToolOutcome(dump_exact(value))
    failure = _FAILURES.get(str(error), INDEX)
    return ToolOutcome(dump_exact(value), status="error", failure=failure)


def arguments_of(call: ToolCall) -> JsonObject | None:
    """The arguments of a call; None when they are no JSON object."""
    try:
        value: Json = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def document_asked(call: ToolCall) -> str:
    """The id of the document that a call is about; empty when it names none."""
    document = (arguments_of(call) or {}).get("doc")
    return document.strip(" []").partition("#")[0] if isinstance(document, str) else ""


def document_read(call: ToolCall) -> str:
    """The source that a call reads; a search is none."""
    reads = call.name in KNOWLEDGE_TOOLS and call.name != "search_docs"
    return document_asked(call) if reads else ""


def _base(task: Task) -> Path:
    """Where a task's relative paths start: beside its file, else here."""
    file = Path(task.source.rpartition(":")[0])
    return file.parent if file.name and file.is_file() else Path.cwd()


def _listed(specs: list[ToolSpec]) -> list[ToolsListed]:
    return [ToolsListed(specs[0].source, tuple(specs))] if specs else []


def _missed(failure: str, tool: str, reason: str) -> Noted:
    body: JsonObject = {"failure": failure, "tool": tool, "call_id": "", "reason": reason}
    return Noted(note_topic(failure), body)


def open_own_tools(profile: Profile) -> OwnTools:
    """What a run offers of its own. Raises what is wrong with the profile of a subagent."""
    check_children(profile)
    shelf = read_skills(profile.disclosure.skills)
    return OwnTools(profile, shelf, depth=profile.limits.max_depth)


def own_facts(own: OwnTools | None, task: Task, record: Record) -> list[Event]:
    """What is offered to ``task`` and ``record`` does not say yet: all of it before the first step,
    later only lists that have changed since."""
    if own is None:
        return []
    facts = own.facts(task)
    if not any(isinstance(event, StepTaken) for event in record):
        return facts
    known: dict[tuple[str, str], Event] = {
        (event.kind, event.source): event
        for event in record
        if isinstance(event, (IndexRead, ToolsListed))
    }
    listed = [event for event in facts if isinstance(event, (IndexRead, ToolsListed))]
    there = {(event.kind, event.source) for event in listed}
    listed += [
        IndexRead(source) if kind == IndexRead.kind else ToolsListed(source, ())
        for kind, source in known
        if source in (SKILLS, KNOWLEDGE, SUBAGENTS) and (kind, source) not in there
    ]
    return [
        event
        for event in listed
        if event_to_json(event) != _json(known.get((event.kind, event.source)))
    ]


def before_messages(opening: Sequence[Event], facts: Sequence[Event]) -> list[Event]:
    """``facts`` among those that open a task, before anything is said."""
    spoken = (MessageAdded, RetrievedAdded)
    place = next((at for at, e in enumerate(opening) if isinstance(e, spoken)), len(opening))
    return [*opening[:place], *facts, *opening[place:]]


def _json(event: Event | None) -> JsonObject:
    return {} if event is None else event_to_json(event)
