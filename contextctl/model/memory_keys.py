"""Keys and subjects of memories in one spelling, so that a correction meets what it corrects."""

from __future__ import annotations

import hashlib
import unicodedata

import regex

MADE = "text-"
"""How the key of a memory begins that named none."""
SUBJECTS = ("user:", "tenant:")
_BREAK = regex.compile(r"(?<=[\p{Ll}\p{Nd}])(?=\p{Lu})|[^\p{L}\p{M}\p{Nd}]+")
_HAN = r"\p{Han}\p{Hiragana}\p{Katakana}"
_BESIDE_HAN = regex.compile(rf"(?<=[{_HAN}])-|-(?=[{_HAN}])")
_LONGEST = 80


def normal_key(key: str) -> str:
    """``Device A``, ``device_a`` and ``deviceA`` are all ``device-a``; Chinese has no breaks."""
    text = unicodedata.normalize("NFKC", key)
    joined = _BREAK.sub("-", text).strip("-").casefold()
    return _BESIDE_HAN.sub("", joined)[:_LONGEST].strip("-")


def key_of_text(text: str) -> str:
    """The key of a candidate that names none: the same words give the same key, whatever stop
    they end with."""
    words = " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(".。!！;；,， ")
    return MADE + hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def is_subject(subject: str) -> bool:
    """Whether ``subject`` names somebody: ``user:7``, ``tenant:acme``."""
    named = subject.strip()
    return any(named.startswith(kind) and named[len(kind) :].strip() for kind in SUBJECTS)
