"""Anthropic's Messages API on 127.0.0.1: refuses bad cache marks, reports a cache in its usage."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USAGE = {
    "input_tokens": 206,
    "output_tokens": 78,
    "cache_read_input_tokens": 98432,
    "cache_creation_input_tokens": 1000,
}


class AnthropicStub(ThreadingHTTPServer):
    """``requests`` are the bodies seen."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Messages)
        self.requests: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def serving_anthropic() -> Iterator[AnthropicStub]:
    """A stub that runs while the block does."""
    server = AnthropicStub()
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def marks_of(node: Any) -> list[dict[str, Any]]:
    """Every block that carries a mark, in the order of the wire: tools, system, messages."""
    if isinstance(node, list):
        return [block for item in node for block in marks_of(item)]
    if not isinstance(node, dict):
        return []
    own = [node] if node.get("cache_control") else []
    order = ("tools", "system", "messages")
    keys = sorted(node, key=lambda key: order.index(key) if key in order else len(order))
    return own + [block for key in keys for block in marks_of(node[key])]


def problems_of(body: dict[str, Any]) -> list[str]:
    """What the real API refuses about marks and texts."""
    marks = marks_of(body)
    empty = [block for block in marks if block.get("type") == "text" and not block["text"].strip()]
    contents = [message["content"] for message in body["messages"]]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    blank = [block for block in blocks if block.get("type") == "text" and not block["text"].strip()]
    checks = (
        (len(marks) > 4, f"{len(marks)} blocks with cache_control, at most 4"),
        (bool(empty), "cache_control cannot be set for empty text blocks"),
        (bool(blank), "text content blocks must be non-empty"),
    )
    return [text for wrong, text in checks if wrong]


class _Messages(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: AnthropicStub

    def log_message(self, *args: Any) -> None:
        """Tests read ``requests`` instead."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        problems = problems_of(body)
        self.server.requests.append(body)
        if problems:
            error = {"type": "invalid_request_error", "message": "; ".join(problems)}
            self._send(400, {"type": "error", "error": error})
            return
        text = [{"type": "text", "text": "done"}]
        answer = {"id": "m1", "type": "message", "role": "assistant", "content": text}
        answer |= {"model": body["model"], "stop_reason": "end_turn", "usage": USAGE}
        self._send(200, answer)

    def _send(self, status: int, value: dict[str, Any]) -> None:
        payload = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)
