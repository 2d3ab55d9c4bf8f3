"""Plain mappings into frozen dataclasses and back, by the type hints of their fields.

Only shapes are read here (a list becomes a tuple, a mapping its dataclass); whether a value makes
sense is for the JSON Schema to say.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from contextctl.model.message import Json

T = TypeVar("T")


def from_mapping(
    cls: type[T], mapping: Mapping[str, Json], where: str = "", default: T | None = None
) -> T:
    """Build ``cls`` from ``mapping``. A null value means the default.

    With ``default``, a key that is missing keeps the value it has there: ``{safe: 20}`` for turns
    by zone leaves the other zones as they are by default.

    Raises ``ValueError`` that names the dotted key (below ``where``) which is unknown, missing or
    of another shape.
    """
    hints = _hints(cls)  # type: ignore[arg-type]  # mypy does not see a type as hashable
    owns = _fields(cls)  # type: ignore[arg-type]  # as above
    values: dict[str, object] = {}
    for key, raw in mapping.items():
        if key not in hints:
            raise ValueError(f"unknown key '{_join(where, key)}'")
        if raw is not None:
            values[key] = _value(hints[key], raw, _join(where, key), _default(owns[key]))
    for name, own in owns.items():
        if name in values:
            continue
        if default is not None:
            values[name] = getattr(default, name)
        elif own.default is MISSING and own.default_factory is MISSING:
            raise ValueError(f"'{_join(where, name)}' is required")
    return cls(**values)


def to_mapping(value: object) -> Json:
    """``value`` as plain JSON data: dataclasses as objects in field order, tuples as lists."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_mapping(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_mapping(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_mapping(item) for item in value]
    return cast("Json", value)


@cache
def _hints(cls: type) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {f.name: hints[f.name] for f in fields(cls) if f.init}


@cache
def _fields(cls: type) -> dict[str, Field[Any]]:
    return {f.name: f for f in fields(cls) if f.init}


def _default(own: Field[Any]) -> object:
    if own.default_factory is not MISSING:
        return own.default_factory()
    return None if own.default is MISSING else own.default


def _value(hint: Any, raw: Json, where: str, default: object = None) -> object:
    origin, args = get_origin(hint), get_args(hint)
    if origin in (types.UnionType, Union):
        inner = [arg for arg in args if arg is not type(None)]
        return _value(inner[0], raw, where, default) if len(inner) == 1 else raw
    if origin is tuple:
        if not isinstance(raw, (list, tuple)):
            raise ValueError(f"'{where}' must be a list, got {type(raw).__name__}")
        return tuple(_value(args[0], item, f"{where}[{i}]") for i, item in enumerate(raw))
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(raw, Mapping):
            raise ValueError(f"'{where}' must be a mapping, got {type(raw).__name__}")
        items = ((str(k), v) for k, v in raw.items() if v is not None)
        return {k: _value(args[1], v, _join(where, k)) for k, v in items}
    if is_dataclass(hint) and isinstance(hint, type):
        if not isinstance(raw, Mapping):
            raise ValueError(f"'{where}' must be a mapping, got {type(raw).__name__}")
        return from_mapping(hint, raw, where, default if isinstance(default, hint) else None)
    if hint is float and isinstance(raw, int) and not isinstance(raw, bool):
        return raw
    if hint in (int, float, str, bool) and not isinstance(raw, hint):
        raise ValueError(f"'{where}' must be {hint.__name__}, got {type(raw).__name__} {raw!r}")
    return raw


def _join(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key
