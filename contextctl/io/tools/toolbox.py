"""The tools a profile declares: their schemas for the model, and each call to its end.

A call never raises: whatever goes wrong with the arguments, the permission or the tool becomes a
short error result, because the model is the one who can do something about it.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Protocol

from contextctl.errors import ToolError
from contextctl.io.mcp.missing import Missing
from contextctl.io.recorder.masking import masked_values
from contextctl.io.tools.arguments import check_schema, checked_arguments
from contextctl.io.tools.command import (
    default_parameters,
    filled,
    found_beside,
    run_command,
)
from contextctl.io.tools.http import call_http, url_parameters
from contextctl.io.tools.processes import RunningCommands
from contextctl.io.tools.python import call_function, load_function
from contextctl.io.tools.signature_schema import description_of, schema_of
from contextctl.model.arguments import ArgumentsError
from contextctl.model.failure import ARGUMENTS, ENVIRONMENT, GRANT, INDEX, TOOL
from contextctl.model.message import Json, JsonObject, ToolSpec
from contextctl.model.outcome import ToolOutcome
from contextctl.model.own_tools import own_tool_names
from contextctl.model.profile import Profile
from contextctl.model.tool_rules import ToolRule

_SHOWN_NAMES = 20

Run = Callable[[JsonObject, Mapping[str, str]], ToolOutcome]


@dataclass(frozen=True)
class _Tool:
    """A tool that can be called: what the model sees, and how to run it."""

    spec: ToolSpec
    run: Run


class Servers(Protocol):
    """Tools that servers offer (``io/mcp``). ``missing`` grows when a server is listed again."""

    missing: list[Missing]

    def specs(self) -> tuple[ToolSpec, ...]:
        """What all servers offer now."""

    def call(self, name: str, arguments: JsonObject) -> ToolOutcome:
        """Run one call; whatever goes wrong is an error result."""

    def has_effects(self, name: str) -> bool:
        """Whether a call must not be repeated, by what its server says."""

    def close(self) -> None:
        """End every connection."""


@dataclass(frozen=True)
class Toolbox:
    """The tools of one profile. Safe to use from many threads at once."""

    _tools: Mapping[str, _Tool]
    _denied: frozenset[str]
    _unbound: frozenset[str]
    _secrets: tuple[str, ...] = field(repr=False)
    _running: RunningCommands = field(repr=False)
    _servers: Servers | None = None

    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model may call: the profile's tools in its order, then those of its servers.

        Denied tools are not shown.
        """
        own = tuple(tool.spec for tool in self._tools.values())
        return (*own, *self._offered().values())

    def has_effects(self, name: str) -> bool:
        """Whether a call of ``name`` must not be repeated, by what its server says of it."""
        return self._servers is not None and self._servers.has_effects(name)

    def missing(self) -> tuple[Missing, ...]:
        """What servers should offer and do not, so far."""
        return () if self._servers is None else tuple(self._servers.missing)

    def call(self, name: str, arguments: str, call_id: str = "", task: str = "") -> ToolOutcome:
        """Run one call. ``arguments`` is the JSON text the model wrote.

        The tool runs only with arguments that fit its schema. No value that the profile took from
        the environment occurs in the result. Never raises for what a tool or a model does.
        """
        tool = self._tools.get(name)
        offered = None if tool is not None else self._offered().get(name)
        spec = offered if tool is None else tool.spec
        if spec is None:
            return _refused(*self._why_not(name))
        try:
            given = checked_arguments(arguments, spec.parameters)
        except ArgumentsError as error:
            return _refused(f"{error}; '{name}' was not run", ARGUMENTS)
        environment = {"CONTEXTCTL_CALL_ID": call_id, "CONTEXTCTL_TASK": task}
        try:
            if tool is not None:
                outcome = tool.run(given, environment)
            elif self._servers is not None:
                outcome = self._servers.call(name, given)
        except ToolError as error:
            outcome = _refused(str(error), ENVIRONMENT)
        if outcome.status == "error" and not outcome.failure:
            outcome = replace(outcome, failure=TOOL)
        return self._without_secrets(outcome)

    def close(self) -> None:
        """End all commands that are running, with everything they started, and every server."""
        self._running.end_all()
        if self._servers is not None:
            self._servers.close()

    def _offered(self) -> dict[str, ToolSpec]:
        """The tools of servers that are permitted, by name."""
        specs = () if self._servers is None else self._servers.specs()
        return {spec.name: spec for spec in specs if spec.name not in self._denied}

    def _without_secrets(self, outcome: ToolOutcome) -> ToolOutcome:
        extra = {
            key: masked_values(value, self._secrets) if isinstance(value, str) else value
            for key, value in outcome.extra.items()
        }
        return replace(outcome, content=masked_values(outcome.content, self._secrets), extra=extra)

    def _why_not(self, name: str) -> tuple[str, str]:
        """Why a tool cannot be called, and what kind of failure that is."""
        if name in self._denied:
            return f"'{name}' is not permitted by the profile and was not run", GRANT
        if name in self._unbound:
            text = f"'{name}' has a rule for its results in the profile, but nothing that runs it"
            return text, INDEX
        known = [*self._tools, *self._offered()]
        close = get_close_matches(name, known, n=3)
        if close:
            meant = ", ".join(f"'{other}'" for other in close)
            return f"there is no tool '{name}'; did you mean {meant}?", INDEX
        names = ", ".join(known[:_SHOWN_NAMES])
        left = len(known) - _SHOWN_NAMES
        more = f" and {left} more" if left > 0 else ""
        return f"there is no tool '{name}'; the tools are: {names or '(none)'}{more}", INDEX


