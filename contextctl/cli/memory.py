"""``contextctl memory``: what is remembered of whom, to look at, correct and delete."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from contextctl.cli.output import Format, say, show, show_json
from contextctl.core.memory.text import memory_lines, read_item
from contextctl.errors import UsageError
from contextctl.io.profile.load import load_profile
from contextctl.io.runs.folder import HOME
from contextctl.io.runs.traces_of import runs_that_hold
from contextctl.io.stores.memories import MemoryStore, open_memory
from contextctl.model.memory import CURRENT, HELD, Candidate, Written
from contextctl.model.memory_keys import is_subject
from contextctl.model.message import Json, JsonObject
from contextctl.model.profile_parts import MemoryRule
from contextctl.report.memory_text import changes_text, memories_text
from contextctl.run.memories import Memories, correct, write

FINDING = 1
BY = "person"

Subject = Annotated[str | None, typer.Option(metavar="SUBJECT", help="user:ID or tenant:ID.")]
Store = Annotated[
    str | None,
    typer.Option(
        metavar="URL|DIR", help="PostgreSQL, or the folder of memory.db.", show_default=False
    ),
]
ProfileName = Annotated[
    str | None, typer.Option("--profile", metavar="PROFILE", help="Its store and its gates.")
]
As = Annotated[Format, typer.Option("--format")]
Id = Annotated[str, typer.Argument(metavar="ID", help="As ls and search show it.")]
Key = Annotated[str, typer.Option(help="The slot it fills: a later value replaces it.")]


def register(app: typer.Typer) -> None:
    """Add the group of commands to ``app``."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    for command in (ls, add, search, confirm, forget, complain, export, log):
        group.command(command.__name__)(command)
    group.command("correct")(correct_one)
    app.add_typer(group, name="memory", help="What is remembered of whom.")


def ls(
    subject: Subject = None,
    store: Store = None,
    profile: ProfileName = None,
    output: As = Format.text,
    *,
    held: Annotated[bool, typer.Option("--held", help="Only what waits to be confirmed.")] = False,
) -> int:
    """List memories, newest first: of one subject, or of all.

    Example:  contextctl memory ls --subject user:7
    """
    whose = _whose(subject)
    with _opened(store, profile, create=False) as (memory, _):
        states = (HELD,) if held else (CURRENT, HELD)
        rows = memory.rows(whose, session=None, states=states) if memory else ()
    if output is Format.json:
        listed: list[Json] = [row.to_json() for row in rows]
        show_json({"memories": listed})
    elif rows:
        show(memories_text(rows))
    say(f"{len(rows):,} memories in '{memory.name if memory else HOME}'")
    return 0


def add(
    text: Annotated[str, typer.Argument(metavar="TEXT")],
    *,
    subject: Subject = None,
    key: Key = "",
    kind: Annotated[str, typer.Option(help="preference, fact, constraint or lesson.")] = "fact",
    confidence: Annotated[float, typer.Option(min=0, max=1)] = 1.0,
    ttl_days: Annotated[float | None, typer.Option(help="Days after which it expires.")] = None,
    source: Annotated[str, typer.Option(help="Who says so; tools and pages are held.")] = BY,
    store: Store = None,
    profile: ProfileName = None,
    output: As = Format.text,
) -> int:
    """Remember TEXT, if the gates of the profile let it in.

    Example:  contextctl memory add "ships to the office only" --subject user:7 --key ship-to
    """
    candidate = Candidate(
        text, kind, key, subject or "", confidence, source=source, ttl_days=ttl_days
    )
    with _opened(store, profile) as (memory, rule):
        written = write(_there(memory), candidate, rule, BY)
    return _told(written, output)


def search(
    question: Annotated[str, typer.Argument(metavar="QUESTION")],
    subject: Subject = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Default: memory.max_items.")] = None,
    store: Store = None,
    profile: ProfileName = None,
    output: As = Format.text,
) -> int:
    """Show what a question would recall of a subject.

    Example:  contextctl memory search "where to ship" --subject user:7
    """
    whose = _named(subject)
    with _opened(store, profile, create=False) as (memory, rule):
        found = Memories(memory, rule, whose).recall(question, limit, count=False) if memory else ()
    if output is Format.json:
        listed: list[Json] = [{**one.memory.to_json(), "relevance": one.relevance} for one in found]
        show_json({"question": question, "memories": listed})
        return 0
    for one in found:
        (line,) = memory_lines([read_item(one.memory)], "en")
        show(f"{one.memory.id}  {one.relevance:.2f}  {line.removeprefix('- ')}")
    if not found:
        say("nothing fits")
    return 0


def correct_one(
    memory_id: Id,
    text: Annotated[str, typer.Argument(metavar="TEXT")],
    store: Store = None,
    profile: ProfileName = None,
    output: As = Format.text,
) -> int:
    """Put another text in the place of a memory's.

    It keeps its id. The gates hold here too.

    Example:  contextctl memory correct m-1a2b "ships to the new office"
    """
    with _opened(store, profile, create=False) as (memory, rule):
        kept = _there(memory)
        before = kept.get(memory_id)
        candidate = Candidate(text, before.kind, before.key, before.subject, source=BY)
        written = correct(kept, memory_id, replace(candidate, session=before.session), rule, BY)
    return _told(written, output)


