"""Days as numbers, and the days that a question names, without a calendar of the machine."""

from __future__ import annotations

import re

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAME = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_ASKED = re.compile(
    r"(?P<im>\d{1,2})\s*月\s*(?P<id>\d{1,2})\s*[日号]"
    r"|\b\d{4}-(?P<sm>\d{2})-(?P<sd>\d{2})\b"
    rf"|\b(?P<an>{_NAME})\s+(?P<ad>\d{{1,2}})(?:st|nd|rd|th)?\b"
    rf"|\b(?P<bd>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<bn>{_NAME})(?![a-z])",
    re.IGNORECASE,
)


def day_number(day: str) -> int:
    """Days since the first of March of year 0 (proleptic Gregorian) of an ISO date."""
    year, month, date = int(day[:4]), int(day[5:7]), int(day[8:10])
    year -= month <= 2
    month = (month + 9) % 12
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + date - 1


def day_word(day: str) -> str:
    """The word under which a memory of an ISO date is found: its month and day, ``0508``."""
    return day[5:7] + day[8:10]


def asked_days(question: str) -> str:
    """The days a question names (``5月8日``, ``May 8th``, an ISO date), as day words."""
    words = []
    for found in _ASKED.finditer(question):
        month = found["im"] or found["sm"] or _month(found["an"] or found["bn"])
        date = found["id"] or found["sd"] or found["ad"] or found["bd"]
        words.append(f"{int(month):02}{int(date):02}")
    return " ".join(dict.fromkeys(words))


def _month(name: str) -> str:
    return str(_MONTHS.index(name[:3].lower()) + 1)
