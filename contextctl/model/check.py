"""One thing that was looked at."""

from __future__ import annotations

from dataclasses import dataclass

from contextctl.model.message import JsonObject


@dataclass(frozen=True, slots=True)
class Check:
    """``ok`` None: it could not be told, or was not tried. ``do``: the next edit when it failed."""

    name: str
    ok: bool | None
    detail: str
    do: str = ""

    def to_json(self) -> JsonObject:
        """The check as JSON; ``status`` is ``ok``, ``failed`` or ``unknown``."""
        status = "unknown" if self.ok is None else "ok" if self.ok else "failed"
        out: JsonObject = {"name": self.name, "status": status, "detail": self.detail}
        if self.do and self.ok is False:
            out["do"] = self.do
        return out


def fine(name: str, detail: str) -> Check:
    """It works."""
    return Check(name, ok=True, detail=detail)


def failed(name: str, detail: str, do: str) -> Check:
    """It does not work; ``do`` is the next edit."""
    return Check(name, ok=False, detail=detail, do=do)


def unknown(name: str, detail: str) -> Check:
    """It could not be told, or was not tried."""
    return Check(name, ok=None, detail=detail)
