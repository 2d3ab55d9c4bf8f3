"""An MCP server over stdio that does one thing wrong, written down to the bytes.

    hostile_mcp.py MODE [--log FILE] [--delay SECONDS] [--name NAME]

It speaks newline-delimited JSON-RPC without the SDK, which would not let it misbehave. Modes:

    pages      7 tools (t1 to t7) in pages of 3, 3 and 1
    stuck      2 tools (s1, s2) and always the same cursor
    schemas    'add' beside five tools whose input schemas are wrong in five ways
    names      names that providers refuse: dots, Chinese, 80 characters, one that is taken twice
    image      'screenshot' answers a text and a PNG, mirrored in its structured content
    noisy      prints on stdout between messages, some of it not UTF-8
    dies       'work' ends the server; started again, it works
    stalls     'work' never answers
    sleeps     'work' stops the server from reading anything more
    mute       never answers anything
    children   starts a process that outlives it
    grows      'more' adds a tool and says that the list has changed
    slow       waits before it answers the first message
    tells      says the value of DESK_TOKEN in its description, its schema and its answers
    leaves     says why on stderr and ends, before it has answered anything
    chatty     writes 2 MB to its stderr before it starts and at every call
    marked     begins with a byte order mark and ends its lines as Windows does
    nameless   forgets its name, what it can do, and the version in its messages
    refuses    answers a call with an error under the code that the SDK uses for a lost connection
    halves     answers half a character, as JavaScript cuts an emoji
    nothing    answers a call with null
    beside     answers a short text and, as structured content only, the rows it is about
    prompts    knows no tools
    crowd      16 tools, one of them 'tool_search', one 'fetch'
    shrinks    12 tools; 'tool_03' takes itself and two others from the list
    swells     1 tool, 'more', which adds 11 at each call
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

NOTHING = {"type": "object", "properties": {}}
NUMBERS = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
WRONG = {
    "title_lookup": {"type": "string", "description": "the title"},
    "by_ids": {"type": "object", "properties": {"ids": {"type": "array"}}},
    "either": {
        "anyOf": [
            {"type": "object", "properties": {"a": {"type": "string"}}},
            {"type": "object", "properties": {"b": {"type": "string"}}},
        ]
    },
    "no_schema": None,
    "no_properties": {"type": "object"},
}
NUMBERED = tuple(f"tool_{number:02}" for number in range(99))
NAMES = ("files.read", "查询订单", "x" * 80, "plain", "plain")


def picture(width: int = 256, height: int = 256) -> bytes:
    """A PNG of noise, which does not compress: about 192 KB."""
    rng = random.Random(7)
    rows = b"".join(b"\0" + rng.randbytes(width * 3) for _ in range(height))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class Server:
    """One server in one mode."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.mode: str = arguments.mode
        self.name: str = arguments.name
        self.log: Path | None = arguments.log
        self.delay: float = arguments.delay
        self.grown = 0

    def serve(self) -> None:
        if self.mode == "leaves":
            sys.stderr.write("usage: desk --token TOKEN\nerror: no token was given\n")
            sys.exit(3)
        if self.mode == "chatty":
            sys.stderr.write("debugging\n" * 200_000)
        if self.mode == "marked":
            sys.stdout.write("\ufeff")
        if self.mode == "children":
            subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)
        for line in sys.stdin:
            request = json.loads(line)
            if self.mode == "noisy":
                sys.stdout.buffer.write(b'loading \xff\xfe ...\n\n{"not": "a message"}\n')
                sys.stdout.flush()
            if "id" in request and self.mode != "mute":
                self.answer(request["id"], request["method"], request.get("params") or {})

    def answer(self, call: Any, method: str, params: dict[str, Any]) -> None:
        self.note(f"{method} {params.get('cursor', params.get('name', ''))}")
        if method == "initialize":
            time.sleep(self.delay)
            about = {"name": self.name, "version": "1"}
            result: dict[str, Any] = {"protocolVersion": "2025-06-18", "serverInfo": about}
            if self.mode == "nameless":
                del result["serverInfo"]
            else:
                result["capabilities"] = {"tools": {"listChanged": True}}
            self.send(call, result)
        elif method == "tools/list" and self.mode != "prompts":
            self.send(call, self.listed(params.get("cursor")))
        elif method == "tools/call":
            self.call(call, params)
        else:
            error = {"code": -32601, "message": f"no method {method}"}
            self.write({"jsonrpc": "2.0", "id": call, "error": error})

    def listed(self, cursor: str | None) -> dict[str, Any]:
        if self.mode == "pages":
            pages = {None: ("t1 t2 t3", "two"), "two": ("t4 t5 t6", "three"), "three": ("t7", None)}
            names, following = pages[cursor]
            page = {"tools": [tool(name) for name in names.split()]}
            return page if following is None else page | {"nextCursor": following}
        if self.mode == "stuck":
            return {"tools": [tool("s1"), tool("s2")], "nextCursor": "again"}
        if self.mode == "schemas":
            return {"tools": [tool("add", NUMBERS), *(tool(n, s) for n, s in WRONG.items())]}
        if self.mode == "names":
            return {"tools": [tool(name) for name in NAMES]}
        if self.mode == "tells":
            key = os.environ["DESK_TOKEN"]
            hint = {"type": "string", "description": f"not {key}"}
            told = tool("work", {"type": "object", "properties": {"q": hint}})
            return {"tools": [told | {"description": f"uses {key}"}]}
        numbered = {
            "crowd": ("tool_search", "fetch", *NUMBERED[:14]),
            "shrinks": NUMBERED[:3] + NUMBERED[6:12] if self.grown else NUMBERED[:12],
            "swells": ("more", *NUMBERED[: 11 * self.grown]),
        }
        if self.mode in numbered:
            return {"tools": [tool(name) for name in numbered[self.mode]]}
        names = {"image": "screenshot", "grows": "more", "slow": f"{self.name}_tool"}
        tools = [tool(names.get(self.mode, "work"))]
        return {"tools": [*tools, tool("grown")] if self.grown else tools}

    def call(self, call: Any, params: dict[str, Any]) -> None:
        if self.mode == "stalls":
            return
        if self.mode == "sleeps":
            time.sleep(600)
        if (
            self.mode == "dies"
            and self.log is not None
            and not (died := Path(f"{self.log}.died")).exists()
        ):
            died.write_text("once", encoding="utf-8")
            os._exit(3)
        if self.mode == "grows" and not self.grown:
            self.grown = 1
            self.write({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        if self.mode == "swells" or params["name"] == "tool_03":
            self.grown += 1
            self.write({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        if self.mode == "chatty":
            sys.stderr.write("working\n" * 200_000)
        if self.mode == "refuses":
            error = {"code": -32000, "message": "quota of the desk used up"}
            self.write({"jsonrpc": "2.0", "id": call, "error": error})
            return
        if self.mode in ("halves", "nothing"):
            text = {"content": [{"type": "text", "text": "sent \ud83d to you"}]}
            self.send(call, text if self.mode == "halves" else None)
            return
        if self.mode == "beside":
            told = [{"type": "text", "text": "1 row found."}]
            self.send(call, {"content": told, "structuredContent": {"rows": [{"id": "r-4711"}]}})
            return
        if self.mode == "image":
            data = base64.b64encode(picture()).decode()
            blocks = [
                {"type": "text", "text": "captured 256x256"},
                {"type": "image", "data": data, "mimeType": "image/png"},
            ]
            self.send(call, {"content": blocks, "structuredContent": {"result": blocks}})
            return
        key = os.environ.get("DESK_TOKEN", "")
        told = {
            "server": self.name + key,
            "tool": params["name"],
            "arguments": params.get("arguments"),
        }
        text = json.dumps(told, ensure_ascii=False)
        self.send(call, {"content": [{"type": "text", "text": text}], "isError": False})

    def send(self, call: Any, result: dict[str, Any] | None) -> None:
        self.write({"jsonrpc": "2.0", "id": call, "result": result})

    def write(self, message: dict[str, Any]) -> None:
        if self.mode == "nameless":
            del message["jsonrpc"]
        end = "\r\n" if self.mode == "marked" else "\n"
        sys.stdout.write(json.dumps(message) + end)
        sys.stdout.flush()

    def note(self, text: str) -> None:
        if self.log is not None:
            with self.log.open("a", encoding="utf-8") as out:
                out.write(text.strip() + "\n")


def tool(name: str, schema: Any = NOTHING) -> dict[str, Any]:
    """One entry of a list of tools."""
    return {"name": name, "description": f"what {name} does", "inputSchema": schema}


def main() -> None:
    """Serve until stdin closes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("mode")
    parser.add_argument("--name", default="hostile")
    parser.add_argument("--log", type=Path)
    parser.add_argument("--delay", type=float, default=0.0)
    Server(parser.parse_args()).serve()


if __name__ == "__main__":
    main()
