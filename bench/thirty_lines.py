"""The baseline, as one writes it by hand: exact memoised counts, cut to 60 % when full.

It keeps no ledger, names nothing it drops, and drops it for good. A result over a quarter of the
window is cut in the middle, else a heavy one would never fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class ByHand:
    """Messages in, the newest that fit out; call and result stay together."""

    def __init__(self, count: Callable[[str], int], usable: int) -> None:
        self._count, self._usable = count, usable
        self._memo: dict[str, int] = {}
        self._head: list[dict[str, Any]] = []
        self._steps: list[list[dict[str, Any]]] = []
        self._first = 0

    def add(self, message: dict[str, Any]) -> None:
        """Append a message; an assistant message begins a step."""
        text = message.get("content") or ""
        if self._size(message) > self._usable // 4:
            message = {**message, "content": text[:2000] + "\n[...]\n" + text[-500:]}
        if message["role"] == "assistant":
            self._steps.append([message])
        else:
            (self._steps[-1] if self._steps else self._head).append(message)

    def fit(self) -> list[dict[str, Any]]:
        """The window: everything, until it is full; then the newest 60 %."""
        window = self._window()
        total = sum(map(self._size, window))
        if total > self._usable:
            while total > 0.6 * self._usable and self._first < len(self._steps) - 1:
                total -= sum(map(self._size, self._steps[self._first]))
                self._first += 1
            window = self._window()
        return window

    def _window(self) -> list[dict[str, Any]]:
        return [*self._head, *(m for step in self._steps[self._first :] for m in step)]

    def _size(self, message: dict[str, Any]) -> int:
        size = 4
        texts = [message.get("content") or ""]
        for call in message.get("tool_calls", ()):
            texts += [call["function"]["name"], call["function"]["arguments"]]
        for text in texts:
            if text not in self._memo:
                self._memo[text] = self._count(text)
            size += self._memo[text]
        return size
