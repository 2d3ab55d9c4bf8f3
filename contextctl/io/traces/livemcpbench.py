"""LiveMCPBench answers: a list of tasks, each with its OpenAI chat ``messages``.

Results are the Python repr of an MCP result; they are kept as the model saw them. The schemas of
the two tools the agent has are not in the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextctl.io.traces.draft import Draft, as_list, as_object, as_text
from contextctl.io.traces.openai_chat import add_checked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contextctl.io.traces.source import Source
    from contextctl.model.trace import Trace

NAME = "livemcpbench"


def recognises(source: Source) -> bool:
    """Whether the records have a ``Question`` beside messages."""
    return any(
        {"task_id", "Question", "messages"} <= as_object(item).keys()
        for value in source.head
        for item in (value[:1] if isinstance(value, list) else [value])
    )


def read(source: Source) -> Iterator[Trace]:
    """One trace a task."""
    for line, value in source.values():
        for item in value if isinstance(value, list) else [value]:
            record = as_object(item)
            draft = Draft(as_text(record.get("task_id")), NAME)
            for message in as_list(record.get("messages")):
                add_checked(draft, as_object(message), source, line)
            facts = ("category", "answers", "Annotator Metadata")
            draft.note("task", {key: record[key] for key in facts if key in record})
            yield draft.trace()
