"""Large results get their reduced form in the background, while the model is waited for (SPEC T7).

Nothing depends on it: a batch that comes first makes the form itself, and both make the same.
"""

from __future__ import annotations

import threading

from contextctl.core.count import Counter
from contextctl.core.remedies.reference import reduced_form
from contextctl.model.profile import Profile
from contextctl.model.record import ResultArrived


def warm(
    profile: Profile, counter: Counter, session: tuple[str, str], result: ResultArrived
) -> threading.Thread | None:
    """Start making the reduced form of ``result``, if it is one a batch would reduce.

    Returns the thread, or None when there is nothing to do.
    """
    limit = profile.compaction.pre_compact_over
    # A token has at least a byte: text that is too short is not even counted.
    if not profile.remedies.shape or result.media or len(result.content.encode()) <= limit:
        return None
    job = threading.Thread(
        target=_make, args=(profile, counter, session, result), name="warm", daemon=True
    )
    job.start()
    return job


def _make(
    profile: Profile, counter: Counter, session: tuple[str, str], result: ResultArrived
) -> None:
    if counter.text(result.content) > profile.compaction.pre_compact_over:
        reduced_form(profile, counter, session, result.name, result.call_id, result.content)
