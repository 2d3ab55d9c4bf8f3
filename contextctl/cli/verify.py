"""``contextctl replay --verify RUN``: a recorded run assembled again and compared."""

from __future__ import annotations

from pathlib import Path

from contextctl.cli.output import Format, say, show, show_json
from contextctl.io.profile.load import load_profile
from contextctl.io.runs.folder import RunFolder
from contextctl.run.verify import verify_run

FINDING, UNUSABLE = 1, 2


def verify(run: str, profile: str | None, output: Format) -> int:
    """Print every difference of a run; under another profile, those that profile makes.

    Exit code 1 when there is a difference, 2 when the record lacks a step.
    """
    folder = RunFolder.open(run, Path.cwd())
    differences = verify_run(folder, None if profile is None else load_profile(profile))
    missing = any(difference.is_missing for difference in differences)
    status = "missing" if missing else "different" if differences else "verified"
    if output is Format.json:
        found = [difference.to_json() for difference in differences]
        show_json({"status": status, "differences": [*found]})
    else:
        for difference in differences:
            show(str(difference))
        show(f"{status}: {len(folder.tasks())} tasks, differences: {len(differences)}")
    if missing:
        say("error: the record lacks a step, so what follows it cannot be verified")
    return UNUSABLE if missing else FINDING if differences else 0
