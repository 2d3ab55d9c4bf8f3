"""The reduced form of a large result: what stands for it when a batch shrinks it.

It depends on the result alone, so it may be made at any time before it is needed: right after the
result came, while the model is waited for, or in the batch. Making it early changes no byte.
"""

from __future__ import annotations

from functools import lru_cache

from contextctl.core.count import Counter
from contextctl.core.digest.facts import omitted_names
from contextctl.core.reading.refs import content_hash, make_ref
from contextctl.core.shaping import Shaped, shape_result, unwrapped
from contextctl.model.profile import Profile
from contextctl.model.shaping import ShapeCall, ShapeRule

# Large results of a few steps, so that what was made early is still there when a batch comes.
REMEMBERED = 64


def reduced_form(
    profile: Profile, counter: Counter, session: tuple[str, str], name: str, call_id: str, raw: str
) -> Shaped:
    """What a batch would show of ``raw``, the result of a call of ``name``.

    ``session`` is its name and its key, which the ref is made from.
    """
    ref = make_ref(*session, content_hash(unwrapped(raw)))
    rule = ShapeRule.of(profile, name)
    locale = profile.shaping.locale
    return _reduced(raw, rule, counter, ref, locale, call_id)  # type: ignore[arg-type]  # counters are hashable, their protocol does not say so


@lru_cache(maxsize=REMEMBERED)
def _reduced(
    raw: str, rule: ShapeRule, counter: Counter, ref: str, locale: str, call_id: str
) -> Shaped:
    call = ShapeCall(call_id, omitted_facts=omitted_names)
    return shape_result(raw, rule, "ref", counter, ref, locale, call)
