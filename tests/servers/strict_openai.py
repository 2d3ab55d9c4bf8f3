"""A strict OpenAI-compatible chat server on 127.0.0.1, answering from a script.

It refuses what strict providers refuse (see ``problems_of``), so a client that passes here sends
valid requests. A script line is one of

    {"message": {...}, "finish_reason"?, "usage"?}   answered whole, or as events if so asked
    {"status": 429, "error": {...}}                  an error
    {"raw": "text"}                                  status 200 and that body, whatever it is
    {"hang_up": true}                                the connection closes without an answer

each with optional ``headers``, ``delay`` (seconds), ``when`` (only for a request whose body
contains the text) and ``repeat`` (stays in the script). An exhausted script answers "done". Streams
take ``chunk_delay``, ``break_stream`` (after the first text) and ``no_usage``. Run as a program it
prints its port and serves until ended:  strict_openai.py [SCRIPT] [--log FILE]
"""

from __future__ import annotations

import argparse
import json
import re
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Line = dict[str, Any]


class StrictServer(ThreadingHTTPServer):
    """``requests`` are the bodies seen, with the problems found and the status answered."""

    daemon_threads = True

    def __init__(self, script: Iterable[Line] = (), log: Path | None = None, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Chat)
        self.script = list(script)
        self.requests: list[Line] = []
        self.log = log
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away (a timeout under test) is no news."""

    def answer_for(self, raw: str) -> Line:
        """The first script line that applies; used up unless it repeats."""
        for place, line in enumerate(self.script):
            if line.get("when", "") in raw:
                return line if line.get("repeat") else self.script.pop(place)
        return {"message": {"role": "assistant", "content": "done"}}

    def seen(self, entry: Line) -> None:
        self.requests.append(entry)
        if self.log is not None:
            with self.log.open("a", encoding="utf-8") as out:
                out.write(json.dumps(entry, ensure_ascii=False) + "\n")


@contextmanager
def serving(script: Iterable[Line] = ()) -> Iterator[StrictServer]:
    """A server that runs while the block does."""
    server = StrictServer(script)
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    )
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


_NAME = re.compile("[a-zA-Z0-9_-]{1,64}")


def problems_of(body: Line) -> list[str]:
    """Everything a strict provider would refuse in a chat request, as sentences."""
    return [*_schema_problems(body), *_pairing_problems(body), *_mark_problems(body)]


def _schema_problems(body: Line) -> Iterator[str]:
    for tool in body.get("tools") or []:
        function = tool.get("function") or {}
        name, schema = function.get("name"), function.get("parameters")
        if not _NAME.fullmatch(name or ""):
            yield f"the name {name!r} of a tool must match {_NAME.pattern}"
        if schema is None:
            continue
        if not isinstance(schema, dict) or schema.get("type") != "object":
            yield f"schema of {name!r} must be of type object"
            continue
        if {"oneOf", "anyOf", "allOf"} & schema.keys():
            yield f"schema of {name!r}: oneOf, anyOf and allOf are not supported at the top"
        yield from _arrays_without_items(schema, str(name))


def _arrays_without_items(schema: Any, path: str) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "array" and "items" not in schema:
        yield f"array schema without items at {path}"
    for key, inner in (schema.get("properties") or {}).items():
        yield from _arrays_without_items(inner, f"{path}.{key}")
    yield from _arrays_without_items(schema.get("items"), f"{path}[]")


def _pairing_problems(body: Line) -> Iterator[str]:
    messages = body.get("messages") or []
    if all(message.get("role") == "system" for message in messages):
        yield "messages: at least one message that is not a system message is required"
    open_ids: list[Any] = []
    for place, message in enumerate([*messages, {"role": "end"}]):
        if message["role"] == "tool":
            if message.get("tool_call_id") in open_ids:
                open_ids.remove(message["tool_call_id"])
            else:
                yield f"messages[{place}]: answers no preceding call"
            continue
        if open_ids:
            yield f"messages[{place}]: calls without a result: {open_ids}"
        calls = message.get("tool_calls") or []
        open_ids = [call.get("id") for call in calls]
        if len(set(open_ids)) < len(open_ids):
            yield f"messages[{place}]: the same call id twice"
        for call in calls:
            if not _NAME.fullmatch(call["function"].get("name") or ""):
                yield f"messages[{place}]: a call's name must match {_NAME.pattern}"
            if not _is_object(call["function"].get("arguments")):
                yield f"messages[{place}]: arguments must be a JSON object string"


def _is_object(text: Any) -> bool:
    try:
        return isinstance(text, str) and isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _mark_problems(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if node.get("cache_control"):
            if node.get("type") == "text" and not str(node.get("text") or "").strip():
                yield "cache_control on an empty text block"
            if "content" in node and node["content"] in ("", None, []):
                yield "cache_control on an empty message"
        for value in node.values():
            yield from _mark_problems(value)
    elif isinstance(node, list):
        for value in node:
            yield from _mark_problems(value)


class _Chat(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: StrictServer

    def log_message(self, *args: Any) -> None:
        """Tests read ``requests`` instead."""

    def do_GET(self) -> None:
        self._send(200, json.dumps({"object": "list", "data": [{"id": "stub", "object": "model"}]}))

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0)).decode("utf-8")
        body = json.loads(raw)
        problems = problems_of(body)
        with self.server.lock:
            if problems:
                line: Line = {"status": 400, "error": {"message": "; ".join(problems)}}
            else:
                line = self.server.answer_for(json.dumps(body, ensure_ascii=False))
            status = line.get("status", 200)
            entry = {"path": self.path, "body": body, "problems": problems, "status": status}
            self.server.seen({**entry, "authorization": self.headers.get("authorization", "")})
            number = len(self.server.requests)
        time.sleep(line.get("delay") or 0)
        self._answer(line, body, number)

    def _answer(self, line: Line, body: Line, number: int) -> None:
        headers = line.get("headers") or {}
        if line.get("hang_up"):
            self.close_connection = True
            return
        if "raw" in line:
            self._send(200, line["raw"], headers)
        elif line.get("status", 200) != 200:
            error = line.get("error") or {"message": "error", "type": "stub"}
            self._send(line["status"], json.dumps({"error": error}), headers)
        elif body.get("stream"):
            self._stream(line, body, number)
        else:
            self._send(200, json.dumps(_completion(line, body, number)), headers)

    def _send(self, status: int, text: str, headers: dict[str, Any] | None = None) -> None:
        payload = text.encode("utf-8")
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(payload)))
        for name, value in (headers or {}).items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(payload)

    def _stream(self, line: Line, body: Line, number: int) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for chunk in _chunks(line, body, number):
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            self.wfile.flush()
            time.sleep(line.get("chunk_delay") or 0)
            if (
                line.get("break_stream")
                and chunk["choices"]
                and chunk["choices"][0]["delta"].get("content")
            ):
                return
        self.wfile.write(b"data: [DONE]\n\n")


def _usage(line: Line, body: Line) -> Line:
    size = len(json.dumps(body)) // 4
    return line.get("usage") or {
        "prompt_tokens": size,
        "completion_tokens": 5,
        "total_tokens": size + 5,
    }


def _finish(line: Line) -> str:
    calls = line.get("message", {}).get("tool_calls")
    return line.get("finish_reason") or ("tool_calls" if calls else "stop")


def _completion(line: Line, body: Line, number: int) -> Line:
    message = {"role": "assistant", "content": None, **line.get("message", {})}
    choices = [{"index": 0, "message": message, "finish_reason": _finish(line)}]
    return {
        "id": f"stub-{number}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": body.get("model", "stub"),
        "choices": [] if line.get("no_choices") else choices,
        "usage": _usage(line, body),
    }


def _chunks(line: Line, body: Line, number: int) -> Iterator[Line]:
    base = {"id": f"stub-{number}", "object": "chat.completion.chunk", "created": 1_700_000_000}
    base["model"] = body.get("model", "stub")
    message = line.get("message", {})

    def chunk(delta: Line, finish: str | None = None) -> Line:
        return {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant"})
    text = message.get("content") or ""
    for start in range(0, len(text), 5):
        yield chunk({"content": text[start : start + 5]})
    for place, call in enumerate(message.get("tool_calls") or []):
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        head = {"index": place, "id": call["id"], "type": "function"}
        yield chunk({"tool_calls": [{**head, "function": {"name": name, "arguments": ""}}]})
        for start in range(0, len(arguments), 7):
            part = {"index": place, "function": {"arguments": arguments[start : start + 7]}}
            yield chunk({"tool_calls": [part]})
    yield chunk({}, _finish(line))
    wanted = (body.get("stream_options") or {}).get("include_usage")
    if wanted and not line.get("no_usage"):
        yield {**base, "choices": [], "usage": _usage(line, body)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("script", nargs="?", type=Path)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args()
    text = given.script.read_text(encoding="utf-8") if given.script else ""
    server = StrictServer(
        (json.loads(line) for line in text.splitlines() if line.strip()), given.log, given.port
    )
    print(server.server_address[1], flush=True)  # the caller reads the port
    server.serve_forever()


if __name__ == "__main__":
    main()
