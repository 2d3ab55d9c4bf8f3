"""The lists of tools that servers gave last, kept for runs that may start none (SPEC R2).

They stand beside the runs, in the working directory's ``.contextctl/mcp``, one file for each
server as a profile declares it. They are a copy of what the records hold and may be deleted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import cast

from contextctl.errors import UsageError
from contextctl.io.mcp.missing import Missing
from contextctl.io.runs.folder import HOME, safe_name
from contextctl.io.text.files import write_atomic
from contextctl.model.failure import INDEX
from contextctl.model.message import JsonObject, ToolSpec, tool_from_openai
from contextctl.model.outcome import ToolOutcome
from contextctl.model.own_sources import server_source
from contextctl.model.profile import Profile, pointer_to

_DECLARES = ("command", "url", "include")
_HASH_CHARS = 12


class RecordedServers:
    """Servers of which only the last list is known. Nothing can be called."""

    def __init__(self, specs: Sequence[ToolSpec], warnings: Sequence[str]) -> None:
        self._specs = tuple(specs)
        self.warnings = list(warnings)
        self.missing: list[Missing] = []

    def specs(self) -> tuple[ToolSpec, ...]:
        """What the servers offered when they were last listed."""
        return self._specs

    def call(self, name: str, arguments: JsonObject) -> ToolOutcome:
        """Nothing runs here."""
        del arguments
        return ToolOutcome(f"error: '{name}' was not run: a dry run calls nothing", "error",
                           failure=INDEX)  # fmt: skip

    def has_effects(self, name: str) -> bool:
        """Nothing runs here."""
        del name
        return False

    def close(self) -> None:
        """Nothing was opened."""


def keep_lists(
    profile: Profile, specs: Sequence[ToolSpec], base: Path, missing: Iterable[Missing] = ()
) -> None:
    """Write down what each server of ``profile`` offers; of one that is ``missing`` as a whole what
    it offered last stays. A folder that takes no file is fine."""
    gone = {one.server for one in missing if not one.tool}
    for name in profile.mcp:
        if name in gone:
            continue
        tools = [spec.to_openai() for spec in specs if spec.source == server_source(name)]
        text = json.dumps({"server": name, "tools": tools}, ensure_ascii=False, indent=1)
        path = _path(profile, name, base)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            data = text.encode("utf-8", "backslashreplace")
            if not path.exists() or path.read_bytes() != data:
                write_atomic(path, data)
        except OSError:
            return


def recorded_servers(profile: Profile, base: Path) -> RecordedServers:
    """The last lists of all servers of ``profile``.

    Raises ``UsageError`` that names the first required server that was never listed here.
    """
    specs: list[ToolSpec] = []
    warnings: list[str] = []
    for name, rule in profile.mcp.items():
        path = _path(profile, name, base)
        if path.exists():
            specs += _read(path, name)
            continue
        origin = profile.origin(pointer_to(("mcp", name)))
        missing = f"{origin + ': ' if origin else ''}the tools of MCP server '{name}' were never"
        missing += " recorded here, and a dry run starts no server"
        if rule.required:
            raise UsageError(
                f"{missing}; list them by contextctl doctor, or run once without --dry-run, or set"
                " 'required: false'"
            )
        warnings.append(missing)
    return RecordedServers(specs, warnings)


def _path(profile: Profile, name: str, base: Path) -> Path:
    """The file for a server. Its written declaration counts, so a secret is no part of it."""
    written = cast("JsonObject", cast("JsonObject", profile.to_json()["mcp"])[name])
    text = json.dumps({key: written.get(key) for key in _DECLARES}, ensure_ascii=False)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]
    return base / HOME / "mcp" / f"{safe_name(name)}-{digest}.json"


def _read(path: Path, server: str) -> Iterator[ToolSpec]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        yield from [tool_from_openai(tool, server_source(server)) for tool in value["tools"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"'{path}' does not hold the tools of MCP server '{server}' ({error}); delete it and "
            "run once without --dry-run"
        ) from error
