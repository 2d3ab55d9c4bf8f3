"""The record as a summariser reads it: who said what, in chunks that it can take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from contextctl.model.record import Event, MessageAdded, ResultArrived

# A message is shown this far from either end: what matters of a long result is in its digest, and
# the whole of it stays readable under the summary's refs.
HEAD_CHARS, TAIL_CHARS = 2_500, 800

Count = Callable[[str], int]


def transcript(events: Iterable[Event]) -> Iterator[str]:
    """One text for each message, call and result, in order."""
    for event in events:
        if isinstance(event, MessageAdded):
            message = event.message
            if message.role != "system" and message.text.strip():
                yield f"{message.role}: {_cut(message.text.strip())}"
            for call in message.tool_calls:
                yield f"assistant calls {call.name} {_cut(call.arguments)}"
        elif isinstance(event, ResultArrived):
            yield f"result of {event.name or 'a call'}: {_cut(event.content.strip())}"


def chunks(texts: Iterable[str], tokens: int, count: Count) -> Iterator[str]:
    """``texts`` joined into chunks of at most ``tokens`` tokens; one that is longer is divided."""
    held: list[str] = []
    size = 0
    for text in texts:
        for part in _parts(text, tokens, count):
            more = count(part) + 2
            if held and size + more > tokens:
                yield "\n\n".join(held)
                held, size = [], 0
            held.append(part)
            size += more
    if held:
        yield "\n\n".join(held)


def grouped(texts: Sequence[str], tokens: int, count: Count) -> list[list[str]]:
    """``texts`` in groups of at most ``tokens`` tokens; a longer one is a group by itself."""
    groups: list[list[str]] = []
    size = 0
    for text in texts:
        more = count(text) + 2
        if groups and size + more <= tokens:
            groups[-1].append(text)
            size += more
        else:
            groups.append([text])
            size = more
    return groups


def _parts(text: str, tokens: int, count: Count) -> Iterator[str]:
    """``text`` in parts that fit; halves of halves, so that no counter is asked too often."""
    if len(text) < 2 or count(text) + 2 <= tokens:
        yield text
        return
    middle = len(text) // 2
    yield from _parts(text[:middle], tokens, count)
    yield from _parts(text[middle:], tokens, count)


def _cut(text: str) -> str:
    if len(text) <= HEAD_CHARS + TAIL_CHARS + 40:
        return text
    left_out = len(text) - HEAD_CHARS - TAIL_CHARS
    return f"{text[:HEAD_CHARS]}\n[… {left_out:,} characters …]\n{text[-TAIL_CHARS:]}"
