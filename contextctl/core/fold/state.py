"""The state of the fold: everything the next window depends on, kept as events arrive.

It belongs to one ``Fold`` and is advanced in place; nobody else sees it. It holds the text of a
message only while that message may still leave the window, so memory is bounded by the window.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

from contextctl.core.budget import Allowance, allowance
from contextctl.core.compaction.state import Compacting
from contextctl.core.count import Counter
from contextctl.core.fold.view import Piece, View
from contextctl.core.reading.refs import content_hash, make_ref
from contextctl.core.search.recall import OlderTurns
from contextctl.model.assembly import Need, Offload
from contextctl.model.ledger import Action
from contextctl.model.message import Json, JsonObject, ToolCall, ToolSpec
from contextctl.model.profile import Profile
from contextctl.model.record import MemoryRead, OutputSaved, Todo, event_id

DEFAULT_WINDOW = 32_768


@dataclass(slots=True)
class State:
    """The fold so far. ``seq`` and ``step`` count events and assistant steps from 1.

    ``at`` is the last event that may shape a window: what is settled carries its number, whether
    it was settled before or after events that say nothing.
    """

    profile: Profile
    counter: Counter
    view: View = field(default_factory=View)
    seq: int = 0
    at: int = 0
    step: int = 0
    task: str = ""
    session: str = "s"
    key: str = "00"
    factor: float = 1.0
    unseen: int = 0
    environment: dict[str, str] = field(default_factory=dict)
    environment_shown: dict[str, str] = field(default_factory=dict)
    indexes: dict[str, tuple[Mapping[str, Json], ...]] = field(default_factory=dict)
    indexes_shown: dict[str, tuple[Mapping[str, Json], ...]] = field(default_factory=dict)
    layers: dict[str, tuple[str, int, str]] = field(default_factory=dict)
    layers_changed: frozenset[str] = frozenset()
    listed: dict[str, tuple[ToolSpec, ...]] = field(default_factory=dict)
    tools: tuple[JsonObject, ...] = ()
    tool_parts: dict[str, int] = field(default_factory=dict)
    tools_mark: bytes = b""
    tools_dirty: bool = True
    readers: frozenset[str] = frozenset()
    tools_changed: bool = False
    tool_chain: list[tuple[bytes, int]] = field(default_factory=list)
    tools_sent: list[tuple[bytes, int]] = field(default_factory=list)
    tool_sizes: dict[str, tuple[ToolSpec, int]] = field(default_factory=dict)
    deferred: dict[str, ToolSpec] = field(default_factory=dict)
    resident: frozenset[str] = frozenset()
    why_deferred: Mapping[str, str] = field(default_factory=dict)
    sources_waiting: Mapping[str, str] = field(default_factory=dict)
    tools_standing: frozenset[str] = frozenset()
    deferrals: dict[str, Action] = field(default_factory=dict)
    waiting_schemas: dict[str, int] = field(default_factory=dict)
    loaded: list[str] = field(default_factory=list)
    loaded_in_array: int = 0
    appended: list[str] = field(default_factory=list)
    unmarked: list[str] = field(default_factory=list)
    open_calls: dict[str, ToolCall] = field(default_factory=dict)
    closed_calls: dict[str, str] = field(default_factory=dict)
    strays: list[Piece] = field(default_factory=list)
    question: Piece | None = None
    refs_shown: bool = False
    slots: dict[str, str] = field(default_factory=dict)
    once_shown: tuple[str, ...] = ()
    delivered: set[str] = field(default_factory=set)
    called: tuple[tuple[str, str], ...] = ()
    told_calls: set[str] = field(default_factory=set)
    memory_reads: dict[str, MemoryRead] = field(default_factory=dict)
    memory_calls: dict[str, frozenset[str]] = field(default_factory=dict)
    outputs: tuple[OutputSaved, ...] = ()
    brief: str = ""
    raw_parts: dict[str, int] = field(default_factory=dict)
    offloads: list[Offload] = field(default_factory=list)
    new_actions: list[Action] = field(default_factory=list)
    tail: tuple[JsonObject, int] | None = None
    pins: dict[str, str] = field(default_factory=dict)
    pin_sources: dict[str, str] = field(default_factory=dict)
    pins_shown: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    warned: set[str] = field(default_factory=set)
    todo: tuple[Todo, ...] = ()
    older_turns: OlderTurns = field(default_factory=OlderTurns)
    recalled_for: int = 0
    compacting: Compacting = field(default_factory=Compacting)
    waiting: Waiting | None = None
    zone_before: str = "safe"
    last_total: int = 0
    last_raw: int = 0

    @property
    def allowance(self) -> Allowance:
        """What a step may use, in our own tokens, under the calibration so far."""
        model = self.profile.model
        window = model.window or DEFAULT_WINDOW
        return allowance(self.profile.budget, window, model.reserve_output, self.factor)

    @property
    def fixed(self) -> int:
        """Tokens that no remedy can take: the system layers, the tool schemas, what is unseen."""
        system = sum(tokens for _, tokens, _ in self.layers.values())
        return system + sum(self.tool_parts.values()) + self.unseen

    @property
    def total(self) -> int:
        """Tokens of the window as it stands, tool schemas and tail block included."""
        tail = self.tail[1] if self.tail else 0
        return self.view.total + sum(self.tool_parts.values()) + self.unseen + tail

    @property
    def zone(self) -> str:
        """The zone of the window as it stands."""
        return self.allowance.zone(self.total, self.fixed)

    @property
    def event(self) -> str:
        """The name of the event being folded in."""
        return event_id(self.at)

    def book_raw(self, parts: dict[str, int]) -> None:
        """Count what an event would have cost had nothing ever been left out."""
        for part, tokens in parts.items():
            self.raw_parts[part] = self.raw_parts.get(part, 0) + tokens

    def offload(self, text: str, media: str = "text/plain") -> str:
        """Name ``text`` by its content, note that it must be stored, and return its ref."""
        sha256 = content_hash(text)
        ref = make_ref(self.session, self.key, sha256)
        self.offloads.append(Offload(ref=ref, sha256=sha256, text=text, media=media))
        self.bring_readers()
        return ref

    def bring_readers(self) -> None:
        """A ref that can be read is shown: what reads it stands in the array from here on."""
        if not self.refs_shown:
            self.refs_shown = True
            self.tools_dirty = True

    def save(self) -> Saved:
        """The state as it is now, to go back to."""
        other = copy.copy(self)
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, (dict, list, set)):
                setattr(other, one.name, copy.copy(value))
        other.view = self.view.copy()
        other.compacting = self.compacting.copy()
        return Saved(other, tuple(piece.settled for piece in other.view.pieces))

    def go_back(self, saved: Saved) -> None:
        """Be as ``saved`` was. It can be gone back to once."""
        for one in fields(self):
            setattr(self, one.name, getattr(saved.state, one.name))
        for piece, settled in zip(self.view.pieces, saved.settled, strict=True):
            piece.settled = settled

    def take(self, action: Action | None) -> None:
        """Note an action as taken by this step."""
        if action is not None:
            self.new_actions.append(replace(action, new=True))

    def warn(self, text: str) -> None:
        """Say something about this step once in the whole record."""
        if text not in self.warned:
            self.warned.add(text)
            self.warnings.append(text)


@dataclass(frozen=True, slots=True)
class Saved:
    """A state to go back to; ``settled`` are the marks of its pieces, which are shared."""

    state: State
    settled: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A summary that a model may still write. ``before`` is the state without its compaction."""

    need: Need
    trigger: str
    before: Saved