def own_names(profile: Profile) -> tuple[str, ...]:
    """The names that no server's tool gets: of the tools that ``profile`` itself says how to run,
    and of those that contextctl offers beside them."""
    run = tuple(name for name, rule in profile.tools.items() if rule.kind != "none")
    return (*run, *own_tool_names(profile))


def open_tools(profile: Profile, servers: Servers | None = None) -> Toolbox:
    """Load and check every tool that ``profile`` says how to run. Starts nothing.

    ``servers`` are the profile's MCP servers, which the toolbox closes. Raises ``ToolError`` that
    names the tool, its place in the profile and what to change.
    """
    running = RunningCommands()
    tools: dict[str, _Tool] = {}
    for name, rule in profile.tools.items():
        if rule.kind == "none" or rule.permission == "deny":
            continue
        try:
            tools[name] = _tool(profile, name, rule, running)
        except ToolError as error:
            origin = profile.origin(f"/tools/{name}")
            raise ToolError(f"{origin}: {error}" if origin else str(error)) from error
    return Toolbox(
        _tools=tools,
        _denied=frozenset(n for n, rule in profile.tools.items() if rule.permission == "deny"),
        _unbound=frozenset(n for n, rule in profile.tools.items() if rule.kind == "none"),
        _secrets=tuple(profile.secrets.values()),
        _running=running,
        _servers=servers,
    )


def _tool(profile: Profile, name: str, rule: ToolRule, running: RunningCommands) -> _Tool:
    folders = _folders(profile, f"/tools/{name}/{rule.kind}")
    description = rule.description
    parameters: Mapping[str, Json] | None = rule.parameters
    if rule.python is not None:
        function = load_function(rule.python, folders, name)
        description = description or description_of(function)
        parameters = parameters if parameters is not None else schema_of(function, name)
        run: Run = partial(_run_python, function, rule.timeout_s)
    elif rule.http is not None:
        parameters = parameters if parameters is not None else url_parameters(rule.http)
        run = partial(_run_http, rule)
    else:
        command = rule.command
        if len(command) == 1 and " " in command[0]:
            command = tuple(shlex.split(command[0]))
        command = found_beside(command, folders[0])
        parameters = parameters if parameters is not None else default_parameters(command)
        declared = parameters.get("properties")
        known = declared if isinstance(declared, dict) else {}
        run = partial(_run_command, command, known, rule.timeout_s, running)
    parameters = {"type": "object", "properties": {}, **parameters}
    check_schema(name, parameters)
    return _Tool(ToolSpec(name, description, parameters), run)


def _folders(profile: Profile, pointer: str) -> tuple[Path, ...]:
    """Where a tool's files may lie: beside the file that declares it, beside the profile, here."""
    origin = profile.origin_of(pointer)
    files = [origin.path] if origin is not None and origin.line else []
    files += [profile.path] if profile.path else []
    folders = [Path(file).resolve().parent for file in files] + [Path.cwd()]
    return tuple(dict.fromkeys(folders))


def _run_python(
    function: Callable[..., object], timeout_s: float, given: JsonObject, _: Mapping[str, str]
) -> ToolOutcome:
    return call_function(function, given, timeout_s)


def _run_http(rule: ToolRule, given: JsonObject, _: Mapping[str, str]) -> ToolOutcome:
    if rule.http is None:
        raise ToolError("not an HTTP tool")
    return call_http(rule.http, given, rule.timeout_s)


def _run_command(
    command: tuple[str, ...],
    known: Mapping[str, Json],
    timeout_s: float,
    running: RunningCommands,
    given: JsonObject,
    environment: Mapping[str, str],
) -> ToolOutcome:
    words, stdin = filled(command, given, known)
    return run_command(words, stdin, timeout_s, running, environment)


def _refused(message: str, failure: str) -> ToolOutcome:
    return ToolOutcome(f"error: {message}", status="error", failure=failure)
