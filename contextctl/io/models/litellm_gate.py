"""The one door to litellm: imported late, configured first, silent on standard output.

Importing it takes seconds and hundreds of megabytes, so only a real model call comes here. What it
would do by itself (fetch a price list, read ``./.env`` into the environment) is switched off:
contextctl's only network traffic is the call.
"""

from __future__ import annotations

import logging
import os
import threading
import warnings
from typing import Any

from contextctl.io.models.stdout_guard import drop, stdout_to

_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_OFFLINE_MODE": "true",
    "LITELLM_MODE": "PRODUCTION",
}
# What pydantic says of litellm, on stderr at the first call: nobody here can act on it.
_WARNINGS = (r"Item '.*' on TypedDict class", r"Pydantic serializer warnings")
_lock = threading.Lock()
_loaded: list[Any] = []


def load_litellm() -> Any:
    """litellm, configured once. Thread-safe; takes seconds the first time."""
    with _lock:
        if not _loaded:
            os.environ.update(_ENVIRONMENT)
            with stdout_to(drop):
                import litellm  # seconds; only a real call pays them
            _configure(litellm)
            _loaded.append(litellm)
    return _loaded[0]


def _configure(litellm: Any) -> None:
    litellm.suppress_debug_info = True  # else coloured help on stdout at every error
    litellm.telemetry = False
    litellm.disable_hf_tokenizer_download = True  # else Llama names ask a hub for a tokenizer
    litellm.disable_streaming_logging = True  # else a thread job for every chunk
    for text in _WARNINGS:
        warnings.filterwarnings("ignore", message=text, category=UserWarning)
    if not os.environ.get("LITELLM_LOG"):
        for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
