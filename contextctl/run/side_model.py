"""A model that a run asks beside its own: for summaries, and for what is to be remembered."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from contextctl.core.count import Counter
from contextctl.io.models.call import open_model
from contextctl.io.profile.windows import window_of
from contextctl.model.message import JsonObject
from contextctl.model.profile import Profile
from contextctl.model.reply import Reply, Request

# How much more than we count a model may make of a text: framing alone, or another tokenizer too
# (Claude: 1.29 to 1.36).
EXACT_SLACK, COUNT_SLACK = 1.05, 1.4

Ask = Callable[[Request], Reply]
_UNKNOWN_WINDOW = 8_192  # what the smallest models of today take


@dataclass(frozen=True)
class SideModel:
    """A model by its litellm name, its window in its own tokens, and the way to ask it."""

    name: str
    window: int
    ask: Ask


@dataclass(slots=True)
class Spent:
    """What asking for one thing took: tokens of the model's own, cost in US dollars."""

    requests: int = 0
    repairs: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0
    is_bounded: bool = False
    """Whether an answer was cut: later ones are asked for in a form that ends in time."""

    def take(self, reply: Reply) -> None:
        """Add what ``reply`` took."""
        self.cost_usd += reply.cost_usd
        if reply.usage is not None:
            self.prompt_tokens += reply.usage.prompt_tokens
            self.completion_tokens += reply.usage.completion_tokens

    def to_json(self) -> JsonObject:
        """As it stands in the record's facts."""
        return {
            "requests": self.requests,
            "repairs": self.repairs,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "cost_usd": round(self.cost_usd, 10),
        }


def slack_of(counter: Counter) -> float:
    """Tokens that a model may count for one of ``counter``'s."""
    return EXACT_SLACK if counter.exact else COUNT_SLACK


def open_side_model(
    profile: Profile,
    stop: threading.Event,
    *,
    name: str | None,
    window: int | None,
    max_tokens: int,
    api_base: str | None,
) -> SideModel:
    """The model ``name`` (None: the profile's own). Of the profile's settings it has what belongs
    to the same model, and the address where the provider is the same."""
    name = name or profile.model.name
    own = name == profile.model.name
    window = window or (profile.model.window if own else None) or window_of(name) or _UNKNOWN_WINDOW
    is_near = name.partition("/")[0] in ("local", profile.model.name.partition("/")[0])
    model = replace(
        profile.model,
        name=name,
        window=window,
        reserve_output=max_tokens,
        fallbacks=(),
        api_base=api_base or (profile.model.api_base if is_near else None),
        params=profile.model.params if own else {},
    )
    door = open_model(replace(profile, model=model), stop=stop)
    return SideModel(name, window, door.complete)
