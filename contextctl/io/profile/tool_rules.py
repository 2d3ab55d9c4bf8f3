"""Rules about the tools of a profile: paths, pins, programs, and what long lists should have."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from importlib.machinery import PathFinder
from pathlib import Path

from contextctl.io.profile.rules import Found
from contextctl.model.profile import Profile, ToolRule, pointer_to

# A path into a record: names, each with any number of []; a name may hold anything but . and [].
_PATH = re.compile(r"[^.\[\]]+(\[\])*(\.[^.\[\]]+(\[\])*)*|\[\](\.[^.\[\]]+(\[\])*)*")
_LISTING = re.compile(r"(^|[_-])(list|search|query|find)([_-]|$)")


def paths(profile: Profile) -> Iterator[Found]:
    """Field, cursor and total paths can be read, and the cursor survives the whitelist (T1, T2)."""
    for name, rule in profile.tools.items():
        result = pointer_to(("tools", name, "result"))
        for index, path in enumerate(rule.result.fields or ()):
            if not _PATH.fullmatch(path):
                hint = "write it as 'customer.name' or 'items[].sku'"
                yield Found(f"{result}/fields/{index}", f"'{path}' is not a path", hint)
        page = rule.result.page
        for key, value in (("cursor", page.cursor), ("total", page.total)) if page else ():
            if value is not None and not _PATH.fullmatch(value):
                yield Found(f"{result}/page/{key}", f"'{value}' is not a path")
        fields = rule.result.fields
        if page and page.cursor and fields and not _kept(page.cursor, fields):
            message = f"the cursor '{page.cursor}' is not among 'fields', so records do not show it"
            yield Found(f"{result}/page/cursor", message, f"add '{page.cursor}'", "warning")


def pins(profile: Profile) -> Iterator[Found]:
    """A pin of a result belongs to a declared pin; it is a JMESPath, and so is a reminder."""
    for name, rule in profile.tools.items():
        for slot, expression in rule.result.remind.items():
            fault = _jmespath_fault(expression)
            if fault:
                pointer = pointer_to(("tools", name, "result", "remind", slot))
                yield Found(pointer, f"'{expression}' is no JMESPath: {fault}")
        for pin, expression in rule.result.pin.items():
            pointer = pointer_to(("tools", name, "result", "pin", pin))
            root = pin.partition(".")[0]
            if root not in profile.pins:
                close = get_close_matches(root, profile.pins, 1)
                known = f"there are {', '.join(profile.pins)}"
                hint = f"did you mean '{close[0]}'?" if close else known
                yield Found(pointer, f"there is no pin '{root}'", hint)
            fault = _jmespath_fault(expression)
            if fault:
                yield Found(pointer, f"'{expression}' is no JMESPath: {fault}")


def programs(profile: Profile) -> Iterator[Found]:
    """Commands and modules are there; nothing is run or imported to find out."""
    for name, rule in profile.tools.items():
        at = ("tools", name)
        if rule.command and shutil.which(rule.command[0]) is None:
            message = f"the program '{rule.command[0]}' is not found"
            yield Found(pointer_to((*at, "command")), message, severity="warning")
        if rule.python is not None and not _module_is_there(profile, name, rule):
            module = rule.python.partition(":")[0]
            message = f"the module '{module}' is neither installed nor beside the profile"
            yield Found(pointer_to((*at, "python")), message, severity="warning")
        if rule.kind in ("command", "http") and rule.parameters is None:
            message = f"the tool '{name}' has no 'parameters', so the model sees none"
            yield Found(pointer_to(at), message, severity="note")
    for name, server in profile.mcp.items():
        if server.command and shutil.which(server.command[0]) is None:
            message = f"the program '{server.command[0]}' is not found"
            yield Found(pointer_to(("mcp", name, "command")), message, severity="warning")


def lists(profile: Profile) -> Iterator[Found]:
    """List tools have an aggregate to count with and a whitelist (T8)."""
    offered = bool(profile.mcp)
    for name, rule in profile.tools.items():
        at = pointer_to(("tools", name))
        aggregate = rule.result.aggregate
        if aggregate and aggregate not in profile.tools and not offered:
            close = get_close_matches(aggregate, profile.tools, 1)
            hint = f"did you mean '{close[0]}'?" if close else ""
            message = f"the tool '{aggregate}' is not declared here"
            yield Found(f"{at}/result/aggregate", message, hint, "warning")
        if rule.result.disposable or not (rule.result.page or _LISTING.search(name)):
            continue
        missing = [
            key
            for key, value in (("aggregate", aggregate), ("fields", rule.result.fields))
            if not value
        ]
        if missing:
            message = f"the list tool '{name}' has no {' and no '.join(missing)}"
            yield Found(at, message, "questions that count or compare need them", "note")


def _kept(path: str, fields: tuple[str, ...]) -> bool:
    return any(path == field or path.startswith((field + ".", field + "[")) for field in fields)


def _jmespath_fault(expression: str) -> str:
    import jmespath
    from jmespath.exceptions import JMESPathError

    try:
        jmespath.compile(expression)
    except JMESPathError as error:
        return str(error).splitlines()[0].removesuffix(", for expression:")
    return ""


def _module_is_there(profile: Profile, name: str, rule: ToolRule) -> bool:
    """Whether the first part of the module is on the path; importing a package would run it."""
    origin = profile.origin_of(pointer_to(("tools", name, "python")))
    folders = [str(Path(path).parent) for path in (origin.path if origin else "", profile.path)]
    top = (rule.python or "").partition(":")[0].partition(".")[0]
    if top in sys.builtin_module_names:
        return True
    return PathFinder.find_spec(top, [*folders, str(Path.cwd()), *sys.path]) is not None
