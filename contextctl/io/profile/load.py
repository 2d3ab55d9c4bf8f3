"""Profiles read from disk: found, merged, filled in, validated, with every problem at once.

The order of layers, weakest first: the defaults in ``model.profile_parts``, what ``extends`` names,
the file itself, ``--set``. Then ``${VAR}`` is filled in, the JSON Schema is applied, paths are made
absolute, and the rules look at what is left.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from contextctl.errors import Problem, ProfileError
from contextctl.io.models.search import unsearchable
from contextctl.io.profile import disclosure as profile_disclosure
from contextctl.io.profile import rules as profile_rules
from contextctl.io.profile import tool_rules as profile_tool_rules
from contextctl.io.profile.chain import Chain, dotted, without_nulls
from contextctl.io.profile.names import find_profile
from contextctl.io.profile.notyet import not_yet
from contextctl.io.profile.paths import NamedPaths
from contextctl.io.profile.problems import Places, Way, ordered, pruned
from contextctl.io.profile.rules import Rule
from contextctl.io.profile.schema_lookup import meant, schema_at
from contextctl.io.profile.sets import with_sets
from contextctl.io.profile.shipped import schema
from contextctl.io.profile.validate import violations
from contextctl.io.profile.variables import Variables
from contextctl.io.profile.windows import unknown_windows
from contextctl.io.profile.yaml_nodes import Listing, Node, Place, Table, node_of, plain
from contextctl.model.message import JsonObject
from contextctl.model.profile import (
    Profile,
    command_fault,
    pointer_parts,
    profile_from_mapping,
)

RULES: tuple[Rule, ...] = (
    profile_rules.layers,
    profile_rules.thresholds,
    profile_rules.zone_values,
    profile_rules.sizes,
    profile_rules.caps,
    profile_rules.endings,
    profile_rules.secrets,
    unknown_windows,
    profile_tool_rules.paths,
    profile_tool_rules.pins,
    profile_tool_rules.programs,
    profile_tool_rules.lists,
    unsearchable,
    profile_disclosure.disclosure,
    profile_disclosure.delegates,
    not_yet,
)


def load_profile(
    name: str | os.PathLike[str],
    sets: Iterable[str] = (),
    env: Mapping[str, str] | None = None,
) -> Profile:
    """The profile of a path or bare name (``prod``), with ``sets`` (``KEY=VALUE``) put over it.

    ``env`` is where ``${VAR}`` is looked up, the process's environment by default. A window of
    ``auto`` stays None: ``model_windows.resolve_window`` fills it in. Raises ``ProfileError`` with
    all errors, and ``UsageError`` when there is no such profile or a set is malformed.
    """
    profile, problems = check_profile(name, sets, env)
    errors = tuple(problem for problem in problems if problem.severity == "error")
    if errors or profile is None:
        raise ProfileError(errors)
    return profile


def check_profile(
    name: str | os.PathLike[str],
    sets: Iterable[str] = (),
    env: Mapping[str, str] | None = None,
) -> tuple[Profile | None, tuple[Problem, ...]]:
    """The profile, or None if it has errors, and all problems in the order of the file.

    Raises ``UsageError`` when there is no such profile or a set is malformed.
    """
    file = find_profile(name)
    chain = Chain()
    tree = with_sets(chain.read(file), sets)
    if chain.incomplete and not tree.entries:
        return None, ordered(chain.problems)
    read = _Reading(file.shown, chain.folders, os.environ if env is None else env)
    profile, found = read.profile(tree)
    if chain.incomplete:  # what is missing may stand in the part that could not be read
        found = [problem for problem in found if not problem.message.endswith("is required")]
    problems = ordered([*chain.problems, *found])
    failed = any(problem.severity == "error" for problem in problems)
    return (None if failed else profile), problems


def profile_from_values(values: JsonObject, sets: Iterable[str] = ()) -> Profile:
    """A profile that stands in no file, with ``sets`` put over it.

    Raises ``ProfileError`` with all errors, and ``UsageError`` when a set is malformed.
    """
    tree = with_sets(cast("Table", node_of(values, Place("default"))), sets)
    profile, problems = _Reading("", {}, os.environ).profile(tree)
    errors = tuple(problem for problem in problems if problem.severity == "error")
    if errors or profile is None:
        raise ProfileError(errors)
    return profile


@dataclass(slots=True)
class _Reading:
    """One merged tree on its way to a profile."""

    shown: str
    folders: Mapping[str, Path]
    env: Mapping[str, str]

    def profile(self, tree: Table) -> tuple[Profile | None, list[Problem]]:
        """The profile that can be made of what is sound in ``tree``, and all problems."""
        tree, gone = without_nulls(tree)
        variables = Variables(self.env, schema("profile"))
        whole = variables.filled(tree)
        places = Places()
        places.add(whole)
        filled, emptied = without_nulls(cast("Table", whole))
        problems = [*variables.problems, *_unknown_nulls((*gone, *emptied), places)]
        raw = {_way(filled, pointer): text for pointer, text in variables.raw.items()}
        unset = {problem.key for problem in variables.problems}
        bad = {way for way in raw if dotted(way) in unset}
        for way, problem in _unsound(filled, raw, places):
            if way not in bad:
                problems.append(problem)
            bad.add(way)
        sound = cast("JsonObject", plain(pruned(filled, bad)))
        paths = NamedPaths(places, self.folders)
        paths.resolve(sound)
        problems += paths.problems
        try:
            profile = profile_from_mapping(
                sound,
                places.origins(),
                path=self.shown,
                raw_texts={**paths.raw, **variables.raw},
                secrets=variables.secrets,
            )
        except ValueError as error:
            if not problems:  # else something required is missing, and the schema has said so
                problems.append(places.problem((), str(error)))
            return None, problems
        return profile, [*problems, *_ruled(profile, filled, places)]


def _unsound(tree: Table, raw: Mapping[Way, str], places: Places) -> Iterator[tuple[Way, Problem]]:
    """Each value that no profile can be made of, and what is wrong with it."""
    mapping = cast("JsonObject", plain(tree))
    for way, message, suggestion, at_key in violations(mapping, raw):
        yield way, places.problem(way, message, suggestion, key=at_key)
    for way in _not_finite(tree):
        yield way, places.problem(way, "must be a finite number")
    for section in ("tools", "mcp"):
        rules = mapping.get(section)
        for name, rule in rules.items() if isinstance(rules, dict) else ():
            command = rule.get("command") if isinstance(rule, dict) else None
            fault = command_fault(command) if isinstance(command, str) else ""
            if fault:
                way = (section, name, "command")
                hint = "close the quotes, or write the command as a list"
                yield way, places.problem(way, fault, hint)


def _ruled(profile: Profile, tree: Table, places: Places) -> Iterable[Problem]:
    for rule in RULES:
        for found in rule(profile):
            way = _way(tree, found.pointer)
            yield places.problem(way, found.message, found.suggestion, found.severity, key=True)


def _unknown_nulls(
    gone: Sequence[tuple[tuple[str, ...], Place]], places: Places
) -> Iterable[Problem]:
    """Keys set to null are left out before the schema is applied; unknown ones are still told."""
    for way, place in gone:
        if schema_at(schema("profile"), way) is None:
            places.keys[way] = place
            hint = meant(schema("profile"), way[:-1], way[-1])
            yield places.problem(way, f"unknown key '{way[-1]}'", hint, key=True)


def _way(tree: Node, pointer: str) -> Way:
    """A JSON pointer as keys and indexes; a number is an index where the tree has a list."""
    way: list[str | int] = []
    here: Node | None = tree
    for part in pointer_parts(pointer):
        if isinstance(here, Listing):
            way.append(int(part))
            here = here.items[int(part)] if int(part) < len(here.items) else None
        else:
            way.append(part)
            entry = here.entries.get(part) if isinstance(here, Table) else None
            here = entry.node if entry else None
    return tuple(way)


def _not_finite(node: Node, way: Way = ()) -> Iterable[Way]:
    if isinstance(node, Table):
        for key, entry in node.entries.items():
            yield from _not_finite(entry.node, (*way, key))
    elif isinstance(node, Listing):
        for index, item in enumerate(node.items):
            yield from _not_finite(item, (*way, index))
    elif isinstance(node.value, float) and not math.isfinite(node.value):
        yield way
