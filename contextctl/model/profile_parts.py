"""The parts of a profile: one frozen value for every section of the file, with its defaults.

Each field has the name of its key. A field that is ``None`` was not set; what that means stands in
the class. Sizes are tokens unless a name says otherwise, shares are fractions of ``usable``
(window less ``reserve_output``). ``schemas/profile.schema.json`` documents the same keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from contextctl.model.message import Json

STABILITIES = ("static", "profile", "task", "turn", "step")
PINS = ("task", "constraints", "confirmed_slots", "citations", "todo", "open_tool_calls")
READER_TOOLS = ("read_workspace", "search_workspace", "fetch", "view_tool_call", "write_workspace")


@dataclass(frozen=True, slots=True)
class ZoneInts:
    """One number for each zone. Past ``danger`` (overflow) the danger number holds."""

    safe: int
    warn: int
    danger: int

    def at(self, zone: str) -> int:
        """The number for ``zone``."""
        return self.safe if zone == "safe" else self.warn if zone == "warn" else self.danger


@dataclass(frozen=True, slots=True)
class Fallback:
    """A model to try when the first one fails. ``window`` None: from the model map."""

    name: str
    window: int | None = None


@dataclass(frozen=True, slots=True)
class ModelRule:
    """The model and its window. ``window`` None is ``auto``: the model map's *input* limit.

    ``params`` and ``api_base`` may hold secrets, so they stay out of the repr.
    """

    name: str
    window: int | None = None
    reserve_output: int = 4096
    params: Mapping[str, Json] = field(default_factory=dict, repr=False)
    api_base: str | None = field(default=None, repr=False)
    fallbacks: tuple[Fallback, ...] = ()
    timeout_s: float = 120
    retries: int = 3


@dataclass(frozen=True, slots=True)
class Zones:
    """Where ``warn`` and ``danger`` begin, as ratios of the budget's basis."""

    warn: float = 0.60
    danger: float = 0.85


@dataclass(frozen=True, slots=True)
class Reduce:
    """A batch of reductions starts above ``trigger`` and goes down to ``target``."""

    trigger: float = 0.65
    target: float = 0.50


@dataclass(frozen=True, slots=True)
class Budget:
    """``caps`` go by bucket or part (``system.core``).

    Up to 1 a cap is a fraction of usable, above it tokens.
    """

    basis: str = "usable"
    zones: Zones = Zones()
    reduce: Reduce = Reduce()
    caps: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PrefixLayer:
    """One resident layer: one of ``file``, ``text``, ``index`` and ``environment`` is declared.

    ``text`` holds the file's content when ``file`` is set. ``index`` is ``skills`` or ``memory``.
    ``environment`` lists the readings to show: ``date``, ``timezone``, ``platform``, ``workspace``.
    """

    id: str
    file: str | None = None
    text: str = ""
    index: str | None = None
    environment: tuple[str, ...] = ()
    stability: str = "static"

    @property
    def kind(self) -> str:
        """``file``, ``text``, ``index`` or ``environment``."""
        if self.environment:
            return "environment"
        if self.index is not None:
            return "index"
        return "text" if self.file is None else "file"


@dataclass(frozen=True, slots=True)
class Knowledge:
    """A folder of documents, and the line that tells the model when to search it."""

    path: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class IndexRule:
    """The size of an index layer: of each line, and of all of it (None: no limit).

    The names always stay; what a thing is for is cut, the longest first.
    """

    line_tokens: int = 20
    total_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Disclosure:
    """What is loaded only when asked for: skill folders and knowledge bases by name."""

    skills: tuple[str, ...] = ()
    index: IndexRule = IndexRule()
    knowledge: Mapping[str, Knowledge] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recall:
    """Search over older turns: the ``top_k`` best are shown, each labelled with its turn."""

    enabled: bool = False
    top_k: int = 3


@dataclass(frozen=True, slots=True)
class Digest:
    """How much the frozen digest of trimmed steps carries besides their calls.

    Facts (identifiers, paths, amounts) take up to ``step_tokens`` tokens a step plus ``share`` of
    the tokens removed.
    """

    step_tokens: float = 10.0
    share: float = 0.15


@dataclass(frozen=True, slots=True)
class History:
    """What stays of old turns.

    ``live_share``: a batch also starts when the steps since the last one take more than this share
    of what is left of usable beside system and tools; None: only the reduce trigger starts one.
    ``recent_share``: the share a batch leaves untouched, newest steps first; None: it goes down to
    the reduce target and to ``keep_turns``.
    """

    strategy: str = "summary_recent"
    keep_turns: ZoneInts = ZoneInts(12, 6, 3)
    recall: Recall = Recall()
    digest: Digest = Digest()
    live_share: float | None = None
    recent_share: float | None = None


