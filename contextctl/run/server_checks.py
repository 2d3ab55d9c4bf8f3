"""The MCP servers of a profile, started and listed once: what they offer, and what would wait."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from contextctl.core.tools.defer import OWN, PER_SERVER, Split, split
from contextctl.errors import ContextctlError
from contextctl.io.mcp.recorded import keep_lists
from contextctl.io.mcp.servers import McpServers, open_servers
from contextctl.io.recorder.masking import masked_values
from contextctl.io.tools.toolbox import own_names
from contextctl.model.check import Check, failed, fine, unknown
from contextctl.model.message import ToolSpec
from contextctl.model.own_sources import server_source
from contextctl.model.profile import Profile
from contextctl.run.offers import lists

MOST_S = 30.0
"""What a server may take here, whatever its own limit is: a check must end."""


def server_checks(profile: Profile, base: Path) -> Iterator[Check]:
    """One check for each server, in the profile's order, and one for each remark about it.

    What they offer is kept below ``base``, as after a run, for dry runs.
    """
    if not profile.mcp:
        return
    bounded = {
        name: replace(rule, required=False, timeout_s=min(rule.timeout_s, MOST_S))
        for name, rule in profile.mcp.items()
    }
    began = time.monotonic()
    try:
        servers = open_servers(replace(profile, mcp=bounded), own_names(profile))
    except ContextctlError as error:
        yield failed("mcp", str(error), "look at 'mcp' in the profile")
        return
    took = time.monotonic() - began
    with closing(servers):
        keep_lists(profile, servers.specs(), base, servers.missing)
        yield from _checks(profile, servers, took)


def _checks(profile: Profile, servers: McpServers, took: float) -> Iterator[Check]:
    denied = {name for name, rule in profile.tools.items() if rule.permission == "deny"}
    specs = [spec for spec in servers.specs() if spec.name not in denied]
    own = [
        ToolSpec(name, "", {}, OWN)
        for name, rule in profile.tools.items()
        if rule.kind != "none" and name not in denied
    ]
    listed = {event.source: event.tools for event in lists([*own, *specs], None)}
    decided = split(listed, profile.defer, enabled=profile.remedies.disclose)
    gone = {one.server: one.reason for one in servers.missing if not one.tool}
    for name in profile.mcp:
        check = f"mcp {name}"
        if name in gone:
            yield failed(check, gone[name], _next(profile, name))
            continue
        count = len(listed.get(server_source(name), ()))
        where = _where(decided, server_source(name), profile)
        yield fine(check, f"{count} tools{where}, listed within {took:.1f} s")
        yield from (
            unknown(check, f"the tool '{one.tool}' is left out: {one.reason}")
            for one in servers.missing
            if one.server == name and one.tool
        )


def _where(decided: Split, source: str, profile: Profile) -> str:
    """Whether a source's tools stand in the window or wait."""
    names = [spec.name for spec in decided.deferred.values() if spec.source == source]
    if not names:
        kept = any(spec.source == source for spec in decided.resident.values())
        return ", resident" if kept else ""
    rule = profile.defer
    count = (
        f"more than {rule.per_server}"
        if decided.why[source] == PER_SERVER
        else (f"more than {rule.total} in all")
    )
    stay = sum(spec.source == source for spec in decided.resident.values())
    return f", deferred ({count})" + (f", {stay} of them stay (defer.always)" if stay else "")


def _next(profile: Profile, name: str) -> str:
    rule = profile.mcp[name]
    if rule.url is not None:
        return f"start it, or mend mcp.{name}.url and .headers"
    command = masked_values(" ".join(rule.command), profile.secrets.values())
    return f"run it by hand ({command}), or mend mcp.{name}.command and .env"
