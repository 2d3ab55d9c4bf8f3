"""A new session: its short name, and the key that makes its refs unguessable."""

from __future__ import annotations

import secrets


def new_session() -> tuple[str, str]:
    """A session's name and its key, 256 random bits in hex.

    The name stands in every ref of every window, so it is short; it need not be unique, because
    the key is what a ref is bound to.
    """
    return "s" + secrets.token_hex(2)[:3], secrets.token_hex(32)
