"""Exact tokenizers from vocabularies on this disk. No network, ever.

litellm ships the vocabularies of OpenAI's tokenizers; they are found without importing it. What
tiktoken would do with a missing or damaged file (delete it and download another) is ruled out by
checking the file first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b, sha256
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from contextctl.errors import UsageError
from contextctl.model.counter import Approx

if TYPE_CHECKING:
    from collections.abc import Iterator

    import regex
    import tiktoken

    from contextctl.model.counter import Counter

# Claude counted 1.29 to 1.36 times the o200k_base tokens of the same messages (sessions of real
# agents with the usage that the provider reported).
CLAUDE_FACTOR = 1.30

# The file name is the SHA-1 of the vocabulary's address: tiktoken's name for it in a cache.
_VOCABULARIES = {
    "o200k_base": (
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": (
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}
_O200K_MODELS = re.compile(r"(chatgpt-4o|gpt-4o|gpt-4\.[15]|gpt-[5-9]|gpt-oss|o[1-9](-|$)|codex)")
_CL100K_MODELS = re.compile(r"(gpt-4|gpt-3\.5|gpt-35|text-embedding-)")

# tiktoken panics on a run of a million spaces, and older versions are quadratic in the length of
# one run of letters, of marks or of whitespace: longer runs are counted in pieces of this size.
_RUN_CHARS = 4_000
_ENV_LOCK = Lock()

# Text up to this size is remembered as it is, longer text by digest. At most 8,192 x 4 KB are held.
_SHORT_CHARS = 4_096
_SHORT_ENTRIES = 8_192
_LONG_ENTRIES = 65_536


@dataclass(frozen=True, slots=True)
class VocabularyCounter:
    """A counter over a real vocabulary; ``text`` is memoised per content."""

    name: str
    exact: bool
    factor: float
    count: Callable[[str], int]

    def text(self, text: str) -> int:
        """Tokens of ``text``."""
        return self.count(text)


class Memo:
    """A bounded memory in front of a counting function, so that equal text is counted once.

    Short text is its own key; longer text is remembered by digest, so that it is not kept alive.
    """

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._short = lru_cache(maxsize=_SHORT_ENTRIES)(count)
        self._by_digest: dict[bytes, int] = {}

    def __call__(self, text: str) -> int:
        """The count of ``text``, from memory where it is known."""
        if len(text) <= _SHORT_CHARS:
            return self._short(text)
        key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        known = self._by_digest.get(key)
        if known is None:
            known = self._count(text)
            if len(self._by_digest) >= _LONG_ENTRIES:
                self._by_digest = {}
            self._by_digest[key] = known
        return known


def counter_for(tokenizer: str, model: str) -> Counter:
    """The counter that ``tokenizer`` (a profile's key) means for ``model``.

    ``tokenizer`` is ``auto``, ``o200k_base``, ``cl100k_base``, ``approx`` or
    ``hf:<path of a tokenizer.json>``. Raises ``UsageError`` for anything else, and for a
    vocabulary that is not on this disk.
    """
    if tokenizer == "approx":
        return Approx()
    if tokenizer.startswith("hf:"):
        path = tokenizer.removeprefix("hf:")
        return VocabularyCounter(tokenizer, exact=True, factor=1.0, count=_hugging_face(path))
    own = _own_vocabulary(model)
    name = (own or "o200k_base") if tokenizer == "auto" else tokenizer
    if name not in _VOCABULARIES:
        known = ", ".join(["auto", *_VOCABULARIES, "approx", "hf:<tokenizer.json>"])
        raise UsageError(f"unknown tokenizer '{tokenizer}'; known: {known}")
    factor = CLAUDE_FACTOR if "claude" in model.lower() else 1.0
    return VocabularyCounter(name, exact=name == own, factor=factor, count=_memo(name))


def _own_vocabulary(model: str) -> str | None:
    """The vocabulary that ``model`` really uses, where it is public."""
    name = model.lower().removeprefix("ft:").rsplit("/", 1)[-1].removeprefix("ft:")
    if _O200K_MODELS.match(name):
        return "o200k_base"
    return "cl100k_base" if _CL100K_MODELS.match(name) else None


@lru_cache(maxsize=8)
def _memo(name: str) -> Memo:
    """One memory per vocabulary, shared by every counter over it."""
    encoding: tiktoken.Encoding | None = None

    def count(text: str) -> int:
        nonlocal encoding
        if encoding is None:
            encoding = _encoding(name)
        encode = encoding.encode_ordinary
        if len(text) <= _RUN_CHARS:
            return len(encode(text))
        return sum(len(encode(piece)) for piece in _pieces(text))

    return Memo(count)


def _encoding(name: str) -> tiktoken.Encoding:
    """The tiktoken encoding, its vocabulary read from a verified file."""
    folder = _vocabulary_folder(name)
    import tiktoken  # a few milliseconds that `--help` need not pay

    with _environment("TIKTOKEN_CACHE_DIR", str(folder)):
        return tiktoken.get_encoding(name)


def _vocabulary_folder(name: str) -> Path:
    """The first folder that holds the whole, unchanged vocabulary ``name``."""
    file_name, digest = _VOCABULARIES[name]
    variables = ("CUSTOM_TIKTOKEN_CACHE_DIR", "TIKTOKEN_CACHE_DIR")
    folders = [Path(os.environ[name]) for name in variables if os.environ.get(name)]
    spec = find_spec("litellm")
    if spec is not None and spec.origin is not None:
        folders.insert(0, Path(spec.origin).parent / "litellm_core_utils" / "tokenizers")
    for folder in folders:
        try:
            content = (folder / file_name).read_bytes()
        except OSError:
            continue
        if sha256(content).hexdigest() == digest:
            return folder
    raise UsageError(
        f"the vocabulary '{name}' is not on this disk (looked in {', '.join(map(str, folders))}); "
        f"install litellm, set TIKTOKEN_CACHE_DIR, or set 'tokenizer: approx'"
    )


@contextmanager
def _environment(variable: str, value: str) -> Iterator[None]:
    """``os.environ`` with one variable changed, then as it was."""
    with _ENV_LOCK:
        before = os.environ.get(variable)
        os.environ[variable] = value
        try:
            yield
        finally:
            if before is None:
                del os.environ[variable]
            else:
                os.environ[variable] = before


@lru_cache(maxsize=1)
def _long_run() -> regex.Pattern[str]:
    """Finds what a tokenizer would take as one enormous word (tiktoken brings ``regex`` along)."""
    import regex  # only text longer than one run needs it

    size = f"{{{_RUN_CHARS + 1},}}+"
    return regex.compile(
        rf"[\p{{L}}\p{{M}}]{size}|\s{size}|[^\s\p{{L}}\p{{N}}]{size}", flags=regex.V1
    )


def _pieces(text: str) -> Iterator[str]:
    """``text`` in order, with every over-long run cut into pieces of ``_RUN_CHARS``."""
    at = 0
    for run in _long_run().finditer(text):
        if run.start() > at:
            yield text[at : run.start()]
        for start in range(run.start(), run.end(), _RUN_CHARS):
            yield text[start : min(start + _RUN_CHARS, run.end())]
        at = run.end()
    if at < len(text):
        yield text[at:]


@lru_cache(maxsize=8)
def _hugging_face(path: str) -> Memo:
    """A memory over a Hugging Face ``tokenizer.json``; special-token text counts as plain text."""
    if not Path(path).is_file():
        raise UsageError(f"tokenizer 'hf:{path}': there is no such file")
    try:
        from tokenizers import Tokenizer  # optional, and only for this tokenizer
    except ImportError:
        raise UsageError(f"tokenizer 'hf:{path}' needs the package 'tokenizers'") from None
    try:
        tokenizer = Tokenizer.from_file(path)
    except Exception as error:  # noqa: BLE001  # the package raises bare Exception for a bad file
        raise UsageError(f"tokenizer 'hf:{path}' cannot be read: {error}") from None
    tokenizer.encode_special_tokens = True
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def count(text: str) -> int:
        clean = text.encode("utf-8", "replace").decode("utf-8")
        pieces = tokenizer.encode_batch(list(_pieces(clean)), add_special_tokens=False)
        return sum(len(piece) for piece in pieces)

    return Memo(count)
