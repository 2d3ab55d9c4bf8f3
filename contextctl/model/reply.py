"""What is asked of a model and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from contextctl.model.message import Json, JsonObject, Message
from contextctl.model.trace import UsageFact


@dataclass(frozen=True, slots=True)
class Request:
    """One window to be answered. ``messages`` and ``tools`` are OpenAI chat dicts.

    ``model`` empty: the profile's model, then its fallbacks in order; else exactly that one.
    ``params`` add to the profile's. ``max_tokens`` None is the profile's ``reserve_output``.
    ``task`` names the task, so that a scripted model can keep a place in its script for each.
    """

    messages: tuple[JsonObject, ...]
    tools: tuple[JsonObject, ...] = ()
    model: str = ""
    task: str = ""
    params: Mapping[str, Json] = field(default_factory=dict)
    max_tokens: int | None = None
    stream: bool | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer. ``message`` keeps tool-call arguments exactly as the model wrote them.

    ``model`` is the litellm name that answered, which may be a fallback; ``finish_reason`` is
    ``stop``, ``tool_calls``, ``length`` or the provider's own word. ``usage`` is None when the
    provider reported none. ``cost_known`` is False where the price map has no price for the model:
    ``usage.cost_usd`` is then 0. ``first_token_s`` (streaming only) and ``duration_s`` are seconds
    from sending the try that succeeded, the ``tries``-th.
    """

    message: Message
    usage: UsageFact | None
    model: str
    finish_reason: str = "stop"
    cost_known: bool = False
    first_token_s: float | None = None
    duration_s: float = 0.0
    tries: int = 1

    @property
    def cost_usd(self) -> float:
        """USD for this answer; 0.0 when it is unknown (``cost_known``)."""
        return 0.0 if self.usage is None else self.usage.cost_usd
