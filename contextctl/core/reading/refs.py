"""Refs: short opaque names for content that left the window.

A ref is ``<session>-<code>``, for example ``s4-kqhzmwtdbe``. The code is made from the HMAC-SHA256
of the content's hash under the session's key, so the same content in the same session always has
the same ref, and nobody without the key can guess one. Equal content in two sessions has two refs.

Refs stand in the window many times, so their form was chosen by measuring: ten lower-case letters
cost 5.4 tokens of o200k_base on average (47 bits); twelve hex digits cost 7.7 (48 bits). Digits
alone would cost about the same, but text full of digits looks like the amounts and ids it
stands beside. A second ref for a code already taken is refused by the workspace, never overwritten.
"""

from __future__ import annotations

import hashlib
import hmac
import re

CODE_LETTERS = 10
_SESSION_MAX = 24
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_REF = re.compile(rf"[A-Za-z0-9_-]+-[a-z]{{{CODE_LETTERS}}}", re.ASCII)


def content_hash(text: str) -> str:
    """The hex SHA-256 of the UTF-8 bytes of ``text``.

    Half surrogate pairs, which UTF-8 cannot hold, are hashed as their three-byte form
    (``surrogatepass``), the same form in which the workspace stores them.
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def make_ref(session: str, key: str, sha256: str) -> str:
    """The ref of the content with hash ``sha256`` in ``session``; ``key`` is hex.

    Raises ``ValueError`` when ``key`` is not hex.
    """
    mac = hmac.digest(bytes.fromhex(key), sha256.encode("ascii"), "sha256")
    return f"{safe_session(session)}-{_letters(mac, CODE_LETTERS)}"


def session_of(ref: str) -> str:
    """The session part of a ref, in its safe form; empty when ``ref`` has not the form of a ref."""
    return ref[: -CODE_LETTERS - 1] if _REF.fullmatch(ref) else ""


def safe_session(session: str) -> str:
    """``session`` as it stands in refs: letters, digits, ``-`` and ``_``, at most 24 characters.

    A name that had to be changed ends with six letters of its hash, so that two names that look
    alike after the change stay apart.
    """
    safe = _UNSAFE.sub("_", session)
    if safe == session and 0 < len(session) <= _SESSION_MAX:
        return session
    mark = _letters(hashlib.sha256(session.encode("utf-8", "surrogatepass")).digest(), 6)
    return f"{safe.strip('_-')[: _SESSION_MAX - 7]}_{mark}".lstrip("_")


def _letters(digest: bytes, count: int) -> str:
    number = int.from_bytes(digest, "big")
    letters = []
    for _ in range(count):
        number, rest = divmod(number, 26)
        letters.append(chr(97 + rest))
    return "".join(letters)
