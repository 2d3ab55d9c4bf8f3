"""Twelve tickets. A ticket says what it is about, in which tone to answer, and what is new."""

from __future__ import annotations

TONES = ("short and plain", "warm", "formal", "with the order number first")
ABOUT = ("a late parcel", "a wrong size", "a missing invoice", "a torn box", "a changed address")


def read_ticket(number: int) -> dict[str, object]:
    """Read one ticket."""
    order, about = f"SO-{4400 + 7 * number}", ABOUT[number % len(ABOUT)]
    return {
        "ticket": number,
        "order": order,
        "about": about,
        "text": f"Hello, I write about {about} of order {order}. Please tell me what you can do, "
        f"and by when. Kind regards, customer {number}",
        "tone": f"Answer {TONES[number % len(TONES)]}.",
        "notice": f"Ticket {number} has waited for {number + 2} hours.",
    }


def answer_ticket(number: int, text: str) -> str:
    """Send the answer to a ticket."""
    return f"answer to ticket {number} sent, {len(text)} characters"
