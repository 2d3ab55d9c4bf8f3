"""The tool array of a window: its bytes change only when what may be called really changed.

First stand the tools that are always there, by source and name. What comes later (a tool that a
search has loaded, the readers once a ref is shown) is appended in the order in which it came, so
the bytes before it stay as they were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from contextctl.core.count import TOKENS_PER_TOOL_ARRAY, json_text, tool_tokens
from contextctl.core.fold.state import State
from contextctl.core.tools.defer import split
from contextctl.core.tools.native_search import discovered, marked, search_entry
from contextctl.core.tools.search import OnDemand, search_specs
from contextctl.core.tools.workspace import WORKSPACE_TOOLS
from contextctl.model.ledger import Action
from contextctl.model.message import JsonObject, ToolSpec
from contextctl.model.record import ToolsActivated

_WRITE = "write_workspace"
# The provider's own description of its search tool, which nobody publishes; about this long.
_NATIVE_SEARCH_TOKENS = 60


def refresh_tools(state: State) -> None:
    """Build the array again if something it depends on has changed."""
    if not state.tools_dirty:
        return
    state.tools_dirty = False
    listed = _listed(state)
    decided = split(
        listed,
        state.profile.defer,
        enabled=state.profile.remedies.disclose,
        waiting=state.sources_waiting,
        standing=state.tools_standing,
    )
    state.deferred, state.resident = dict(decided.deferred), frozenset(decided.resident)
    state.why_deferred = decided.why
    base = dict(decided.resident)
    demand = on_demand(state)
    known = {spec.name for tools in listed.values() for spec in tools}
    if demand.own_tools:
        base.update((s.name, s) for s in search_specs(state.deferred, by_call=demand.by_call))
    workspace = [name for name in state.profile.workspace.tools if name not in known]
    state.readers = frozenset(workspace) | demand.own_tools
    if _WRITE in workspace:
        base[_WRITE] = WORKSPACE_TOOLS[_WRITE]
    specs = base | _appended(state, [name for name in workspace if name != _WRITE])
    _put(state, specs, demand)
    _tell(state, decided.why, specs, demand)


def activate(state: State, event: ToolsActivated) -> None:
    """Tools that a search found: loaded from here on."""
    load(state, event.names)


def load(state: State, names: Iterable[str]) -> None:
    """Note tools as loaded, each once, in the order in which they were found."""
    for name in names:
        if name not in state.loaded:
            state.loaded.append(name)
            state.tools_dirty = True


def load_at_batch(state: State) -> None:
    """The prefix is being rewritten anyway: what ``call_tool`` was used for joins the array."""
    if state.loaded_in_array != len(state.loaded):
        state.loaded_in_array = len(state.loaded)
        state.tools_dirty = True


def keep_discovered(state: State) -> None:
    """Send unmarked what the provider's search found in a message that has left the window."""
    if not (state.loaded and on_demand(state).native):
        return
    shown = {name for piece in state.view.pieces for name in discovered(piece.message)}
    lost = [name for name in state.loaded if name not in shown and name not in state.unmarked]
    if lost:
        state.unmarked += lost
        state.tools_dirty = True


def on_demand(state: State) -> OnDemand:
    """The tools on demand as they stand."""
    rule = state.profile.defer
    native = rule.via == "native"
    by_call = rule.activation == "call" and not native
    return OnDemand(state.deferred, frozenset(state.loaded), by_call=by_call, native=native)


def _listed(state: State) -> dict[str, list[ToolSpec]]:
    """What may be called, by source and name; the profile's tools first."""
    return {
        source: sorted(
            (spec for spec in state.listed[source] if _allowed(state, spec.name)),
            key=lambda spec: spec.name,
        )
        for source in sorted(state.listed, key=lambda name: (name != "profile", name))
    }


def _allowed(state: State, tool: str) -> bool:
    rule = state.profile.tools.get(tool)
    return rule is None or rule.permission != "deny"


