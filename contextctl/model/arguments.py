"""The arguments of a tool call, as a model wrote them, read into an object or refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from contextctl.model.message import JsonObject

_SHOWN = 120  # characters of a refused text that are quoted back


class ArgumentsError(ValueError):
    """The text is not one JSON object. ``str(error)`` is a short sentence for the model."""


def read_arguments(raw: str) -> JsonObject:
    """The object that ``raw`` holds; blank text is the empty object.

    Raises ``ArgumentsError`` with the position of a syntax error, or with what is there instead of
    an object. Nothing is repaired: a guess would run the tool with arguments nobody gave.
    """
    if not raw.strip():
        return {}
    try:
        value = json.loads(raw, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno} (character {error.pos})"
        raise ArgumentsError(
            f"the arguments are not valid JSON: {error.msg} at {where}; received: {quoted(raw)}"
        ) from None
    except ArgumentsError:
        raise
    except ValueError:
        raise ArgumentsError(
            f"the arguments hold a number too long to read: {quoted(raw)}"
        ) from None
    except RecursionError:
        raise ArgumentsError(
            f"the arguments are nested too deeply; received: {quoted(raw)}"
        ) from None
    if not isinstance(value, dict):
        raise ArgumentsError(
            f"the arguments must be a JSON object, not {_kind(value)}; received: {quoted(raw)}"
        )
    return value


def quoted(raw: str, limit: int = _SHOWN) -> str:
    """``raw`` as one line in JSON quotes, cut at ``limit`` characters with the rest counted."""
    text = json.dumps(raw[:limit], ensure_ascii=False)
    return text if len(raw) <= limit else f"{text} and {len(raw) - limit:,} characters more"


def _refuse_constant(name: str) -> NoReturn:
    raise ArgumentsError(f"the arguments are not valid JSON: {name} is not a JSON number")


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "a number"
