"""A provider on 127.0.0.1 that searches deferred tools itself: Anthropic's and OpenAI's form.

``POST /v1/messages`` and ``POST /v1/responses`` each answer from their own list of blocks or items,
one entry a request (None: HTTP 500); ``requests`` are the bodies seen, ``betas`` the beta header of
each. What the real APIs refuse about deferred tools is refused with 400.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Block = dict[str, Any]
USAGE = {"input_tokens": 400, "output_tokens": 20}


class SearchingProvider(ThreadingHTTPServer):
    """``answers`` are the contents of the next answers, first in, first out."""

    daemon_threads = True

    def __init__(self, answers: list[list[Block] | None]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = answers
        self.requests: list[Block] = []
        self.betas: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def searching(answers: list[list[Block] | None]) -> Iterator[SearchingProvider]:
    """A provider that runs while the block does."""
    server = SearchingProvider(answers)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def anthropic_found(name: str, arguments: Block, number: int = 1) -> list[Block]:
    """A search that found ``name``, and a call of it, in one answer."""
    search, call = f"srvtoolu_{number}", f"toolu_{number}"
    reference = {"type": "tool_reference", "tool_name": name}
    result = {"type": "tool_search_tool_search_result", "tool_references": [reference]}
    query = {"query": name}
    return [
        {"type": "server_tool_use", "id": search, "name": "tool_search_tool_bm25", "input": query},
        {"type": "tool_search_tool_result", "tool_use_id": search, "content": result},
        {"type": "tool_use", "id": call, "name": name, "input": arguments},
    ]


def openai_found(name: str, arguments: Block, number: int = 1) -> list[Block]:
    """The same in OpenAI's form."""
    tool = {"type": "function", "name": name, "description": "", "defer_loading": True}
    tool |= {"parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}
    done = {"execution": "server", "call_id": None, "status": "completed"}
    call = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}"}
    call |= {"name": name, "arguments": json.dumps(arguments), "status": "completed"}
    return [
        {"type": "tool_search_call", "id": f"tsc_{number}", "arguments": {"paths": [name]}, **done},
        {"type": "tool_search_output", "id": f"tso_{number}", "tools": [tool], **done},
        call,
    ]


def _problems(body: Block) -> list[str]:
    tools = body.get("tools") or []
    deferred = [tool for tool in tools if tool.get("defer_loading")]
    searches = [tool for tool in tools if str(tool.get("type", "")).startswith("tool_search")]
    checks = (
        (bool(deferred) and not searches, "deferred tools without a tool search"),
        (bool(deferred) and len(deferred) == len(tools), "at least one tool must not be deferred"),
        (any("cache_control" in tool for tool in deferred), "cache_control on a deferred tool"),
    )
    return [text for wrong, text in checks if wrong]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: SearchingProvider

    def log_message(self, *args: Any) -> None:
        """Tests read ``requests`` instead."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append(body)
        self.server.betas.append(self.headers.get("anthropic-beta", ""))
        problems = _problems(body)
        if problems:
            self._send(400, {"type": "error", "error": {"message": "; ".join(problems)}})
        elif self.server.answers[:1] == [None]:
            self.server.answers.pop(0)
            self._send(500, {"type": "error", "error": {"type": "api_error", "message": "down"}})
        elif self.path.endswith("/responses"):
            self._send(200, self._response(body))
        else:
            self._send(200, self._message(body))

    def _message(self, body: Block) -> Block:
        content = self.server.answers.pop(0) if self.server.answers else []
        content = content or [{"type": "text", "text": "done"}]
        called = any(block["type"] == "tool_use" for block in content)
        answer = {"id": "m1", "type": "message", "role": "assistant", "model": body["model"]}
        stop = "tool_use" if called else "end_turn"
        return answer | {"content": content, "stop_reason": stop, "usage": USAGE}

    def _response(self, body: Block) -> Block:
        text = {"type": "output_text", "text": "done", "annotations": []}
        said = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
        output = self.server.answers.pop(0) if self.server.answers else []
        answer = {"id": "r1", "object": "response", "created_at": 1, "status": "completed"}
        answer |= {"model": body["model"], "output": output or [said | {"content": [text]}]}
        answer |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "metadata": {}}
        return answer | {"usage": USAGE | {"total_tokens": 420}, "error": None}

    def _send(self, status: int, value: Block) -> None:
        payload = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)
