"""What was drafted, as text: the file, what it was measured against, and what to type next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from contextctl.model.draft import Draft, Kept
from contextctl.report.columns import command, table, wrapped


def draft_summary(draft: Draft, path: str, steps: Sequence[str]) -> str:
    """The file, its window, both measurements, the next commands."""
    return "\n".join(_lines(draft, path, steps)) + "\n"


def _lines(draft: Draft, path: str, steps: Sequence[str]) -> Iterator[str]:
    many = f"{draft.traces} traces" if draft.traces != 1 else "one trace"
    yield from wrapped(
        f"{path}  ({many}, {draft.steps:,} steps, {len(draft.tools)} tools)",
        "         ",
        "wrote    ",
    )
    takes = f"; {draft.model} takes {draft.model_window:,}" if draft.model_window else ""
    yield from wrapped(
        f"{draft.window:,} tokens; the largest trace holds {draft.largest:,} with nothing left out"
        f"{takes}",
        "         ",
        "window   ",
    )
    rows = [
        ["settings", "needed", "in window", "by a ref", "billed input", "steps that do not fit"]
    ]
    rows.append([f"{draft.menu} (this draft)", *_cells(draft.with_draft)])
    rows.append(["the defaults", *_cells(draft.with_default)])
    yield from table(rows, [False, True, True, True, True, True])
    offered = [tool for tool in draft.tools if tool.unused]
    if offered:
        names = ", ".join(tool.name for tool in offered)
        yield from wrapped(
            f"a whitelist of fields stands as a comment for {names}", " " * 9, "try      "
        )
    label = "next"
    for step in steps:
        yield from command(step, " " * 9, f"{label:<9}")
        label = ""


def _cells(kept: Kept) -> list[str]:
    share = f"{kept.share:.1%}" if kept.needed else "-"
    return [
        f"{kept.needed:,}",
        share,
        f"{kept.recoverable:,}",
        f"{kept.billed:,}",
        f"{kept.unfit} of {kept.steps}",
    ]
