"""What a token counter is, and the one that needs no vocabulary."""

from __future__ import annotations

import math
import re
from typing import Protocol

_CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f"
    "\uff00-\uffef\U0001b000-\U0001b16f\U00020000-\U0003ffff]+"
)


class Counter(Protocol):
    """Counts the tokens of text.

    ``name`` is what the ledger shows; ``exact`` says whether it is the tokenizer of the model it
    was made for; ``factor`` is what its counts start being multiplied with (1.0 when exact).
    """

    @property
    def name(self) -> str:
        """The tokenizer's name: ``o200k_base``, ``approx``, ``hf:…``."""

    @property
    def exact(self) -> bool:
        """Whether the model itself uses this tokenizer."""

    @property
    def factor(self) -> float:
        """The safety factor to start with."""

    def text(self, text: str) -> int:
        """Tokens of ``text``, special-token literals counted as ordinary text; never raises."""


class Approx:
    """An estimate: CJK about 1.5 characters a token, everything else 4.

    It is off by 20 to 55 % on Chinese, JSON and logs: fit for a first look, not for a budget.
    """

    name = "approx"
    exact = False
    factor = 1.0

    def text(self, text: str) -> int:
        """The estimate, rounded up."""
        rest = len(text) if text.isascii() else len(_CJK.sub("", text))
        return math.ceil((len(text) - rest) / 1.5 + rest / 4)