def confirm(
    memory_id: Id,
    store: Store = None,
    profile: ProfileName = None,
    output: As = Format.text,
) -> int:
    """Let a held memory in: from now on it is recalled.

    Example:  contextctl memory confirm m-1a2b
    """
    with _opened(store, profile, create=False) as (memory, _):
        written = _there(memory).confirm(memory_id, BY)
    return _told(written, output)


def forget(
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID…")] = None,
    subject: Subject = None,
    store: Store = None,
    profile: ProfileName = None,
    output: As = Format.text,
    *,
    everything: Annotated[bool, typer.Option("--all", help="All of SUBJECT.")] = False,
) -> int:
    """Delete memories by id, or all of a subject. Their texts leave the audit as well.

    Records of runs that recalled one are facts and are not touched: they are named, and deleting
    those runs' folders is up to you. A run that is continued does not show it any more.

    Example:  contextctl memory forget m-1a2b
    """
    if bool(ids) == everything:
        raise UsageError("name the ids of memories, or --all with --subject; memory ls shows ids")
    with _opened(store, profile, create=False) as (memory, _):
        kept = _there(memory)
        rows = (
            kept.rows(_named(subject), session=None, states=(CURRENT, HELD))
            if everything
            else [kept.get(one, subject) for one in dict.fromkeys(ids or ())]
        )
        gone = kept.forget(rows, BY)
    held = [str(path) for path in runs_that_hold(gone, Path.cwd())] if gone else []
    if output is Format.json:
        show_json({"forgotten": [*gone], "still_in": [*held]})
        return 0
    show(f"forgotten: {', '.join(gone) or 'nothing'}")
    if held:
        say(
            f"still in the records of runs that recalled it, delete their folders: {' '.join(held)}"
        )
    return 0


def complain(memory_id: Id, store: Store = None, profile: ProfileName = None) -> int:
    """Note that a memory was wrong: it ranks lower.

    Example:  contextctl memory complain m-1a2b
    """
    with _opened(store, profile, create=False) as (memory, _):
        _there(memory).complain(memory_id, BY)
    return 0


def export(subject: Subject = None, store: Store = None, profile: ProfileName = None) -> int:
    """Print memories of a subject, or of all, as JSON lines.

    Example:  contextctl memory export --subject user:7
    """
    import json

    whose = _whose(subject)
    with _opened(store, profile, create=False) as (memory, _):
        rows = memory.rows(whose, session=None, states=(CURRENT, HELD)) if memory else ()
    for row in rows:
        show(json.dumps(row.to_json(), ensure_ascii=False))
    return 0


def log(
    memory_id: Annotated[str | None, typer.Argument(metavar="[ID]")] = None,
    subject: Subject = None,
    store: Store = None,
    profile: ProfileName = None,
    output: As = Format.text,
) -> int:
    """Show the audit: every change, oldest first.

    Example:  contextctl memory log --subject user:7
    """
    whose = _whose(subject)
    with _opened(store, profile, create=False) as (memory, _):
        changes = memory.log(whose, memory_id) if memory else ()
    if output is Format.json:
        listed: list[Json] = [change.to_json() for change in changes]
        show_json({"changes": listed})
    elif changes:
        show(changes_text(changes))
    else:
        say("nothing was changed yet")
    return 0


@contextmanager
def _opened(
    store: str | None, profile: str | None, *, create: bool = True
) -> Iterator[tuple[MemoryStore | None, MemoryRule]]:
    """The store and the gates: of the profile where one is named, else the defaults."""
    rule, address = MemoryRule(enabled=True), "sqlite"
    if profile is not None:
        loaded = load_profile(profile)
        rule, address = loaded.memory, loaded.stores.memory
    home = Path.cwd() / HOME
    if store is not None and "://" not in store and not create and not Path(store).is_dir():
        raise UsageError(f"there is no folder '{store}'; --store names that of a memory.db")
    if store is not None:
        address, home = (store, home) if "://" in store else ("sqlite", Path(store))
    memory = open_memory(address, home, create=create)
    try:
        if memory is not None:
            memory.expire()
        yield memory, rule
    finally:
        if memory is not None:
            memory.close()


def _there(memory: MemoryStore | None) -> MemoryStore:
    if memory is None:
        raise UsageError("nothing is remembered here yet; memory add begins it")
    return memory


def _named(subject: str | None) -> str:
    if not subject:
        raise UsageError("name whose memory with --subject user:ID or tenant:ID")
    return _whose(subject) or ""


def _whose(subject: str | None) -> str | None:
    """Who was named, if anybody. Raises ``UsageError`` for what nobody is called."""
    if subject is not None and not is_subject(subject):
        raise UsageError(f"'{subject}' is no subject; write user:ID or tenant:ID")
    return None if subject is None else subject.strip()


def _told(written: Written, output: Format) -> int:
    answer: JsonObject = written.to_json()
    if output is Format.json:
        show_json(answer)
    elif written.outcome == "refused":
        say(f"refused ({written.code}): {written.reason}")
    else:
        show(f"{written.outcome}: {written.id}")
    if output is Format.text and written.outcome == "held":
        say(f"{written.reason}: contextctl memory confirm {written.id}")
    return FINDING if written.outcome == "refused" else 0
