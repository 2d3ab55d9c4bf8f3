"""Why a model gave no answer: litellm's many exceptions as one value, then as one sentence."""

from __future__ import annotations

import email.utils
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_OVERFLOW = re.compile(
    r"context[ _]?(length|window|size)|maximum context|prompt is too long|too many (input )?tokens"
    r"|input (is too long|token count)|exceeds? the (model|maximum).{0,40}tokens|reduce the length",
    re.IGNORECASE,
)
_NO_QUOTA = re.compile(r"insufficient_quota|exceeded your current quota|billing", re.IGNORECASE)
_RETRYABLE_STATUS = frozenset({408, 409, 425, 429})
# litellm puts class and provider names before what the provider said, some of them twice.
_PREFIXES = re.compile(r"^(((litellm\.)?\w*(Error|Exception|Timeout)|LiteLLM)\s*[:\-]\s*)+")
_MESSAGE_CHARS = 400


@dataclass
class ModelFault(Exception):  # not an error yet: it is tried again first
    """One try that failed. ``kind`` is ``status``, ``timeout``, ``unreachable``, ``garbled``,
    ``overflow``, ``setup`` (nothing was sent: the profile asks for what cannot be), ``script`` (a
    scripted model has no line left) or ``stopped``.

    ``status`` is the HTTP status where there was one; ``retry_after`` the seconds asked for.
    """

    kind: str
    message: str
    status: int | None = None
    retry_after: float | None = None

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later."""
        if self.kind in {"timeout", "unreachable", "garbled"}:
            return True
        if self.kind != "status" or self.status is None or _NO_QUOTA.search(self.message):
            return False
        return self.status in _RETRYABLE_STATUS or self.status >= 500


def fault_from(error: Exception) -> ModelFault:
    """Read an exception that litellm raised. The message is the provider's own, shortened."""
    names = {type(link).__name__ for link in _chain(error)}
    message = provider_message(str(error))
    status = _status(error)
    if "LLM Provider NOT provided" in message:
        return ModelFault("setup", "whose model it is is not known; write provider/model")
    if "UnsupportedParamsError" in names:
        return ModelFault("setup", f"{message.partition(' To drop')[0]} (see 'model.params')")
    if "ContextWindowExceededError" in names or (
        status in {400, 413} and _OVERFLOW.search(message)
    ):
        return ModelFault("overflow", message, status)
    if names & {"Timeout", "APITimeoutError", "ReadTimeout", "ConnectTimeout", "WriteTimeout"}:
        return ModelFault("timeout", message, status)
    response = _response(error)
    if response is None and names & _UNREACHABLE:
        return ModelFault("unreachable", _root_message(error) or message)
    if response is None and names & {"JSONDecodeError", "APIResponseValidationError"}:
        return ModelFault("garbled", message.partition(", Received response")[0])
    if response is None and (status is None or status >= 500):
        return ModelFault("garbled", message, status)
    return ModelFault("status", message, status, _retry_after(response))


def provider_message(text: str) -> str:
    """What the provider said, on one line, without litellm's class names."""
    said = text.strip().partition("\nTraceback (most recent call last)")[0]
    line = " ".join(_PREFIXES.sub("", said).split())
    return line if len(line) <= _MESSAGE_CHARS else line[:_MESSAGE_CHARS] + "…"


_UNREACHABLE = frozenset(
    {
        "APIConnectionError",
        "ConnectError",
        "ConnectionError",
        "ConnectionRefusedError",
        "ConnectionResetError",
        "ReadError",
        "RemoteProtocolError",
        "MidStreamFallbackError",
    }
)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _status(error: Exception) -> int | None:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _response(error: Exception) -> Any:
    """The HTTP response, if one really came: litellm invents some without headers."""
    for link in _chain(error):
        response = getattr(link, "response", None)
        if response is not None and getattr(response, "headers", None):
            return response
    return None


def _root_message(error: Exception) -> str:
    """The innermost reason, for a connection: ``[Errno 111] Connection refused``."""
    texts = [str(link) for link in _chain(error) if isinstance(link, OSError) and str(link)]
    if texts:
        return texts[-1]
    named = [str(link) for link in _chain(error) if type(link).__name__ == "RemoteProtocolError"]
    return named[-1] if named else ""


def _retry_after(response: Any) -> float | None:
    headers: Mapping[str, str] = getattr(response, "headers", None) or {}
    milliseconds = headers.get("retry-after-ms")
    raw = headers.get("retry-after")
    try:
        if milliseconds is not None:
            return max(0.0, float(milliseconds) / 1000)
        return None if raw is None else max(0.0, float(raw))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(str(raw)).timestamp() - time.time())
    except ValueError:
        return None
