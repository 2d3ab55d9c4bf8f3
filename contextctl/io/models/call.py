"""The models a profile names: each asked with retries, all errors one kind.

Whether to fall back with another window is the loop's question; whether to try again is answered
here.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from contextctl.errors import ModelError, UsageError
from contextctl.io.models.faults import ModelFault
from contextctl.io.models.litellm_calls import send
from contextctl.io.models.litellm_reply import Target
from contextctl.io.models.map import model_facts
from contextctl.io.models.scripted import SCRIPTED, Script, open_script
from contextctl.io.recorder.masking import known_secrets, masked
from contextctl.model.profile import Profile
from contextctl.model.reply import Reply, Request

if TYPE_CHECKING:
    from contextctl.model.message import Json, Message

_FIRST_WAIT_S = 0.5
_LONGEST_WAIT_S = 30.0
_LONGEST_ASKED_S = 120.0  # a provider that asks for a longer pause is out for this run

Ask = Callable[[Request], Reply]


@dataclass(frozen=True)
class Model:
    """The profile's model and its fallbacks. Safe to use from many threads at once.

    ``names`` are litellm strings in the order they are tried.
    """

    names: tuple[str, ...]
    _asks: Mapping[str, Ask]
    _profile: Profile
    _stop: threading.Event
    _scripts: tuple[Script, ...] = ()

    def complete(self, request: Request) -> Reply:
        """Answer ``request`` by ``request.model``, or by the first of ``names`` that answers.

        Blocks. Raises ``ModelError`` (``overflow`` set when the window was too large for the
        provider: no fallback is tried, since this window is the reason) and ``UsageError`` when
        the profile asks for something that cannot be sent.
        """
        if request.model:
            return self._by_one(request.model, request)
        for name in self.names[:-1]:
            try:
                return self._by_one(name, request)
            except ModelError as error:
                if error.overflow or self._stop.is_set():
                    raise
        return self._by_one(self.names[-1], request)

    def continued(self, task: str, said: Sequence[Message]) -> None:
        """``task`` goes on after these answers: a scripted model finds its place again."""
        for script in self._scripts:
            script.continued(task, said)

    def _by_one(self, name: str, request: Request) -> Reply:
        ask = self._asks.get(name)
        if ask is None:
            raise UsageError(
                f"model '{name}' is not in the profile; it names {', '.join(self.names)}"
            )
        tries = 1 + max(0, self._profile.model.retries)
        for attempt in range(1, tries + 1):
            try:
                return replace(ask(request), tries=attempt)
            except ModelFault as fault:
                if self._stop.is_set() and fault.kind != "stopped":
                    fault = ModelFault("stopped", fault.message)
                pause = _pause(fault, attempt)
                if pause is None or attempt == tries or self._stop.wait(pause):
                    raise self._error(name, fault, attempt) from fault
        raise AssertionError("unreachable: the last try returns or raises")

    def _error(self, name: str, fault: ModelFault, tries: int) -> Exception:
        text = _sentence(self._profile, name, fault, tries)
        text = masked(text, known_secrets(self._profile.secrets))
        if fault.kind == "setup":
            return UsageError(text)
        return ModelError(text, retryable=fault.retryable, overflow=fault.kind == "overflow")


def open_model(profile: Profile, *, stop: threading.Event | None = None) -> Model:
    """The models of ``profile``, ready to be asked. litellm loads at the first real call.

    ``stop`` ends waiting between tries and reading streams. Raises ``UsageError`` for a script
    that is missing or malformed, or a ``local/`` model without ``model.api_base``.
    """
    event = stop or threading.Event()
    names = tuple(dict.fromkeys((profile.model.name, *(f.name for f in profile.model.fallbacks))))
    scripts = {
        name: open_script(name, profile.path, stop=event)
        for name in names
        if name.startswith(SCRIPTED)
    }
    asks: dict[str, Ask] = {name: script.reply for name, script in scripts.items()}
    asks |= {name: _ask(profile, name, event) for name in names if name not in scripts}
    return Model(names, asks, profile, event, tuple(scripts.values()))


def _ask(profile: Profile, name: str, stop: threading.Event) -> Ask:
    rule = profile.model
    own = name == rule.name
    params: Mapping[str, Json] = rule.params
    api_base = rule.api_base or None
    if not own and name.partition("/")[0] != rule.name.partition("/")[0]:
        api_base = None  # another provider's address and key
        params = {
            key: value for key, value in params.items() if key not in {"api_key", "extra_headers"}
        }
    if name.startswith("local/") and api_base is None:
        raise UsageError(
            f"model '{name}' needs 'model.api_base': the address of an OpenAI-compatible server, "
            "for example http://127.0.0.1:8080/v1"
        )
    target = Target(name, model_facts(name), rule.reserve_output, rule.timeout_s, api_base, params)
    return partial(send, target, stop=stop)


def _pause(fault: ModelFault, attempt: int) -> float | None:
    """Seconds before the next try; None when there is no point in one."""
    if not fault.retryable:
        return None
    if fault.retry_after is not None:
        return fault.retry_after if fault.retry_after <= _LONGEST_ASKED_S else None
    grown = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2.0 ** (attempt - 1))
    return grown * random.uniform(0.5, 1.0)  # noqa: S311  # spreads tries out; nothing secret


def _sentence(profile: Profile, name: str, fault: ModelFault, tries: int) -> str:
    """What happened, where it was set, and the next edit."""
    base = profile.model.api_base or ""
    times = f" (after {tries} tries)" if tries > 1 else ""
    message = fault.message
    if fault.kind == "timeout":
        limit = f"{profile.model.timeout_s:g} s"
        return f"model '{name}' gave no answer within {limit}{times}; see 'model.timeout_s'"
    if fault.kind == "unreachable":
        where = f" at '{base}'" if base else ""
        return f"cannot reach model '{name}'{where}{times}: {message}; check 'model.api_base'"
    if fault.kind == "garbled":
        return (
            f"model '{name}' answered with something that is no chat completion{times}: {message}"
        )
    if fault.kind == "stopped":
        return f"model '{name}' was not waited for: the run was stopped ({message})"
    if fault.kind == "overflow":
        return f"model '{name}' refused the window as too large: {message}; check 'model.window'"
    if fault.kind == "script":
        return message
    if fault.kind == "setup":
        origin = profile.origin("/model/name")
        at = f"{origin}: " if origin else ""
        return f"{at}model '{name}' cannot be asked: {message}"
    hint = _HINTS.get(fault.status or 0, "")
    return f"model '{name}' answered HTTP {fault.status}{times}: {message}{hint}"


_HINTS = {
    401: "; check the API key in the environment, or 'model.api_base'",
    403: "; check what this API key may use",
    404: "; check 'model.name' and 'model.api_base'",
    429: "; 'limits.requests_per_minute' slows a run down",
}
