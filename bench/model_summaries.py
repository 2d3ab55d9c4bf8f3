"""Summaries of a recorded session by a real small model over HTTP: are they valid, do they fit.

    python bench/model_summaries.py --data ../shared/data [--points 60,120,240] [--json]

The session is cut at several points; at each one ``contextctl run`` goes on with it, compacts all
but the last steps, and asks the model for the summary. Between contextctl and the model stands a
proxy on 127.0.0.1 that looks at every request and answer: whether it was refused as too large, how
near it came to the model's window, whether the answer is a summary by its schema. Without ``--url``
the server of ``tests/servers/local_model.py`` is started (``make local-model`` installs it); its
words are nonsense, so only form and counts are looked at.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from contextctl.model.history_summary import summary_from_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
SESSION = "01_trajectories/openai/pi_sessions.jsonl"
PROFILE = """\
version: 1
name: session
model: {{name: scripted/replies.jsonl, window: 1000000, reserve_output: 1000}}
compaction:
  when: {{every_steps: 3}}
  protect_steps: 5
  summarizer:
    kind: model
    model: {model}
    api_base: {url}
    window: {window}
    max_tokens: {max_tokens}
    chunk_tokens: {chunk}
plan: {{enabled: false}}
"""


@dataclass
class Seen:
    """What went through the proxy."""

    requests: int = 0
    refused: list[str] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)
    cut: int = 0
    largest: int = 0


def main(argv: Sequence[str] | None = None) -> int:
    """Parse, measure, print. The exit code is 1 when a request was refused as too large."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the shared data")
    parser.add_argument("--points", default="60,120,240", help="where the session is cut")
    parser.add_argument("--url", help="an OpenAI-compatible server, else a local one is started")
    parser.add_argument("--model", default="local/smollm2", help="its model")
    parser.add_argument("--window", type=int, default=2048, help="the model's window in tokens")
    parser.add_argument("--max-tokens", type=int, default=200, help="of one summary")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    args = parser.parse_args(argv)
    messages = json.loads((args.data / SESSION).read_text("utf-8").splitlines()[0])["messages"]
    points = [int(point) for point in args.points.split(",")]
    with ExitStack() as stack:
        url = args.url or stack.enter_context(_local(args.window))
        seen = Seen()
        proxy = stack.enter_context(watched(url, seen))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        out = measured(args, folder, messages, points, proxy)
    out |= {"requests": seen.requests, "refused": len(seen.refused), "cut": seen.cut}
    out |= {"invalid": len(seen.invalid), "largest_request": seen.largest, "window": args.window}
    print(json.dumps(out, ensure_ascii=False) if args.json else text(out))
    return 1 if seen.refused or not out["verified"] else 0


def measured(
    args: argparse.Namespace, folder: Path, messages: list[Any], points: list[int], url: str
) -> dict[str, Any]:
    """A run with one task for each point, and what its audit and ledger say."""
    profile = PROFILE.format(
        model=args.model,
        url=url,
        window=args.window,
        max_tokens=args.max_tokens,
        chunk=args.window // 2,
    )
    asked = {"role": "user", "content": "go on"}
    tasks = [{"id": f"at-{n}", "messages": [*up_to(messages, n), asked]} for n in points]
    put = {"profile.yaml": profile, "replies.jsonl": '{"content": "ok", "repeat": true}\n'}
    put["tasks.jsonl"] = "".join(json.dumps(task, ensure_ascii=False) + "\n" for task in tasks)
    for name, content in put.items():
        (folder / name).write_text(content, "utf-8")
    started = time.monotonic()
    contextctl(folder, "run", "profile.yaml", "tasks.jsonl", "--out", "run")
    seconds = round(time.monotonic() - started, 1)
    audit = json.loads(contextctl(folder, "audit", "ls", "run", "--format", "json"))
    rows = [row for row in audit["compactions"] if row["outcome"] == "committed"]
    ledgers = {
        task["id"]: json.loads(
            (folder / "run/tasks" / task["id"] / "ledger.jsonl").read_text("utf-8").splitlines()[-1]
        )
        for task in tasks
    }
    verified = contextctl(folder, "audit", "verify", "run").strip()
    results = (folder / "run/results.jsonl").read_text("utf-8").splitlines()
    spent = [json.loads(line)["tokens"].get("summary_input", 0) for line in results]
    return {
        "seconds": seconds,
        "compactions": [
            {
                "task": row["thread_id"],
                "by": row["by"],
                "fallback": row["fallback"],
                "before": row["tokens_before"],
                "after": row["tokens_after"],
                **row["usage"],
                "in_ledger": ledgers[row["thread_id"]]["measured"].get("summary") == row["usage"],
            }
            for row in sorted(rows, key=lambda row: int(row["tokens_before"]))
        ],
        "summary_input": sum(spent),
        "verified": verified.splitlines()[-1] if "verified" in verified else "",
    }


