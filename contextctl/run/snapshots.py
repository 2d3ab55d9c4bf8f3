"""A model's summary, from the last run that asked for the same one, or from the model.

A run that is repeated, resumed between an answer and its fact, or begun anew with a longer
conversation summarises what was summarised before. The snapshot is replayed then: nothing is asked
and nothing is paid, and the window is the one the earlier run had.
"""

from __future__ import annotations

from pathlib import Path

from contextctl.core.compaction.snapshot import snapshot_address
from contextctl.io.runs.folder import HOME
from contextctl.io.stores.snapshots import FOLDER, Snapshots
from contextctl.model.assembly import Need
from contextctl.model.history_summary import summary_from_json
from contextctl.model.message import Json
from contextctl.model.profile import Profile
from contextctl.model.record import Record, SummaryMade
from contextctl.run.summarize import Summariser

REPLAYED: dict[str, Json] = {
    "requests": 0,
    "repairs": 0,
    "prompt_tokens": 0,
    "completion_tokens": 0,
    "cost_usd": 0.0,
    "replayed": True,
}
"""What a summary takes that is there already."""


def summary_for(
    need: Need,
    record: Record,
    *,
    profile: Profile,
    summariser: Summariser,
    snapshots: Snapshots | None,
    task: str,
) -> SummaryMade:
    """The answer to ``need``: its snapshot, or what the model writes now, which is kept.

    Raises ``Stopped`` when the run is stopped while the model is asked.
    """
    if snapshots is None:
        return summariser.answer(need, record, task)
    address = snapshot_address(profile.digest, record, need)
    kept = _kept(snapshots, address)
    if kept is not None:
        return SummaryMade(
            need.id,
            _number(need, "event_to"),
            kept,
            by="model",
            generation=max(_number(need, "generation"), 1),
            usage=REPLAYED,
        )
    made = summariser.answer(need, record, task)
    if made.body:
        about: dict[str, Json] = {"task": task, "profile": profile.digest}
        snapshots.put(
            address,
            {
                **about,
                "model": summariser.model,
                "summary": dict(made.body),
                "usage": dict(made.usage),
            },
        )
    return made


def open_snapshots(profile: Profile, base: Path) -> Snapshots:
    """The snapshots of all runs begun in ``base``, under ``.contextctl/snapshots``."""
    return Snapshots(base / HOME / FOLDER, tuple(profile.secrets.values()))


def _kept(snapshots: Snapshots, address: str) -> dict[str, Json] | None:
    """The summary in a snapshot; None for one that is none."""
    found = snapshots.get(address)
    try:
        return summary_from_json((found or {}).get("summary")).to_json()
    except ValueError:
        return None


def _number(need: Need, key: str) -> int:
    value = need.body.get(key)
    return value if isinstance(value, int) else 0
