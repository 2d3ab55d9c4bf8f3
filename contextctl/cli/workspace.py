"""``contextctl workspace``: look at what left the windows of a run, take it out, clean it up."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Annotated

import typer

from contextctl.cli.output import Format, say, show, show_json
from contextctl.core.reading.exact_json import dump_exact
from contextctl.core.reading.lines import read_lines
from contextctl.core.reading.search import search_text
from contextctl.errors import StoreError, UsageError
from contextctl.io.workspace.files import collect, content_of, export_refs
from contextctl.io.workspace.of_run import RunWorkspace, run_workspace
from contextctl.io.workspace.stored import StoredRef
from contextctl.model.message import Json, JsonObject

FINDING = 1
_ALL = 2**62

Run = Annotated[
    str, typer.Argument(metavar="RUN", help="A run's folder, 'latest', or a workspace folder.")
]
As = Annotated[Format, typer.Option("--format")]


def register(app: typer.Typer) -> None:
    """Add the group of commands to ``app``."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    group.command("ls")(ls)
    group.command("read")(read)
    group.command("search")(search)
    group.command("export")(export)
    group.command("gc")(gc)
    app.add_typer(group, name="workspace", help="Look at what left the windows of a run.")


def ls(run: Run, output: As = Format.text) -> int:
    """List the refs of a run: size, task, and the names models gave.

    Example:  contextctl workspace ls latest
    """
    workspace = run_workspace(run, Path.cwd())
    refs, labels = workspace.refs(), workspace.labels()
    if output is Format.json:
        rows: list[Json] = [_row(workspace, row, labels) for row in refs]
        show_json({"workspace": workspace.address, "refs": rows})
        return 0
    width = max((len(row.ref) for row in refs), default=3)
    if refs:
        show(f"{'REF':<{width}}  {'LINES':>8} {'BYTES':>11}  {'AGE':>6}  TASK / NAMES")
    for row in refs:
        names = " ".join((workspace.tasks.get(row.owner, "-"), *labels.get(row.ref, ())))
        lines = f"{row.lines:,}" if row.is_text else row.media[:8]
        show(f"{row.ref:<{width}}  {lines:>8} {row.size:>11,}  {_age(row):>6}  {names}")
    total = sum(row.size for row in refs)
    taken = 0 if workspace.store is None else workspace.store.size()
    say(f"{len(refs):,} refs, {total:,} bytes ({taken:,} stored) in '{workspace.address}'")
    return 0


def read(
    run: Run,
    ref: Annotated[str, typer.Argument(metavar="REF", help="A ref, or the name a model gave.")],
    start: Annotated[int, typer.Option(help="The first line, from 0; -20 is the last 20.")] = 0,
    limit: Annotated[int | None, typer.Option(help="How many lines; all of them if unset.")] = None,
    output: As = Format.text,
) -> int:
    """Print the content of a ref as it was before it left the window.

    Example:  contextctl workspace read latest REF
    """
    workspace = run_workspace(run, Path.cwd())
    row = workspace.find(ref)
    text = _text(workspace, row)
    part = read_lines(text, row.ref, start, _ALL if limit is None else limit, _ALL)
    if output is Format.json:
        show(dump_exact(part))
    elif part["text"]:
        show(str(part["text"]))
    return 0


def search(
    run: Run,
    pattern: Annotated[str, typer.Argument(metavar="PATTERN", help="A regular expression (RE2).")],
    ref: Annotated[str | None, typer.Option(help="Only this ref or name.")] = None,
    limit: Annotated[int, typer.Option(help="Matches shown of one ref.")] = 20,
    output: As = Format.text,
) -> int:
    """Search the content of all refs of a run, or of one. Lines count from 0.

    Example:  contextctl workspace search latest "error"
    """
    if not pattern:
        raise UsageError("PATTERN must not be empty")
    workspace = run_workspace(run, Path.cwd())
    rows = workspace.refs() if ref is None else (workspace.find(ref),)
    found: list[Json] = []
    for row in rows:
        if not row.is_text:
            continue
        answer = search_text(_text(workspace, row), row.ref, pattern, limit, _ALL)
        if answer["matches"]:
            found.append(answer)
            if output is Format.text:
                _show_matches(answer)
    if output is Format.json:
        show_json({"pattern": pattern, "refs": found})
    elif not found:
        say(f"no match in {len(rows):,} refs of '{workspace.address}'")
    return 0


