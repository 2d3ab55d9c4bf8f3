"""The ranking: by hand on small texts, and against the formula written out in full."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextctl.core.search.bm25 import K1, B, Bm25
from contextctl.core.search.terms import query_terms, terms

WORD = st.sampled_from(("red", "blue", "green", "发票", "order_7", "the"))
WORDS = st.lists(WORD, max_size=8).map(" ".join)


def ranked(texts: list[str], question: str, limit: int) -> list[int]:
    """BM25 as the textbook has it: every text scored, then sorted."""
    docs = [Counter(terms(text)) for text in texts]
    lengths = [sum(doc.values()) for doc in docs]
    mean = sum(lengths) / (len(docs) or 1)
    scores = []
    for number, doc in enumerate(docs):
        score = 0.0
        for term in query_terms(question):
            having = sum(term in one for one in docs)
            idf = math.log(1 + (len(docs) - having + 0.5) / (having + 0.5))
            norm = K1 * (1 - B + B * lengths[number] / (mean or 1))
            score += idf * (K1 + 1) * doc[term] / (doc[term] + norm) if doc[term] else 0.0
        if score > 0:
            scores.append((round(score, 6), number))
    return [number for _, number in sorted(scores, reverse=True)[:limit]]


@given(st.lists(WORDS, max_size=30), WORDS, st.integers(1, 5))
def test_what_is_skipped_for_speed_is_never_among_the_best(
    texts: list[str], question: str, limit: int
) -> None:
    index = Bm25()
    for text in texts:
        index.add(text)
    assert [hit.number for hit in index.search(question, limit)] == ranked(texts, question, limit)


@given(st.lists(WORDS, max_size=12), WORDS)
def test_searching_between_two_texts_changes_nothing(texts: list[str], question: str) -> None:
    asked, quiet = Bm25(), Bm25()
    for text in texts:
        asked.add(text)
        asked.search(question)
        quiet.add(text)
    assert asked.search(question) == quiet.search(question)


def test_a_rare_word_outweighs_a_common_one() -> None:
    index = Bm25()
    for text in ("order order shipped", "order refund", "order paid", "order 7"):
        index.add(text)
    assert index.search("refund order")[0].number == 1


def test_of_equals_the_last_is_first_and_strangers_are_none() -> None:
    index = Bm25()
    for text in ("blue sky", "blue sky", "grey sea"):
        index.add(text)
    assert [hit.number for hit in index.search("blue")] == [1, 0]
    assert index.search("yellow") == ()
    assert index.search("") == ()
    assert index.search("blue", 0) == ()


def test_a_word_in_a_heavier_field_counts_more() -> None:
    index = Bm25({"name": 3.0})
    index.add({"name": "list_orders", "description": "all invoices"})
    index.add({"name": "list_invoices", "description": "all orders"})
    assert [hit.number for hit in index.search("orders")] == [0, 1]
    assert [hit.number for hit in index.search("invoices")] == [1, 0]


def test_coverage_is_the_share_of_the_question() -> None:
    index = Bm25()
    index.add("warranty of the espresso machine")
    index.add("something else")
    (hit,) = index.search("espresso warranty")
    assert hit.coverage == 1.0
    (half,) = index.search("espresso 𝒳yz")
    assert 0.2 < half.coverage < 0.5


def test_unknown_pairs_weigh_little_against_a_text() -> None:
    """'发票寄到公司' asks for two words; three of its five pairs are seams nobody wrote."""
    index = Bm25()
    index.add("要开发票")
    index.add("公司在上海")
    hits = index.search("发票寄到公司")
    assert {hit.number for hit in hits} == {0, 1}
    assert hits[0].coverage == pytest.approx(hits[1].coverage)
    assert hits[0].coverage > 0.25
