"""A well-behaved MCP server by the official SDK: over stdio as a program, or over HTTP.

sdk_server.py [--tools N]
"""

from __future__ import annotations

import argparse
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mcp.server.mcpserver import MCPServer


def server(tools: int) -> MCPServer:
    """``greet`` and as many numbered tools as are asked for."""
    made = MCPServer("polite")

    @made.tool()
    def greet(name: str, times: int = 1) -> str:
        """Greet somebody by name."""
        return " ".join([f"hello {name}"] * times)

    @made.tool()
    def fail(reason: str) -> str:
        """Fail for a reason."""
        raise ValueError(reason)

    @made.tool()
    def sleep(seconds: float) -> str:
        """Sleep, then say so."""
        time.sleep(seconds)
        return f"slept {seconds}"

    def shout(q: str) -> str:
        return f"{q}!"

    for number in range(tools):
        made.add_tool(shout, name=f"tool_{number}", description=f"Shout, number {number}.")
    return made


@contextmanager
def serving_http(tools: int = 0, port: int = 0) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """The address of a server that runs while the block does, and the headers it was sent."""
    import uvicorn

    seen: list[dict[str, str]] = []
    app = server(tools).streamable_http_app()

    async def noting(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            seen.append({key.decode(): value.decode() for key, value in scope["headers"]})
        await app(scope, receive, send)

    if not port:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
    config = uvicorn.Config(
        noting, host="127.0.0.1", port=port, log_level="error", timeout_graceful_shutdown=1
    )
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    until = time.monotonic() + 20
    while not running.started and time.monotonic() < until:
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{port}/mcp", seen
    finally:
        running.should_exit = True
        thread.join(timeout=10)


def main() -> None:
    """Serve over stdio until stdin closes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tools", type=int, default=0)
    server(parser.parse_args().tools).run("stdio")


if __name__ == "__main__":
    main()
