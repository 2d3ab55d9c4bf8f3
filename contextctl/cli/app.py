"""The command line: a table of commands, loaded one at a time, and one place for errors.

To add a command, write ``contextctl/cli/NAME.py`` with a function ``register(app: typer.Typer)``
that adds it (``app.command("name")(function)``, or ``app.add_typer(group, name="name")``), and add
one line to ``COMMANDS``. The function's parameters are Typer annotations; it prints through
``contextctl.cli.output`` and returns its exit code (None is 0). Errors of ``contextctl.errors`` may
simply escape: their text goes to stderr and their ``exit_code`` becomes the command's. ``--help``
loads no command, so a command file may import what it needs at its top; only slow packages
(litellm, jsonschema, tiktoken) belong inside the function that uses them.
"""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import threading
import traceback
from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from contextctl.cli.output import say, show
from contextctl.errors import ContextctlError, ProfileError
from contextctl.version import __version__

BUG, OUTSIDE, INTERRUPTED = 3, 4, 130
# What a disk says: full, over quota, broken, mounted read-only. None of it is a bug of ours.
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS})

# name -> (module:function that registers it, one line for --help), in the order of --help
COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("contextctl.cli.init:register", "A folder that runs at once, or a drafted profile."),
    "run": ("contextctl.cli.run:register", "Tasks through a profile, with a model or dry."),
    "replay": ("contextctl.cli.replay:register", "Recorded traces through a profile, offline."),
    "explain": ("contextctl.cli.explain:register", "Why a step is as big as it is."),
    "show": ("contextctl.cli.show:register", "What the model saw at a step."),
    "shape": ("contextctl.cli.shape:register", "What a rule does to one tool result."),
    "validate": ("contextctl.cli.validate:register", "All problems of a profile at once."),
    "profile": ("contextctl.cli.profile:register", "The resolved profile, and where it was set."),
    "schema": ("contextctl.cli.schema:register", "JSON Schemas, and what a key means."),
    "doctor": ("contextctl.cli.doctor:register", "What works here: tokenizer, keys, stores."),
    "workspace": ("contextctl.cli.workspace:register", "Look at what left the windows of a run."),
    "memory": ("contextctl.cli.memory:register", "What is remembered of whom."),
    "tasks": ("contextctl.cli.tasks:register", "How far the tasks of a run are."),
    "audit": ("contextctl.cli.audit:register", "What was compacted, and what was lost."),
    "demo": ("contextctl.cli.demo:register", "The main job on a shipped trace."),
}


class LazyGroup(TyperGroup):
    """Knows every command by name and one line; loads only the one that is called."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {
            name: TyperCommand(name, help=line) for name, (_, line) in COMMANDS.items()
        }

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        """Find a command as Typer does, then put the real one in the place of its line."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, _loaded(name) if name in COMMANDS else command, rest

    def invoke(self, ctx: Any) -> Any:
        """Run the command; its number, or the kind of its error, is the exit code."""
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
        except (typer.Exit, typer.Abort, SystemExit):
            raise
        except ContextctlError as error:
            code = _told(error)
        except KeyboardInterrupt:
            say("interrupted")
            code = INTERRUPTED
        except BrokenPipeError:
            # Whoever read the output has enough. Python would complain once more at its exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 0
        except OSError as error:
            code = _full(error) if error.errno in _NO_ROOM else _bug(error)
        except BaseException as error:  # a native library's panic is not an Exception
            if hasattr(error, "exit_code"):  # Typer's own: a wrong option, a missing argument
                raise
            code = _bug(error)
        if isinstance(code, int) and code:
            raise typer.Exit(code)
        return code


app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:  # Typer calls it with the option's value
    if asked:
        show(f"contextctl {__version__}")
        raise typer.Exit


@app.callback()
def contextctl(
    *,
    version: Annotated[  # its callback has printed it already
        bool,
        typer.Option(
            "--version",
            help="Print the version and exit.",
            is_eager=True,
            callback=_print_version,
        ),
    ] = False,
) -> None:
    """An agent's context window as a budget: declared, measured and explained."""


def main() -> None:
    """The entry point of ``contextctl``."""
    _open_what_is_closed()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        app(prog_name="contextctl")
    except SystemExit as end:
        _leave_if_held(end)
        raise
    except OSError as error:  # --help and --version are printed before a command is called
        if error.errno not in _NO_ROOM:
            raise
        raise SystemExit(_full(error)) from None


def _open_what_is_closed() -> None:
    """A parent may start a command without stdin, stdout or stderr (``<&-``, a daemon): Python then
    has None there, and the next file opened would take the stream's number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))


def _leave_if_held(end: SystemExit) -> None:
    """End now where a tool's function never came back: Python would end its thread at a place
    where compiled code may stand, and take the process and its exit code down with it."""
    if any(thread.name == "tool" for thread in threading.enumerate()):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(end.code if isinstance(end.code, int) else 0 if end.code is None else BUG)


def _loaded(name: str) -> Any:
    module, _, function = COMMANDS[name][0].partition(":")
    holder = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    getattr(import_module(module), function)(holder)
    return get_group(holder).commands[name]


def _told(error: ContextctlError) -> int:
    if isinstance(error, ProfileError):
        for problem in error.problems:
            say(f"{problem.severity}: {problem}")
    else:
        say(f"error: {error}")
    return error.exit_code


def _full(error: OSError) -> int:
    """A disk, or whatever stdout leads to, took no more."""
    where = f"'{error.filename}'" if error.filename else "the output"
    with suppress(OSError):
        say(f"error: cannot write {where}: {error.strerror}; make room, then go on")
    # What is left in the buffer cannot go out either; Python would complain once more at its exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return OUTSIDE


def _bug(error: BaseException) -> int:
    """Keep the traceback in a file and say in one line where it is."""
    handle, path = tempfile.mkstemp(prefix="contextctl-", suffix=".log")
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as log:
        log.write(f"contextctl {__version__}, Python {sys.version}\n")
        log.write(f"arguments: {len(sys.argv) - 1}, first {sys.argv[1:2]}\n\n")
        log.writelines(traceback.format_exception(error))
    text = (str(error).splitlines() or [""])[0][:200]
    say(f"a bug in contextctl: {type(error).__name__}: {text} (traceback in {path})")
    return BUG


if __name__ == "__main__":
    main()
