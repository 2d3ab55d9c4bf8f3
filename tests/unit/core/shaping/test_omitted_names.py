"""What a shaped result leaves out is named, where names are worth it."""

from __future__ import annotations

import json
from dataclasses import replace

from contextctl.core.count import Approx
from contextctl.core.digest.facts import omitted_names
from contextctl.core.shaping import shape_result
from contextctl.model.shaping import ShapeCall, ShapeRule


def test_a_record_cut_inside_names_the_ids_it_hides() -> None:
    rows = (f"eprint = 2101.{number:05d}, filler words and more" for number in range(60))
    entries = "\n".join(rows)
    raw = json.dumps({"path": "/srv/papers.bib", "content": entries})
    call = ShapeCall("c1", omitted_facts=omitted_names)
    rule = replace(ShapeRule(), max_tokens=400)
    shaped = shape_result(raw, rule, "full", Approx(), ref="s-abcdefghij", locale="en", call=call)
    assert shaped.truncated
    hint = json.loads(shaped.text)["hint"]
    named = hint.partition("Omitted names: ")[2]
    assert "2101.000" in named
    assert "/srv/papers.bib" not in named  # it stands in the part that is shown
    assert shaped.tokens <= 400
