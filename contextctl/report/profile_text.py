"""A resolved profile as YAML that can be read again, and the difference between two profiles."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from contextctl.model.message import Json, JsonObject
from contextctl.model.profile import Profile, pointer_parts, pointer_to, value_at

# Null says something here; elsewhere it only means that a key was not set.
_NULLABLE = frozenset(
    {
        "/compaction/when/every_steps",
        "/history/live_share",
        "/history/recent_share",
        "/limits/requests_per_minute",
        "/workspace/path",
        "/workspace/size_limit",
    }
)
# Text that no YAML reader takes for anything but text.
_PLAIN = re.compile(r"[A-Za-z_/][\w./@%+-]*")
# What YAML takes for a line break or refuses as it stands.
_INVISIBLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})


@dataclass(frozen=True, slots=True)
class Difference:
    """One value that differs. An origin is ``default`` where the value was not declared."""

    key: str
    before: Json
    before_origin: str
    after: Json
    after_origin: str


def shown_profile(profile: Profile) -> JsonObject:
    """The whole profile in its written form, without keys that say nothing."""
    tree = profile.to_json()
    model = tree["model"]
    if isinstance(model, dict) and model["window"] is None:
        model["window"] = "auto"
    layers = tree["prefix"]
    for layer in layers if isinstance(layers, list) else []:
        if isinstance(layer, dict) and (layer["file"] or layer["index"] or layer["environment"]):
            del layer["text"]
    pruned = {key: _pruned(value, f"/{key}") for key, value in tree.items()}
    return {key: value for key, value in pruned.items() if value != "" or key != "name"}


def profile_yaml(profile: Profile, *, origins: bool = False) -> str:
    """The profile as YAML; with ``origins`` every value ends with where it was set."""
    lines = list(_lines(shown_profile(profile), "", ""))
    if not origins:
        return "\n".join(text for text, _ in lines) + "\n"
    width = min(60, max(len(text) for text, pointer in lines if pointer))
    return "".join(
        f"{text:<{width}}  # {_origin(profile, pointer)}\n" if pointer else f"{text}\n"
        for text, pointer in lines
    )


def profile_differences(before: Profile, after: Profile) -> list[Difference]:
    """Every value that is not the same in both, in the order of a profile file."""
    left, right = (dict(_leaves(shown_profile(p), "")) for p in (before, after))
    return [
        Difference(
            ".".join(pointer_parts(pointer)),
            left.get(pointer),
            _origin(before, pointer),
            right.get(pointer),
            _origin(after, pointer),
        )
        for pointer in dict.fromkeys([*left, *right])
        if left.get(pointer) != right.get(pointer)
    ]


def differences_text(differences: list[Difference]) -> str:
    """One block of three lines for each difference."""
    return "\n".join(
        f"{d.key}\n  - {_flow(d.before)}  # {d.before_origin}\n  + {_flow(d.after)}"
        f"  # {d.after_origin}"
        for d in differences
    )


def _origin(profile: Profile, pointer: str) -> str:
    """Where exactly this value was set: a declared parent does not count."""
    found = profile.origins.get(pointer)
    if found is None and isinstance(value_at(profile.to_json(), pointer), list):
        found = profile.origins.get(f"{pointer}/0")
    return "default" if found is None else str(found)


def _pruned(value: Json, pointer: str) -> Json:
    if isinstance(value, dict):
        return {
            key: _pruned(item, f"{pointer}/{key}")
            for key, item in value.items()
            if _says_something(item, f"{pointer}/{key}")
        }
    if isinstance(value, list):
        return [_pruned(item, f"{pointer}/{i}") for i, item in enumerate(value)]
    return value


def _says_something(value: Json, pointer: str) -> bool:
    if value is None:
        return pointer in _NULLABLE
    may_go = pointer.startswith(("/prefix/", "/tools/", "/mcp/", "/subagents/"))
    return not (may_go and value in ("", [], {}) and not pointer.endswith("/text"))


def _lines(value: Json, indent: str, pointer: str) -> Iterator[tuple[str, str]]:
    """Lines of block YAML, each with the pointer of the value that stands whole in it."""
    if isinstance(value, dict):
        for key, item in value.items():
            at = pointer + pointer_to((key,))
            if _is_block(item):
                yield f"{indent}{_scalar(key)}:", ""
                yield from _lines(item, indent + "  ", at)
            else:
                yield f"{indent}{_scalar(key)}: {_flow(item)}", at
    elif isinstance(value, list):
        for index, item in enumerate(value):
            first, *rest = _lines(item, indent + "  ", f"{pointer}/{index}")
            yield f"{indent}- {first[0].strip()}", first[1]
            yield from rest


def _is_block(value: Json) -> bool:
    if isinstance(value, dict):
        return bool(value)
    return isinstance(value, list) and any(isinstance(item, dict) and item for item in value)


def _flow(value: Json) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_scalar(k)}: {_flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(item) for item in value) + "]"
    return _scalar(value)


def _scalar(value: Json) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    text = json.dumps(value, ensure_ascii=False)
    return _INVISIBLE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def _leaves(value: Json, pointer: str) -> Iterator[tuple[str, Json]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, pointer + pointer_to((key,)))
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for index, item in enumerate(value):
            yield from _leaves(item, f"{pointer}/{index}")
    else:
        yield pointer, value
