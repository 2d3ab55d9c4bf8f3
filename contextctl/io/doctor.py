"""Looking at what is there: one small check each, which says what it saw and what to do."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import urlsplit

from contextctl.errors import ContextctlError
from contextctl.io.models.map import model_names
from contextctl.io.models.scripted import SCRIPTED, open_script
from contextctl.io.models.vocab import counter_for
from contextctl.io.tools.python import load_function
from contextctl.io.workspace.blobs import open_store
from contextctl.model.check import Check, failed, fine, unknown
from contextctl.model.profile import Profile
from contextctl.version import __version__

_REACH_S = 3.0
# The variables that litellm reads a key from, by the first part of a model's name.
KEYS = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "azure": "AZURE_API_KEY",
    "bedrock": "AWS_ACCESS_KEY_ID",
    "cohere": "COHERE_API_KEY",
    "dashscope": "DASHSCOPE_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "fireworks_ai": "FIREWORKS_AI_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "groq": "GROQ_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "moonshot": "MOONSHOT_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "together_ai": "TOGETHERAI_API_KEY",
    "xai": "XAI_API_KEY",
}
_BY_FAMILY = {
    "gpt": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "claude": "anthropic",
}
_LITERAL = "<|endoftext|> 你好"


def installation() -> Iterator[Check]:
    """Python, packages, the model map and the vocabularies; nothing leaves this machine."""
    python = f"Python {sys.version.split()[0]}, contextctl {__version__}"
    yield Check("python", sys.version_info >= (3, 11), python, "use Python 3.11 or newer")
    for package in ("litellm", "tiktoken", "diskcache"):
        try:
            yield fine(package, version(package))
        except PackageNotFoundError:
            yield failed(package, "not installed", f"pip install {package}")
    try:
        yield fine("model map", f"{len(model_names()):,} models with a known window")
    except ContextctlError as error:
        yield failed("model map", str(error), "pip install --force-reinstall litellm")
    for name in ("o200k_base", "cl100k_base"):
        try:
            tokens = counter_for(name, "").text(_LITERAL)
            yield Check(f"tokenizer {name}", tokens > 0, "offline, special tokens count as text")
        except ContextctlError as error:
            yield failed(f"tokenizer {name}", str(error), "pip install litellm")


def stores() -> Iterator[Check]:
    """Whether a workspace can be written, and the folder that runs go to."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            with closing(open_store(Path(folder) / "workspace")) as store:
                store.put_many([("ref/doctor", b"ok")])
                found = store.get("ref/doctor") == b"ok"
            yield Check("workspace", found, "written and read back")
        except ContextctlError as error:
            yield failed("workspace", str(error), "look at the temporary folder's rights")
    here = Path.cwd()
    may = os.access(here, os.W_OK)
    yield Check("runs", may, f"{'can' if may else 'cannot'} be written below '{here}'",
                "change into a folder that is yours, or name one with --out")  # fmt: skip


def model(profile: Profile, env: Mapping[str, str]) -> Iterator[Check]:
    """The profile's models: their window, tokenizer and key. A key is named, never shown."""
    names = [profile.model.name, *(fallback.name for fallback in profile.model.fallbacks)]
    for name in names:
        counter = counter_for(profile.tokenizer, name)
        kind = "exact" if counter.exact else f"an estimate, times {counter.factor:.2f}"
        yield fine(f"model {name}", f"counted by {counter.name} ({kind})")
        if name.startswith(SCRIPTED):
            yield _script(profile, name)
        else:
            yield _key(profile, name, env)
    if profile.model.api_base:
        yield _reach("api_base", profile.model.api_base)


def _script(profile: Profile, name: str) -> Check:
    try:
        script = open_script(name, profile.path)
    except ContextctlError as error:
        return failed("script", str(error), "put the file beside the profile")
    return fine("script", f"{len(script.lines)} replies, no key needed")


def _key(profile: Profile, name: str, env: Mapping[str, str]) -> Check:
    provider = name.partition("/")[0].lower()
    if "/" not in name:
        provider = next((p for start, p in _BY_FAMILY.items() if name.startswith(start)), "")
    if "api_key" in profile.model.params:
        return fine("key", "in the profile's model.params.api_key")
    variable = KEYS.get(provider)
    if variable is None:
        return unknown("key", f"which variable '{name}' needs is not known here")
    if env.get(variable):
        return fine("key", f"{variable} is set")
    if profile.model.api_base:
        return unknown("key", f"{variable} is not set; the endpoint at api_base may need none")
    return failed("key", f"{variable} is not set", f"export {variable}=…")


def tools(profile: Profile) -> Iterator[Check]:
    """Each tool of the profile: the function is imported, the program found, the host reached."""
    folder = Path(profile.path).parent if profile.path else Path.cwd()
    for name, rule in profile.tools.items():
        if rule.python is not None:
            try:
                load_function(rule.python, (folder,), name)
                yield fine(f"tool {name}", rule.python)
            except ContextctlError as error:
                yield failed(f"tool {name}", str(error), f"look at tools.{name}.python")
        elif rule.command:
            yield _program(f"tool {name}", rule.command[0], folder)
        elif rule.http is not None:
            yield _reach(f"tool {name}", rule.http.url)


def named_stores(profile: Profile) -> Iterator[Check]:
    """Stores that the profile puts elsewhere: reached, not written."""
    places = {
        "stores.audit": profile.stores.audit,
        "stores.memory": profile.stores.memory,
        "workspace.path": profile.workspace.path or "",
    }
    for key, address in places.items():
        if "://" in address and urlsplit(address).hostname:
            if urlsplit(address).scheme in ("s3", "gs", "az", "abfs"):
                yield unknown(key, f"object storage at {_shown(address)}, not tried")
            else:
                yield _reach(key, address)


def _program(name: str, program: str, folder: Path) -> Check:
    found = shutil.which(program) or shutil.which(str(folder / program))
    if found:
        return fine(name, found)
    return failed(name, f"no program '{program}'", "install it, or give its whole path")


def _reach(name: str, address: str) -> Check:
    """Open a connection and close it again: nothing is sent."""
    parts = urlsplit(address)
    default = {"https": 443, "postgresql": 5432, "postgresql+psycopg": 5432, "redis": 6379}
    try:
        port = parts.port or default.get(parts.scheme, 80)
        with socket.create_connection((parts.hostname or "", port), timeout=_REACH_S):
            return fine(name, f"{_shown(address)} answers")
    except (OSError, ValueError) as error:
        why = str(error) or type(error).__name__
        said = f"{_shown(address)} does not answer: {why}"
        return failed(name, said, "start it, or mend the address")


def _shown(address: str) -> str:
    """An address without what may be secret: user, password, query."""
    parts = urlsplit(address)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}"