def _appended(state: State, readers: list[str]) -> dict[str, ToolSpec]:
    """What stands behind the base, in the order in which it came."""
    demand = on_demand(state)
    loaded = state.loaded if not demand.by_call else state.loaded[: state.loaded_in_array]
    there = {} if demand.native else {n: state.deferred[n] for n in loaded if n in state.deferred}
    if state.refs_shown:
        there |= {name: WORKSPACE_TOOLS[name] for name in readers}
    kept = [name for name in state.appended if name in there]
    state.appended = kept + [name for name in there if name not in state.appended]
    return {name: there[name] for name in state.appended}


def _put(state: State, specs: Mapping[str, ToolSpec], demand: OnDemand) -> None:
    """Write the array down with the tokens of each source, unless it is the one that stands."""
    entries: list[tuple[JsonObject, str, int]] = []
    if demand.native and demand.deferred:
        for name, spec in demand.deferred.items():
            entry = spec.to_openai() if name in state.unmarked else marked(spec.to_openai())
            tokens = _size(state, spec) if name in demand.loaded else 0
            entries.append((entry, spec.source, tokens))
        search = search_entry(state.profile.model.name)
        entries.append((search, "contextctl", _NATIVE_SEARCH_TOKENS))
    entries += [(spec.to_openai(), spec.source, _size(state, spec)) for spec in specs.values()]
    tools = tuple(entry for entry, _, _ in entries)
    chain = [(_mark(entry), tokens) for entry, _, tokens in entries]
    mark = hashlib.sha256(b"".join(one for one, _ in chain)).digest() if chain else b""
    parts: dict[str, int] = {}
    for _, source, tokens in entries:
        parts[f"tools_schema.{source}"] = parts.get(f"tools_schema.{source}", 0) + tokens
    parts = {part: tokens for part, tokens in parts.items() if tokens}
    if parts:
        parts[next(iter(parts))] += TOKENS_PER_TOOL_ARRAY
    state.tool_parts, state.tool_chain = parts, chain
    if mark != state.tools_mark:
        state.tools_changed = state.step > 0
        state.tools, state.tools_mark = tools, mark


def array_sent(state: State) -> None:
    """The array went out with a window: what it deferred and what it showed stay so."""
    state.tools_changed, state.tools_sent = False, state.tool_chain
    state.sources_waiting = {**state.sources_waiting, **state.why_deferred}
    state.tools_standing |= state.resident


def held_tool_tokens(state: State) -> int:
    """Tokens of the array up to the first tool that is not as it was sent last."""
    held = 0
    for now, before in zip(state.tool_chain, state.tools_sent, strict=False):
        if now[0] != before[0]:
            break
        held += now[1]
    return held + TOKENS_PER_TOOL_ARRAY if held else 0


def _tell(
    state: State, why: Mapping[str, str], specs: Mapping[str, ToolSpec], demand: OnDemand
) -> None:
    """One action for each deferred source: what its schemas would take, and what they take."""
    before: dict[str, int] = {}
    after: dict[str, int] = {}
    for name, spec in state.deferred.items():
        size = _size(state, spec)
        before[spec.source] = before.get(spec.source, 0) + size
        if name in specs or (demand.native and name in demand.loaded):
            after[spec.source] = after.get(spec.source, 0) + size
    state.waiting_schemas = {
        f"tools_schema.{source}": tokens - after.get(source, 0) for source, tokens in before.items()
    }
    deferrals: dict[str, Action] = {}
    for source, tokens in before.items():
        action = Action(
            kind="defer",
            target=source,
            bucket="tools_schema",
            tokens_before=tokens,
            tokens_after=after.get(source, 0),
            rule=why[source],
            origin=state.profile.origin(why[source]),
        )
        deferrals[source] = action
        if state.deferrals.get(source) != action:
            state.take(action)
    state.deferrals = deferrals


def _size(state: State, spec: ToolSpec) -> int:
    known = state.tool_sizes.get(spec.name)
    if known is None or known[0] is not spec:
        known = (spec, tool_tokens(spec, state.counter))
        state.tool_sizes[spec.name] = known
    return known[1]


def _mark(entry: JsonObject) -> bytes:
    return hashlib.sha256(json_text(entry).encode("utf-8", "surrogatepass")).digest()
