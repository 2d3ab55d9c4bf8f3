"""What shaping one result depends on, beside the result."""

from __future__ import annotations

from dataclasses import dataclass, field

from contextctl.core.shaping.hints import joined, say
from contextctl.model.counter import Counter
from contextctl.model.shaping import ShapeCall, ShapeRule

# Characters of the longest token in o200k_base and cl100k_base (a run of spaces).
_LONGEST_TOKEN = 128


@dataclass(frozen=True, slots=True)
class Setting:
    """The rule and its surroundings. ``ref`` names where the original will be, ``""`` nowhere."""

    rule: ShapeRule
    counter: Counter
    ref: str = ""
    locale: str = "en"
    call: ShapeCall = field(default_factory=ShapeCall)

    @property
    def cap(self) -> int:
        """The most tokens that one result may have."""
        return self.rule.max_tokens

    def tokens(self, text: str) -> int:
        """Tokens of ``text``."""
        return self.counter.text(text)

    def tokens_or_more(self, text: str) -> int:
        """Tokens of ``text``, or an estimate over the cap for what cannot fit whatever it is."""
        if len(text) > _LONGEST_TOKEN * self.cap:
            return max(self.cap + 1, len(text) // 3)
        return self.tokens(text)

    def say(self, key: str, **values: object) -> str:
        """A phrase in the language of this setting."""
        return say(self.locale, key, **values)

    def joined(self, *phrases: str) -> str:
        """Sentences one after the other."""
        return joined(self.locale, *phrases)
