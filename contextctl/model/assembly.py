"""What assembling one step yields: the window, its ledger, and what the loop must do around it."""

from __future__ import annotations

from dataclasses import dataclass

from contextctl.model.audit import Compaction
from contextctl.model.ledger import Action, LedgerReport
from contextctl.model.message import JsonObject


@dataclass(frozen=True, slots=True)
class Offload:
    """Text that left the window, to be stored under ``ref`` before the window is sent.

    ``sha256`` is the hex digest of the UTF-8 bytes of ``text``; storing it twice is harmless.
    ``media`` is ``text/plain`` or ``application/json``.
    """

    ref: str
    sha256: str
    text: str
    media: str = "text/plain"


@dataclass(frozen=True, slots=True)
class Need:
    """Something only the loop can get: it appends the answer to the record and assembles again."""

    id: str
    kind: str
    body: JsonObject


@dataclass(frozen=True, slots=True)
class Assembly:
    """One step's window and everything known about it.

    ``messages`` and ``tools`` are OpenAI chat dicts, ready to send, and must not be changed.
    ``stable`` counts the messages before the tail block: cache marks stand at or before the last.
    ``ledger.status`` is ``overflow`` when the window must not be sent: ``messages`` is then empty.
    ``needs`` may be left unanswered: the window then holds what could be done without an answer.
    ``compactions`` are those this step tried, to be audited before the window is sent.
    ``delivers`` are the ``once:`` slots in its tail: delivered once the model has answered.
    """

    messages: tuple[JsonObject, ...]
    tools: tuple[JsonObject, ...]
    ledger: LedgerReport
    actions: tuple[Action, ...] = ()
    needs: tuple[Need, ...] = ()
    offloads: tuple[Offload, ...] = ()
    stable: int = 0
    compactions: tuple[Compaction, ...] = ()
    delivers: tuple[str, ...] = ()
