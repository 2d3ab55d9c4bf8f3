"""All servers of a profile: connected at the same time, merged in the profile's order."""

from __future__ import annotations

import asyncio
import atexit
import json
import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from contextctl.errors import ToolError
from contextctl.io.mcp.connection import Address, Connection, ServerFault
from contextctl.io.mcp.content import outcome_of_result
from contextctl.io.mcp.listing import ListedTool, Listing
from contextctl.io.mcp.loop import LoopThread
from contextctl.io.mcp.missing import Missing
from contextctl.io.mcp.names import NameBook
from contextctl.io.recorder.masking import masked_values
from contextctl.io.tools.command import found_beside
from contextctl.model.failure import ENVIRONMENT, INDEX
from contextctl.model.message import JsonObject, ToolSpec
from contextctl.model.outcome import ToolOutcome
from contextctl.model.own_sources import server_source
from contextctl.model.profile import Profile, pointer_to


@dataclass
class McpServers:
    """The servers of one run, asked from any thread. ``close`` ends them.

    ``warnings`` are sentences for a person, each said once; ``missing`` the same for the record.
    """

    _profile: Profile
    _loop: LoopThread = field(repr=False)
    _connections: Mapping[str, Connection] = field(repr=False)
    _names: NameBook = field(repr=False)
    _specs: dict[str, tuple[ToolSpec, ...]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    _effects: set[tuple[str, str]] = field(default_factory=set, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def specs(self) -> tuple[ToolSpec, ...]:
        """What all servers offer now, by server in the profile's order, then in the server's own.

        A server that said its tools have changed, or that was connected anew, is listed again.
        """
        with self._lock:
            changed = [name for name, one in self._connections.items() if one.changed]
            if changed:
                self.take(self._loop.run(_listed(self._connections, changed)))
            return tuple(spec for name in self._connections for spec in self._specs.get(name, ()))

    def call(self, name: str, arguments: JsonObject) -> ToolOutcome:
        """Run one call under the name the model knows; whatever goes wrong is an error result."""
        owner = self._names.owner(name)
        if owner is None:
            return ToolOutcome(f"error: no server offers '{name}'", "error", failure=INDEX)
        server, tool = owner
        try:
            raw = self._loop.run(self._connections[server].call(tool, arguments))
        except (ServerFault, CancelledError, asyncio.CancelledError) as fault:
            reason = str(fault) or "the run was stopped"
            uncertain = getattr(fault, "sent", True)
            tail = (
                "; whether the call took effect is not known"
                if uncertain
                else f"; '{name}' was not run"
            )
            text = f"error: server '{server}': {reason}{tail}"
            return ToolOutcome(text, "error", failure=ENVIRONMENT)
        return outcome_of_result(raw)

    def has_effects(self, name: str) -> bool:
        """Whether the tool's server says that a call of it must not be repeated."""
        return self._names.owner(name) in self._effects

    def close(self) -> None:
        """End every connection and every process the servers started."""
        atexit.unregister(self.close)
        self._loop.close(_closed(self._connections.values()))

    def take(self, listings: Mapping[str, Listing | ServerFault]) -> None:
        """Take in new lists. A server that cannot be listed again keeps the tools it had."""
        found: dict[str, tuple[ListedTool, ...]] = {}
        for name, one in listings.items():
            if isinstance(one, ServerFault):
                again = "its tools could not be listed again: " if name in self._specs else ""
                self._note(name, "", f"{again}{one}")
                continue
            found[name] = one.tools
            for warning in one.warnings:
                self._say(f"{self._at(name)}the MCP server '{name}': {warning}")
            for tool, reason in one.left_out:
                self._note(name, tool, reason)
        names = self._names.give(
            [(name, tool.name) for name, tools in found.items() for tool in tools]
        )
        for name, tools in found.items():
            self._specs[name] = tuple(self._spec(name, tool, names) for tool in tools)
            self._effects -= {key for key in self._effects if key[0] == name}
            self._effects |= {(name, tool.name) for tool in tools if tool.effects}

    def _note(self, server: str, tool: str, reason: str) -> None:
        reason = masked_values(reason, self._profile.secrets.values())
        if any((one.server, one.tool) == (server, tool) for one in self.missing):
            return
        self.missing.append(Missing(server, tool, reason))
        if server in self._specs and not tool:
            self._say(f"{self._at(server)}MCP server '{server}': {reason}")
            return
        what = f"the tool '{tool}' of MCP server '{server}'" if tool else f"MCP server '{server}'"
        self._say(f"{self._at(server)}{what} is left out: {reason}")

    def _say(self, warning: str) -> None:
        warning = masked_values(warning, self._profile.secrets.values())
        if warning not in self.warnings:
            self.warnings.append(warning)

    def _spec(
        self, server: str, tool: ListedTool, names: Mapping[tuple[str, str], str]
    ) -> ToolSpec:
        """The tool as the model sees it; a name that had to be changed stands in its description.

        No value that the profile took from the environment comes back in a server's words.
        """
        name, description = names[server, tool.name], tool.description
        if name != tool.name and not name.endswith(tool.name):
            description = f"{tool.name}: {description}" if description else tool.name
        parameters, secrets = tool.parameters, tuple(self._profile.secrets.values())
        if secrets:
            description = masked_values(description, secrets)
            text = json.dumps(parameters, ensure_ascii=False)
            parameters = json.loads(masked_values(text, secrets))
        return ToolSpec(name, description, parameters, source=server_source(server))

    def _at(self, server: str) -> str:
        origin = self._profile.origin(pointer_to(("mcp", server)))
        return f"{origin}: mcp.{server}: " if origin else ""


def open_servers(profile: Profile, taken: Iterable[str] = ()) -> McpServers:
    """Connect all servers of ``profile`` at once and list their tools.

    ``taken`` are names that are given already. Raises ``ToolError`` that names the first server,
    in the profile's order, that is required and cannot be had.
    """
    loop = LoopThread()
    connections = loop.run(_connections(profile))
    servers = McpServers(profile, loop, connections, NameBook(taken))
    atexit.register(servers.close)  # an interrupt may come before anybody else could close them
    try:
        listings = loop.run(_listed(connections, list(connections)))
        for name, one in listings.items():
            if isinstance(one, ServerFault) and profile.mcp[name].required:
                raise ToolError(_cannot_start(profile, name, str(one)))
        servers.take(listings)
    except BaseException:
        servers.close()
        raise
    return servers


async def _connections(profile: Profile) -> dict[str, Connection]:
    return {name: Connection(_address(profile, name)) for name in profile.mcp}


async def _listed(
    connections: Mapping[str, Connection], names: list[str]
) -> dict[str, Listing | ServerFault]:
    """The lists of several servers, asked for at the same time, in the order of ``names``."""
    if find_spec("mcp") is None:
        fault = ServerFault("MCP needs another package: pip install 'contextctl[mcp]'")
        return dict.fromkeys(names, fault)

    async def one(name: str) -> Listing | ServerFault:
        try:
            return await connections[name].listed()
        except ServerFault as fault:
            return fault

    return dict(zip(names, await asyncio.gather(*map(one, names)), strict=True))


async def _closed(connections: Iterable[Connection]) -> None:
    await asyncio.gather(*(one.close() for one in connections), return_exceptions=True)


def _address(profile: Profile, name: str) -> Address:
    rule = profile.mcp[name]
    origin = profile.origin_of(pointer_to(("mcp", name, "command")))
    file = origin.path if origin is not None and origin.line else profile.path
    folder = Path(file).resolve().parent if file else Path.cwd()
    return Address(name, rule, found_beside(rule.command, folder))


def _cannot_start(profile: Profile, name: str, reason: str) -> str:
    origin = profile.origin(pointer_to(("mcp", name)))
    at = f"{origin}: " if origin else ""
    reason = masked_values(reason, profile.secrets.values())
    return (
        f"{at}the MCP server '{name}' is required and cannot be started: {reason}; "
        "mend it, or set 'required: false' to run without its tools"
    )
