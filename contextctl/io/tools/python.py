"""Tools that are Python functions: ``module:function``, loaded from the profile's folder."""

from __future__ import annotations

import asyncio
import importlib
import importlib.machinery
import inspect
import logging
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, wraps
from pathlib import Path
from types import ModuleType
from typing import Any

from contextctl.errors import ToolError
from contextctl.io.models.stdout_guard import stdout_to, to_stderr
from contextctl.io.tools.result_text import outcome_of_value
from contextctl.model.message import Json
from contextctl.model.outcome import ToolOutcome

_log = logging.getLogger(__name__)
_import_lock = threading.RLock()
_MESSAGE_CHARS = 2_000
_GRACE_S = 0.2  # for an async function to be cancelled at its own limit


def load_function(target: str, folders: Sequence[Path], name: str) -> Callable[..., Any]:
    """The function ``module:function`` names, looked for in ``folders`` before installed packages.

    Raises ``ToolError`` that names the tool and what to change.
    """
    module_name, colon, attribute = target.partition(":")
    if not colon or not module_name or not attribute:
        raise ToolError(f"tool '{name}': 'python: {target}' must be written as module:function")
    try:
        with _import_lock, _importing_from(folders), stdout_to(to_stderr):
            _forget_other(module_name, folders)
            found: Any = importlib.import_module(module_name)
    except Exception as error:  # importing runs the user's code
        where = ", ".join(f"'{folder}'" for folder in folders)
        raise ToolError(
            f"tool '{name}': cannot import '{module_name}' (looked in {where}): "
            f"{type(error).__name__}: {error}"
        ) from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ToolError(f"tool '{name}': '{module_name}' has no '{attribute}'{_offers(found)}")
        found = getattr(found, part)
    if not callable(found):
        raise ToolError(f"tool '{name}': '{target}' is a {type(found).__name__}, not a function")
    return found  # type: ignore[no-any-return]  # callable, as just checked


def call_function(
    function: Callable[..., Any], arguments: Mapping[str, Json], timeout_s: float
) -> ToolOutcome:
    """Run ``function``; an exception or a late answer is an error result, never an error here.

    A Python thread cannot be ended from outside: after ``timeout_s`` the call is given up, not
    stopped.
    """
    done: list[ToolOutcome] = []

    def work() -> None:
        with stdout_to(to_stderr):
            done.append(_outcome(function, arguments, timeout_s))

    thread = threading.Thread(target=work, name="tool", daemon=True)
    thread.start()
    thread.join(timeout_s + _GRACE_S)
    if done:
        return done[0]
    return ToolOutcome(
        f"error: no result within {timeout_s:g} s; the function was left running", status="error"
    )


def _outcome(
    function: Callable[..., Any], arguments: Mapping[str, Json], timeout_s: float
) -> ToolOutcome:
    try:
        value = _call(function, dict(arguments))
        if inspect.isawaitable(value):
            return outcome_of_value(asyncio.run(_within(value, timeout_s)))
        return outcome_of_value(value)
    except asyncio.CancelledError:
        return ToolOutcome("error: the function was cancelled", status="error")
    except BaseException as error:  # noqa: BLE001  # a tool may raise anything; Ctrl-C is not here
        _log.debug("a tool raised", exc_info=True)
        text = f"error: {type(error).__name__}: {_words(error)}".removesuffix(": ")
        cut = text if len(text) <= _MESSAGE_CHARS else text[:_MESSAGE_CHARS] + "…"
        return ToolOutcome(cut, status="error")


def _words(error: BaseException) -> str:
    """What an exception says; of a group, what each in it says."""
    if isinstance(error, BaseExceptionGroup):
        each = (f"{type(one).__name__}: {_words(one)}" for one in error.exceptions)
        return f"{error.message} ({'; '.join(each)})"
    try:
        return str(error)
    except Exception:  # noqa: BLE001  # its own code fails while it says what failed
        return "(it cannot say what)"


def _call(function: Callable[..., Any], arguments: dict[str, Json]) -> Any:
    """Call with the arguments turned into what the annotations say."""
    from pydantic import ValidationError  # only Python tools pay for it

    try:
        given, named = _checked(function)(**arguments)
    except ValidationError as error:
        faults = (f"'{'.'.join(map(str, e['loc']))}': {e['msg']}" for e in error.errors())
        raise ValueError("the arguments do not fit: " + "; ".join(faults)) from None
    return function(*given, **named)


async def _within(value: Any, timeout_s: float) -> Any:
    try:
        async with asyncio.timeout(timeout_s) as limit:
            return await value
    except TimeoutError:
        if not limit.expired():
            raise
        text = f"error: no result within {timeout_s:g} s; the function was cancelled"
        return ToolOutcome(text, status="error")


@lru_cache(maxsize=256)
def _checked(function: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
    """What ``function`` is to be called with: pydantic turns JSON into dates, models and enums.

    The function itself is called from Python alone: a thread that is left behind under a frame of
    compiled code would take the whole process down when the run ends.
    """
    from pydantic import validate_call  # only Python tools pay for it

    @wraps(function)
    def given(*arguments: Any, **named: Any) -> tuple[Any, Any]:
        return arguments, named

    try:
        return validate_call(given)
    except Exception:  # noqa: BLE001  # annotations pydantic cannot read: the plain call is right
        return given


@contextmanager
def _importing_from(folders: Sequence[Path]) -> Iterator[None]:
    """``folders`` first on the import path; they stay there at the end, for imports made later."""
    added = [str(folder) for folder in folders if str(folder) not in sys.path]
    sys.path[:0] = added
    importlib.invalidate_caches()
    try:
        yield
    finally:
        for folder in added:
            sys.path.remove(folder)
        sys.path.extend(added)


def _forget_other(module_name: str, folders: Sequence[Path]) -> None:
    """Forget a module of the same name that was loaded from another profile's folder."""
    top = module_name.partition(".")[0]
    loaded = sys.modules.get(top)
    if loaded is None or top in sys.stdlib_module_names:
        return
    spec = importlib.machinery.PathFinder.find_spec(top, [str(folder) for folder in folders])
    if spec is None or spec.origin is None or spec.origin == getattr(loaded, "__file__", None):
        return
    for name in [key for key in sys.modules if key == top or key.startswith(top + ".")]:
        del sys.modules[name]


def _offers(found: Any) -> str:
    if not isinstance(found, ModuleType):
        return ""
    names = [
        key
        for key, value in vars(found).items()
        if inspect.isfunction(value) and value.__module__ == found.__name__ and key[0] != "_"
    ]
    return f"; it has {', '.join(sorted(names)[:8])}" if names else ""
