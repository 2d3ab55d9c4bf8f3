"""A loopback server that answers as OpenAI chat, OpenAI Responses and Anthropic Messages do.

Whole and streamed. It asks for the tool ``look_up`` once, then answers with text. It keeps the
bodies it saw, so that a test can compare what was sent with what was recorded.
"""

from __future__ import annotations

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

ARGUMENTS = '{"order": "SO-1009", "名前": "山田"}'
ANSWER = "Order SO-1009 is paid. 订单已付款 ✅"


class TwoProviders(ThreadingHTTPServer):
    """Started in a ``with`` block; ``url`` is its address, ``bodies`` what was asked, in order.

    The next ``fail_next`` requests are refused, with the caller's key in the error's text.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[dict[str, Any]] = []
        self.fail_next = 0
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: TwoProviders

    def log_message(self, *_: object) -> None:
        """Silent."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.bodies.append(body)
        if self.server.fail_next:
            self.server.fail_next -= 1
            secret = self.headers.get("authorization") or self.headers.get("x-api-key")
            self._send(400, {"error": {"message": f"no such model; your key is {secret}"}})
        elif self.path.endswith("/responses"):
            self._send(200, _responses(body))
        elif self.path.endswith("/messages"):
            self._anthropic(body)
        else:
            self._openai(body)

    def _openai(self, body: dict[str, Any]) -> None:
        if body.get("stream"):
            self._stream([("", chunk) for chunk in _openai_chunks(body)], done=True)
            return
        usage: dict[str, Any] = {"prompt_tokens": 40, "completion_tokens": 9, "total_tokens": 49}
        usage["prompt_tokens_details"] = {"cached_tokens": 16}
        choice = {"index": 0, "message": _openai_message(body), "finish_reason": "stop"}
        self._send(200, {**_OPENAI_HEAD, "choices": [choice], "usage": usage})

    def _anthropic(self, body: dict[str, Any]) -> None:
        if body.get("stream"):
            self._stream(_anthropic_events(body), done=False)
            return
        usage = {"input_tokens": 24, "output_tokens": 9, "cache_read_input_tokens": 16}
        reply = {**_ANTHROPIC_HEAD, "content": _anthropic_blocks(body), "usage": usage}
        self._send(200, reply, zipped=True)

    def _send(self, status: int, value: Any, *, zipped: bool = False) -> None:
        data = json.dumps(value, ensure_ascii=False).encode()
        self.send_response(status)
        if zipped:
            data = gzip.compress(data)
            self.send_header("content-encoding", "gzip")
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: list[tuple[str, Any]], *, done: bool) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for name, event in events:
            head = f"event: {name}\n" if name else ""
            text = f"{head}data: {json.dumps(event, ensure_ascii=False)}\n\n"
            self.wfile.write(text.encode())
        if done:
            self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True


_OPENAI_HEAD = {"id": "c-1", "object": "chat.completion", "created": 1, "model": "stub-1"}
_ANTHROPIC_HEAD = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-stub",
    "stop_reason": "end_turn",
    "stop_sequence": None,
}


def _answered(body: dict[str, Any]) -> bool:
    return "settled" in json.dumps(body.get("messages") or body.get("input"))


def _openai_message(body: dict[str, Any]) -> dict[str, Any]:
    if _answered(body):
        return {"role": "assistant", "content": ANSWER, "refusal": None}
    function = {"name": "look_up", "arguments": ARGUMENTS}
    call = {"id": "call_1", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _openai_chunks(body: dict[str, Any]) -> list[dict[str, Any]]:
    message = _openai_message(body)
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    if message["content"]:
        deltas += [{"content": letter} for letter in message["content"]]
    else:
        call = {"index": 0, "id": "call_1", "type": "function"}
        deltas.append({"tool_calls": [{**call, "function": {"name": "look_up", "arguments": ""}}]})
        for start in range(0, len(ARGUMENTS), 5):
            function = {"arguments": ARGUMENTS[start : start + 5]}
            deltas.append({"tool_calls": [{"index": 0, "function": function}]})
    head = {**_OPENAI_HEAD, "object": "chat.completion.chunk"}
    chunks = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in deltas
    ]
    chunks.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    usage = {"prompt_tokens": 40, "completion_tokens": 9, "total_tokens": 49}
    chunks.append({**head, "choices": [], "usage": usage})
    return chunks


def _anthropic_blocks(body: dict[str, Any]) -> list[dict[str, Any]]:
    if _answered(body):
        return [{"type": "text", "text": ANSWER}]
    call = {"type": "tool_use", "id": "toolu_1", "name": "look_up", "input": json.loads(ARGUMENTS)}
    return [{"type": "text", "text": "I look it up."}, call]


def _anthropic_events(body: dict[str, Any]) -> list[tuple[str, Any]]:
    usage = {"input_tokens": 24, "output_tokens": 1, "cache_read_input_tokens": 16}
    start = {**_ANTHROPIC_HEAD, "stop_reason": None, "content": [], "usage": usage}
    events: list[Any] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(_anthropic_blocks(body)):
        text = block["type"] == "text"
        empty = {"text": ""} if text else {"input": {}}
        opened = {**block, **empty}
        events.append({"type": "content_block_start", "index": index, "content_block": opened})
        whole = block["text"] if text else ARGUMENTS
        for at in range(0, len(whole), 4):
            piece = whole[at : at + 4]
            delta: dict[str, Any] = {"type": "text_delta", "text": piece}
            if not text:
                delta = {"type": "input_json_delta", "partial_json": piece}
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    ending = {"stop_reason": "end_turn", "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ending, "usage": {"output_tokens": 9}})
    events.append({"type": "message_stop"})
    return [(event["type"], event) for event in events]


def _responses(body: dict[str, Any]) -> dict[str, Any]:
    usage = {"input_tokens": 40, "output_tokens": 9, "total_tokens": 49}
    usage |= {"input_tokens_details": {"cached_tokens": 16}}
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "status": "completed"}
    output: list[Any] = [{**call, "name": "look_up", "arguments": ARGUMENTS}]
    if _answered(body):
        part = {"type": "output_text", "text": ANSWER, "annotations": []}
        message = {"type": "message", "id": "m_1", "role": "assistant", "status": "completed"}
        output = [{**message, "content": [part]}]
    head = {"id": f"resp_{len(json.dumps(body))}", "object": "response", "created_at": 1}
    fixed = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    return {**head, "model": "stub-1", "output": output, "usage": usage, **fixed}
