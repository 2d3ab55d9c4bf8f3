"""tau-bench results: a list of ``{"task_id", "traj", "trial"}`` with OpenAI chat messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextctl.io.traces.draft import Draft, as_list, as_object
from contextctl.io.traces.openai_chat import add_checked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contextctl.io.traces.source import Source
    from contextctl.model.trace import Trace

NAME = "tau-bench"


def recognises(source: Source) -> bool:
    """Whether the records have ``traj`` beside ``task_id``."""
    return any(
        {"task_id", "traj"} <= as_object(item).keys()
        for value in source.head
        for item in (value[:1] if isinstance(value, list) else [value])
    )


def read(source: Source) -> Iterator[Trace]:
    """One trace a record: task and trial name it. Tool schemas are not in the file."""
    for line, value in source.values():
        for item in value if isinstance(value, list) else [value]:
            record = as_object(item)
            draft = Draft(f"t{record.get('task_id')}-r{record.get('trial', 0)}", NAME)
            for message in as_list(record.get("traj")):
                add_checked(draft, as_object(message), source, line)
            draft.note("reward", {"reward": record.get("reward")})
            yield draft.trace()
