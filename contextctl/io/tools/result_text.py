"""What a tool returned, as text for a model: strict JSON, whole characters, no bytes."""

from __future__ import annotations

from typing import Any

from contextctl.io.text.unicode import whole_characters, whole_json
from contextctl.model.outcome import ToolOutcome

# The first bytes of formats that tools return most; anything else binary is an octet stream.
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"\x7fELF", "application/x-executable"),
)
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
# Encodings of text that is not UTF-8, tried strictly in this order; the last one reads any bytes.
_LEGACY = ("gb18030", "cp1252", "latin-1")


def outcome_of_value(value: Any) -> ToolOutcome:
    """The result of a Python function. Raises ``TypeError`` for a value that JSON cannot hold."""
    if isinstance(value, ToolOutcome):
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return outcome_of_bytes(bytes(value))
    if isinstance(value, str):
        return ToolOutcome(whole_characters(value))
    return ToolOutcome(json_text(value))


def outcome_of_bytes(data: bytes, media: str = "", charset: str = "") -> ToolOutcome:
    """Text where the bytes are text in any usual encoding, else a description beside the bytes.

    ``media`` and ``charset`` are what the sender declared, empty if it did not.
    """
    found = media if _is_binary_media(media) else _magic(data)
    if not found and not _looks_binary(data):
        return ToolOutcome(decoded(data, charset))
    kind = found or media or "application/octet-stream"
    return ToolOutcome(f"(binary result: {kind}, {len(data):,} bytes)", media=kind, data=data)


def decoded(data: bytes, charset: str = "") -> str:
    """``data`` as text: by its mark, its declared charset, as UTF-8, else by the first fit."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    for encoding in (charset or "utf-8", "utf-8"):
        try:
            return data.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
    if _mostly_utf8(data):
        return data.decode("utf-8", "replace")
    for encoding in _LEGACY:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise AssertionError("latin-1 reads any bytes")


def json_text(value: Any) -> str:
    """``value`` as strict JSON, digits kept: decimals and the numbers JSON lacks (NaN) are texts.

    Dataclasses, pydantic models, dates, enums, paths and sets are written as what they hold.
    Raises ``TypeError`` for anything else.
    """
    from pydantic_core import (  # only tools that return data pay for it
        PydanticSerializationError,
        to_json,
        to_jsonable_python,
    )

    try:
        return to_json(value, inf_nan_mode="strings", fallback=_array_or_refuse).decode("utf-8")
    except PydanticSerializationError as error:
        if "surrogate" not in str(error):
            raise TypeError(
                f"the result is not JSON: {error}; return text, a dict or a list"
            ) from None
    plain = whole_json(to_jsonable_python(value, fallback=_array_or_refuse))
    return to_json(plain, inf_nan_mode="strings").decode("utf-8")


def _array_or_refuse(value: Any) -> Any:
    """numpy's scalars and arrays, and tensors like them, know their plain form."""
    if callable(plain := getattr(value, "tolist", None)):
        return plain()
    raise TypeError(f"a value of type {type(value).__name__} is not JSON")


def _is_binary_media(media: str) -> bool:
    kind = media.partition("/")[0]
    return kind in {"image", "audio", "video", "font"} or media in {
        "application/pdf",
        "application/zip",
        "application/gzip",
        "application/octet-stream",
    }


def _magic(data: bytes) -> str:
    return next((media for start, media in _MAGIC if data.startswith(start)), "")


def _looks_binary(data: bytes) -> bool:
    head = data[:8192]
    if any(head.startswith(mark) for mark, _ in _MARKS):
        return False
    odd = sum(byte < 32 and byte not in b"\t\n\r\x0c\x1b\x08" for byte in head)
    return b"\0" in head or odd * 10 > len(head) > 0


def _mostly_utf8(data: bytes) -> bool:
    """A long UTF-8 text with a few broken bytes (a cut in the middle of a character)."""
    bad = data.decode("utf-8", "replace").count("\ufffd")
    multi = sum(1 for byte in data if byte >= 0xC2)
    return bad * 10 <= max(multi, 1)
