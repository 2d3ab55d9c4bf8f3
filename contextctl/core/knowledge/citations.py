"""Citations in an answer: found, and looked up in the documents they name.

An answer may put them in brackets or not, in Chinese text without spaces around them; a citation
is whatever ends in a known document's id and is followed by a section and lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from contextctl.core.fold.isolation import ISOLATE
from contextctl.core.knowledge.documents import Library
from contextctl.model.document import Citation
from contextctl.model.record import PinSet, ResultArrived

_PLACE = re.compile(
    r"(?P<doc>[^\s#\[\]<>|\"'`]+)#(?P<section>p?\d+(?:\.\d+)*)"
    r"(?::?L(?P<first>\d+)(?:\s?[-–]\s?L?(?P<last>\d+))?)?"
)


def citations_in(text: str, library: Library) -> tuple[tuple[Citation, ...], tuple[str, ...]]:
    """The places that ``text`` names, each once, and the citations that lead nowhere."""
    resolved: dict[str, Citation] = {}
    lost: dict[str, None] = {}
    for found in _PLACE.finditer(text):
        first, last = int(found["first"] or 0), int(found["last"] or 0)
        places = (
            library.resolve(name, found["section"], first, last) for name in _names(found["doc"])
        )
        place = next((one for one in places if one is not None), None)
        if place is None:
            lost[found[0]] = None
        else:
            resolved[str(place)] = place
    return tuple(resolved.values()), tuple(lost)


def citation_pins(pins: Sequence[str], result: ResultArrived) -> tuple[PinSet, ...]:
    """The places an answer about documents stands on, pinned where the profile pins citations: they
    outlive the answer when it leaves the window."""
    told = result.extra.get(ISOLATE)
    places = told.get("citations") if isinstance(told, dict) else None
    if "citations" not in pins or not isinstance(places, list) or not places:
        return ()
    text = ", ".join(map(str, places))
    return (PinSet(f"citations.{result.call_id}", text, source=result.call_id),)


def _names(written: str) -> Iterator[str]:
    """What the id may be: all that stands there, then less and less of its beginning."""
    for start in range(min(len(written), 400)):
        yield written[start:]