@dataclass(frozen=True, slots=True)
class Retrieval:
    """How many retrieved passages enter, by zone."""

    top_k: ZoneInts = ZoneInts(8, 5, 3)


@dataclass(frozen=True, slots=True)
class CompactWhen:
    """What starts a compaction. ``every_steps`` None: never by counting."""

    stage_end: bool = True
    ratio: float = 0.85
    every_steps: int | None = None


@dataclass(frozen=True, slots=True)
class Summarizer:
    """``mechanical`` extracts without a model; ``model`` asks ``model``, in chunks that fit.

    ``api_base`` None: the profile's own, where the provider is the same.
    """

    kind: str = "mechanical"
    model: str | None = None
    window: int | None = None
    max_tokens: int = 800
    chunk_tokens: int = 6000
    api_base: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Pause:
    """``after`` compactions that each save under ``min_saving`` of the window, tries stop until
    the window has grown by ``resume_growth``."""

    min_saving: float = 0.10
    after: int = 2
    resume_growth: float = 0.10


@dataclass(frozen=True, slots=True)
class Compaction:
    """The last remedy. Results over ``pre_compact_over`` get their short form ready at once."""

    when: CompactWhen = CompactWhen()
    protect_steps: int = 5
    pre_compact_over: int = 2500
    summarizer: Summarizer = Summarizer()
    pause: Pause = Pause()
    max_generation: int = 5


@dataclass(frozen=True, slots=True)
class WorkspaceRule:
    """``path`` None is the run's own folder; ``size_limit`` (bytes) None: nothing is evicted.

    ``tools`` are the reader tools the model gets.
    """

    path: str | None = None
    offload_over: int = 4000
    size_limit: int | None = None
    tools: tuple[str, ...] = READER_TOOLS


@dataclass(frozen=True, slots=True)
class Stores:
    """``sqlite``, or a database URL. ``leases`` are in files of the run, or in PostgreSQL."""

    audit: str = field(default="sqlite", repr=False)
    memory: str = field(default="sqlite", repr=False)
    leases: str = field(default="files", repr=False)


@dataclass(frozen=True, slots=True)
class Extractor:
    """The model that proposes memories for ``memory.extract: model``; None: the profile's own.

    ``max_tokens`` is the largest answer. ``api_base`` None: the profile's own, where the provider
    is the same.
    """

    model: str | None = None
    window: int | None = None
    max_tokens: int = 800
    api_base: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class MemoryRule:
    """Long-term memory: what may be written and how much is recalled.

    ``min_relevance`` (0 to 1) is what a memory must share with a question to be recalled;
    ``ttl_days`` None: memories do not expire by themselves. ``extract`` says how candidates are
    found in what a user said: ``rules``, ``model`` or ``off``. ``index_items`` bounds the index
    layer. ``embeddings`` None: recall goes by meaning too where the encoder is installed.
    """

    enabled: bool = False
    min_confidence: float = 0.8
    kinds: tuple[str, ...] = ("preference", "fact", "constraint", "lesson")
    max_items: int = 5
    half_life_days: float = 90
    min_relevance: float = 0.3
    ttl_days: float | None = None
    extract: str = "rules"
    extractor: Extractor = Extractor()
    index_items: int = 20
    embeddings: bool | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The task ledger: todo tree, outputs, brief.

    A run that has not been heard of for ``lease_s`` seconds no longer owns its tasks.
    """

    enabled: bool = True
    lease_s: float = 60


@dataclass(frozen=True, slots=True)
class Subagent:
    """A delegate with its own window; ``inherit`` are the pins its brief carries.

    ``max_cost`` (USD, None: no limit of its own) holds for each time it is asked.
    """

    profile: str
    description: str = ""
    max_steps: int = 12
    max_cost: float | None = None
    inherit: tuple[str, ...] = ("constraints",)


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a task ends. ``requests_per_minute`` None: no limit."""

    max_steps: int = 50
    max_depth: int = 2
    requests_per_minute: int | None = None
    done_when: str = "answer"


@dataclass(frozen=True, slots=True)
class Remedies:
    """Switches for the remedies, in the order they are tried."""

    shape: bool = True
    trim: bool = True
    disclose: bool = True
    offload: bool = True
    isolate: bool = True
    compact: bool = True

    @property
    def any_on(self) -> bool:
        """Whether anything may touch the window; with all of them off it is the record as it is."""
        on = self.shape or self.trim or self.disclose or self.offload
        return on or self.isolate or self.compact
