"""Secrets out of texts that people read or files keep."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_MASK = "***"
_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL)", re.IGNORECASE)
# A key has its prefix, a separator and a digit (or the stars a provider puts in its place):
# ordinary names begin alike ("skeleton_builder", "sk-learn-extras", "pk_constraint_name").
_SECRET_TEXT = re.compile(
    r"\b(?:(?:sk|pk|rk|gsk|xai|hf|ghp|gho|ghs|glpat|xox[abp])[-_]|github_pat_)"
    r"(?=[A-Za-z_\-]*[0-9*])[A-Za-z0-9][A-Za-z0-9_\-*]{8,}"
    r"|\bAKIA[A-Z0-9]{16}\b"
    r"|(?<=Bearer )[^\s\"']{8,}"
    r"|(?<=[?&]key=)[^\s&\"']{8,}"
)
_SHORTEST = 6  # shorter values occur in ordinary text by chance


def masked(text: str, secrets: Iterable[str] = ()) -> str:
    """``text`` with every secret value, and whatever has the shape of an API key, as ``***``."""
    return _SECRET_TEXT.sub(_MASK, masked_values(text, secrets))


def masked_values(text: str, secrets: Iterable[str]) -> str:
    """``text`` with the given values masked, whatever they look like."""
    for secret in sorted({s for s in secrets if len(s) >= _SHORTEST}, key=len, reverse=True):
        text = text.replace(secret, _MASK)
    return text


def known_secrets(from_profile: Mapping[str, str]) -> tuple[str, ...]:
    """Values that must not be shown: those the profile took from the environment, and every
    environment variable that is named like a credential."""
    named = (value for name, value in os.environ.items() if _SECRET_NAME.search(name))
    return (*from_profile.values(), *named)
