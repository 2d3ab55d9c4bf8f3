"""A made-up ticket desk: plain functions. Docstring and signature are what the model sees."""

from __future__ import annotations

from typing import Any

COUNT = 140
STATES = ("open", "waiting", "closed")


def list_tickets(state: str = "") -> dict[str, Any]:
    """All tickets; with `state` only those in it (open, waiting, closed)."""
    rows = [_ticket(number) for number in range(1, COUNT + 1)]
    found = [row for row in rows if not state or row["state"] == state]
    return {"items": found, "total": len(found)}


def count_tickets(state: str = "") -> dict[str, Any]:
    """How many tickets there are; with `state` how many are in it."""
    return {"state": state or "any", "count": list_tickets(state)["total"]}


def read_log(ticket_id: str) -> str:
    """The log of one ticket, oldest line first."""
    lines = [f"{minute:04d} {ticket_id} poll ok, queue {minute * 7 % 31}" for minute in range(300)]
    lines[163] = f"0163 {ticket_id} ERROR certificate expired (E-4471)"
    return "\n".join(lines)


def close_ticket(ticket_id: str, note: str) -> dict[str, Any]:
    """Close a ticket with a note."""
    return {"id": ticket_id, "state": "closed", "note": note}


def _ticket(number: int) -> dict[str, Any]:
    return {
        "id": f"T-{1000 + number}",
        "state": STATES[number % len(STATES)],
        "title": f"Terminal {number % 23} does not answer",
        "opened": f"2026-03-{1 + number % 28:02d}T08:{number % 60:02d}:00Z",
        "contact": {"name": f"Person {number}", "room": f"B{number % 40:03d}"},
        "history": [f"seen by agent {number % 5}", "sent to second line"],
    }
