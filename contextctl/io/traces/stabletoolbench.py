"""StableToolBench / ToolBench answers: a depth-first search over tool calls.

The path that ended the search is the trace; how many other branches were tried is a note.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextctl.io.traces.draft import Draft, as_list, as_object
from contextctl.io.traces.openai_chat import add_checked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contextctl.io.traces.source import Source
    from contextctl.model.message import Json
    from contextctl.model.trace import Trace

NAME = "stabletoolbench"


def recognises(source: Source) -> bool:
    """Whether a document has ``answer_generation`` with the messages it was trained on."""
    return any(
        isinstance(value, dict) and "train_messages" in as_object(value.get("answer_generation"))
        for value in source.head
    )


def read(source: Source) -> Iterator[Trace]:
    """One trace a document: the last and longest message list."""
    for line, value in source.values():
        body = as_object(value)
        answer = as_object(body.get("answer_generation"))
        draft = Draft("", NAME)
        draft.offer(as_list(answer.get("function")))
        paths = as_list(answer.get("train_messages"))
        for message in as_list(paths[-1]) if paths else []:
            kept = {key: item for key, item in as_object(message).items() if key != "valid"}
            add_checked(draft, kept, source, line)
        leaves = _leaves(as_object(body.get("tree")).get("tree"))
        facts = ("finish_type", "query_count", "total_tokens", "valid_data")
        draft.note("search", {"branches": leaves, **{key: answer.get(key) for key in facts}})
        yield draft.trace()


def _leaves(node: Json) -> int:
    """The branches of the search tree, without recursion: real trees are deep."""
    count, open_nodes = 0, [as_object(node)]
    while open_nodes:
        children = as_list(open_nodes.pop().get("children"))
        count += not children
        open_nodes += [as_object(child) for child in children]
    return count