def up_to(messages: list[Any], point: int) -> list[Any]:
    """The first ``point`` messages, and those up to the next message of the user."""
    users = (at for at, one in enumerate(messages) if one["role"] == "user" and at >= point)
    return messages[: next(users, len(messages))]


def contextctl(folder: Path, *words: str) -> str:
    """Run the command in ``folder`` and return what it printed."""
    command = [sys.executable, "-c", "from contextctl.cli.app import main; main()", *words]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}  # as it stands here, installed or not
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(words)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


@contextmanager
def watched(url: str, seen: Seen) -> Iterator[str]:
    """A server that passes everything on to ``url`` and notes what it sees."""
    lock, server_at = threading.Lock(), urlsplit(url)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            path = server_at.path.rstrip("/") + self.path.removeprefix("/v1")
            connection = HTTPConnection(server_at.hostname or "", server_at.port)
            try:
                connection.request("POST", path, body, {"Content-Type": "application/json"})
                response = connection.getresponse()
                status, answer = response.status, response.read()
            finally:
                connection.close()
            with lock:
                _look(seen, status, answer)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_words: object) -> None:
            """Nothing on stderr."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()


def _look(seen: Seen, status: int, answer: bytes) -> None:
    seen.requests += 1
    if status != 200:
        seen.refused.append(answer.decode("utf-8", "replace")[:300])
        return
    reply = json.loads(answer)
    usage, choice = reply.get("usage") or {}, reply["choices"][0]
    total = int(usage.get("prompt_tokens") or 0) + int(usage.get("completion_tokens") or 0)
    seen.largest = max(seen.largest, total)
    try:
        summary_from_text(str(choice["message"].get("content")))
    except ValueError as error:
        if choice.get("finish_reason") == "length":
            seen.cut += 1
        else:
            seen.invalid.append(str(error))


@contextmanager
def _local(window: int) -> Iterator[str]:
    from tests.servers.local_model import local_model, missing_packages

    if missing_packages():
        raise SystemExit(f"not installed: {', '.join(missing_packages())} (make local-model)")
    with local_model(window=window) as url:
        yield url


def text(out: dict[str, Any]) -> str:
    """As a table."""
    lines = [
        f"{one['task']:8} {one['by']:10} {one['before']:7,} -> {one['after']:5,} tokens, "
        f"{one['requests']:3} requests, {one['repairs']} repairs, {one['prompt_tokens']:,} tokens "
        f"in, {one['completion_tokens']:,} out, {one['cost_usd']:g} USD, "
        f"{'in' if one['in_ledger'] else 'NOT in'} the ledger {one['fallback']}".rstrip()
        for one in out["compactions"]
    ]
    lines.append(
        f"{out['requests']} requests: {out['refused']} refused as too large, {out['invalid']} "
        f"answers that are no summary, {out['cut']} cut at their limit; the largest took "
        f"{out['largest_request']:,} of {out['window']:,} tokens; {out['seconds']} s"
    )
    return "\n".join([*lines, out["verified"]])


if __name__ == "__main__":
    sys.exit(main())
