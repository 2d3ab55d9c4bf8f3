"""Answering a model's calls of the workspace tools: the pure readers over a real workspace."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from contextctl.core.reading.exact_json import dump_exact
from contextctl.core.reading.lines import READ_BYTES, bad_arguments, find_call, written
from contextctl.core.reading.refs import content_hash, make_ref
from contextctl.core.tools.workspace import READER_TOOLS, WORKSPACE_TOOLS, answer_read
from contextctl.io.workspace.labels import LabelError, clean_label

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from contextctl.core.reading.lines import PastCall
    from contextctl.io.workspace.session import Workspace
    from contextctl.model.message import Json, JsonObject
    from contextctl.model.record import Record


class WorkspaceCalls:
    """Executes the workspace tools for one session. Wrong input is an answer, never an exception.

    ``record`` gives the task's record so far, for ``view_tool_call``. ``max_bytes`` bounds the
    content of one answer, in UTF-8 bytes.
    """

    def __init__(
        self,
        workspace: Workspace,
        key: str,
        record: Callable[[], Record],
        *,
        max_bytes: int = READ_BYTES,
    ) -> None:
        self._workspace = workspace
        self._key = key
        self._record = record
        self._max_bytes = max_bytes

    def execute(self, tool: str, arguments: str | Mapping[str, Json]) -> str:
        """The answer to a call of ``tool``, as JSON text; one with ``error`` says what to do next.

        ``arguments`` may be the raw text the model wrote. Raises ``StoreError`` when the
        workspace fails, and ``KeyError`` when ``tool`` is not a workspace tool.
        """
        WORKSPACE_TOOLS[tool]
        values = _arguments(arguments)
        if values is None:
            return dump_exact(bad_arguments("the arguments are not a JSON object"))
        if tool in READER_TOOLS:
            answer = answer_read(tool, values, self._workspace.read, self._call, self._max_bytes)
        else:
            answer = self._write(values)
        return dump_exact(answer)

    def _call(self, call_id: str) -> PastCall | None:
        return find_call(self._record(), call_id)

    def _write(self, arguments: Mapping[str, Json]) -> JsonObject:
        name, content = arguments.get("name"), arguments.get("content")
        if not isinstance(name, str):
            return bad_arguments("'name' must be text")
        if content is None:
            return bad_arguments("'content' is missing")
        text = content if isinstance(content, str) else dump_exact(content)
        try:
            clean_label(name)
            sha256 = content_hash(text)
            ref = make_ref(self._workspace.session, self._key, sha256)
            self._workspace.put(ref, sha256, text, _media(text))
            self._workspace.label(name, ref)
        except LabelError as error:
            return {"error": "name_refused", "name": name, "hint": str(error)}
        return written(text, ref)


def is_error(answer: str) -> bool:
    """Whether an answer of ``execute`` tells of an error rather than content."""
    return answer.startswith('{"error":')


def _arguments(arguments: str | Mapping[str, Json]) -> Mapping[str, Json] | None:
    if not isinstance(arguments, str):
        return arguments
    try:
        values = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


def _media(text: str) -> str:
    """JSON is told from its content, so that ``export`` gives it its ending."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return "text/plain"
        return "application/json"
    return "text/plain"
