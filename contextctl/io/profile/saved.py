"""A profile back from its saved form, as it stands in ``run.json``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import cast

from contextctl.io.profile.problems import Places
from contextctl.io.profile.shipped import schema
from contextctl.io.profile.variables import Variables
from contextctl.io.profile.yaml_nodes import Entry, Listing, Node, Place, Scalar, Table
from contextctl.model.message import Json, JsonObject
from contextctl.model.profile import Profile, profile_from_mapping

_SAVED = Place("run.json")


def restore_profile(saved: JsonObject, env: Mapping[str, str] | None = None) -> Profile:
    """The profile whose ``to_json()`` is ``saved``; its digest is the same.

    ``${VAR}`` is filled in again from ``env`` (the process's environment by default). What is not
    set keeps its text: a run can be looked at without its secrets. The texts of layers are those
    that were saved, not what their files hold now. Raises ``ValueError`` for a mapping that is no
    profile.
    """
    environment = os.environ if env is None else env
    variables = Variables(environment, schema("profile"), keep_unset=True)
    tree = variables.filled(_node(_without_file_texts(saved)))
    mapping = cast("JsonObject", Places().add(tree))
    for layer, written in zip(_layers(mapping), _layers(saved), strict=True):
        layer["text"] = written.get("text") if written.get("file") else layer.get("text")
    return profile_from_mapping(mapping, raw_texts=variables.raw, secrets=variables.secrets)


def _layers(mapping: JsonObject) -> list[JsonObject]:
    layers = mapping.get("prefix")
    return [la for la in layers if isinstance(la, dict)] if isinstance(layers, list) else []


def _without_file_texts(saved: JsonObject) -> JsonObject:
    """``saved`` less the contents of files: nothing in them is a variable."""
    layers: list[Json] = [
        {**layer, "text": None} if layer.get("file") else layer for layer in _layers(saved)
    ]
    return {**saved, "prefix": layers}


def _node(value: Json) -> Node:
    if isinstance(value, dict):
        return Table({key: Entry(_SAVED, _node(item)) for key, item in value.items()}, _SAVED)
    if isinstance(value, list):
        return Listing(tuple(_node(item) for item in value), _SAVED)
    return Scalar(value, _SAVED, str(value), plain=isinstance(value, str))
