"""Output of any length in bounded memory: its head, its tail, and how much was between."""

from __future__ import annotations

from collections import deque

HEAD_BYTES = 8 * 1024 * 1024
TAIL_BYTES = 8 * 1024 * 1024


class Kept:
    """Collects bytes. Beyond head and tail together, the middle is counted and let go."""

    def __init__(self, head: int = HEAD_BYTES, tail: int = TAIL_BYTES) -> None:
        self._head_room = head
        self._tail_room = tail
        self._head: list[bytes] = []
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self.dropped = 0

    def add(self, chunk: bytes) -> None:
        """Take the next bytes."""
        if self._head_room:
            first = chunk[: self._head_room]
            self._head.append(first)
            self._head_room -= len(first)
            chunk = chunk[len(first) :]
        if chunk:
            self._tail.append(chunk)
            self._tail_size += len(chunk)
            self._let_go()

    def joined(self) -> bytes:
        """Everything kept, with a marker where something is missing."""
        head, tail = b"".join(self._head), b"".join(self._tail)
        if not self.dropped:
            return head + tail
        marker = f"\n[... {self.dropped:,} bytes of output were not kept ...]\n"
        return head + marker.encode() + tail

    def _let_go(self) -> None:
        while self._tail_size > self._tail_room:
            first = self._tail.popleft()
            over = min(len(first), self._tail_size - self._tail_room)
            self._tail_size -= over
            self.dropped += over
            if over < len(first):
                self._tail.appendleft(first[over:])