def export(
    run: Run,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to write to.")],
    output: As = Format.text,
) -> int:
    """Write one file per ref with its whole content: REF.txt, REF.json or REF.bin.

    Example:  contextctl workspace export latest --out refs
    """
    workspace = run_workspace(run, Path.cwd())
    refs = workspace.refs()
    out.mkdir(parents=True, exist_ok=True)
    done = None if workspace.store is None else export_refs(workspace.store, refs, out)
    written = () if done is None else done.written
    damaged = () if done is None else done.damaged
    if output is Format.json:
        show_json({"out": str(out), "written": len(written), "damaged": list(damaged)})
    for name in damaged:
        say(f"damaged, not exported: {name}")
    say(f"{len(written):,} files in '{out}'")
    return FINDING if damaged else 0


def gc(
    run: Run,
    older_than: Annotated[
        str | None, typer.Option(metavar="AGE", help="Remove refs older than 30d, 12h or 15m.")
    ] = None,
    output: As = Format.text,
    *,
    everything: Annotated[
        bool, typer.Option("--all", help="Remove every ref of the run, whatever its age.")
    ] = False,
    dry_run: Annotated[bool, typer.Option(help="Only say what would be removed.")] = False,
) -> int:
    """Remove refs by age or all of a run, then content that nothing leads to.

    With neither --older-than nor --all, no ref is removed.

    Example:  contextctl workspace gc latest --older-than 30d --dry-run
    """
    if everything and older_than is not None:
        raise UsageError("give --older-than or --all, not both")
    age = None if older_than is None else _seconds(older_than)
    workspace = run_workspace(run, Path.cwd())
    refs = workspace.refs(older_than_s=age) if everything or age is not None else ()
    result: JsonObject = {"dry_run": dry_run, "refs": len(refs), "blobs": 0, "files": 0}
    if workspace.store is not None and not dry_run:
        done = collect(workspace.store, {row.ref for row in refs})
        result |= {"refs": done.refs, "blobs": done.blobs, "files": done.files}
    if output is Format.json:
        show_json(result)
    elif dry_run:
        say(f"would remove {len(refs):,} refs of {sum(row.size for row in refs):,} bytes")
    else:
        say(f"removed {result['refs']} refs and {result['blobs']} contents nothing leads to")
    return 0


def _text(workspace: RunWorkspace, row: StoredRef) -> str:
    found = None if workspace.store is None else content_of(workspace.store, row.ref)
    content = None if found is None else found[1]
    if content is None:
        raise StoreError(f"the content of '{row.ref}' is damaged or gone")
    if not row.is_text:
        raise UsageError(f"'{row.ref}' is {row.media}, not text; 'workspace export' writes it")
    return content.decode("utf-8", "surrogatepass")


def _show_matches(answer: JsonObject) -> None:
    matches = answer["matches"]
    for match in matches if isinstance(matches, list) else ():
        if isinstance(match, dict):
            show(f"{answer['ref']}:{match['line']}: {match['text']}")
    if answer["truncated"]:
        total = answer.get("total", answer.get("total_at_least"))
        say(f"{answer['ref']}: {answer['returned']} of {total} matches; raise --limit for more")


def _row(workspace: RunWorkspace, row: StoredRef, labels: dict[str, tuple[str, ...]]) -> JsonObject:
    return {
        "ref": row.ref,
        "task": workspace.tasks.get(row.owner),
        "names": list(labels.get(row.ref, ())),
        "media": row.media,
        "bytes": row.size,
        "lines": row.lines,
        "chars": row.chars,
        "sha256": row.sha256,
        "run": row.run,
        "time": row.time,
    }


def _age(row: StoredRef) -> str:
    seconds = max(0, int(time.time() - row.time))
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def _seconds(age: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", age)
    if found is None:
        raise UsageError(f"'{age}' is no age; write 30d, 12h, 15m or 90s")
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}[found[2]]
