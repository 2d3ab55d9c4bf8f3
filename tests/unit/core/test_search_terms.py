"""What a text is found by, in the scripts people write."""

from __future__ import annotations

import pytest

from contextctl.core.search.terms import is_pair, query_terms, terms
from contextctl.core.search.word_endings import stem


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getOrderId", ["getorderid", "get", "order", "id"]),
        ("order_id=42", ["order_id", "order", "id", "42"]),
        ("src/orders.py", ["src/orders.py", "src", "order", "py"]),
        ("A-1001", ["a-1001", "1001"]),
        ("HTTPServer2", ["httpserver2", "http", "server", "2"]),
        ("2026-11-30", ["2026-11-30", "2026", "11", "30"]),
        ("me@shop.cn", ["me@shop.cn", "me", "shop", "cn"]),
        ("不要发票", ["不要", "要发", "发票"]),
        ("订", ["订"]),
        ("用iPhone付款", ["用", "iphone", "phon", "付款"]),
        ("カード払い", ["カー", "ード", "ド払", "払い"]),
        ("주문을 확인", ["주문", "문을", "확인"]),
        ("ＡＢＣ　１２３", ["abc", "123"]),
        ("Привет, мир", ["привет", "мир"]),
        ("שלום עולם", ["שלום", "עולם"]),
        ("naïve café", ["naïve", "café"]),
        ("Emily's don’t", ["emily", "don"]),
        ("📈 — … !!", []),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_a_very_long_word_is_no_word() -> None:
    assert terms("x" * 121 + " y1") == ["y1", "1"]


@pytest.mark.parametrize(
    "forms",
    [
        ("order", "orders", "ordered", "ordering"),
        ("study", "studies", "studied", "studying"),
        ("make", "makes", "making"),
        ("run", "runs", "running"),
        ("refund", "refunds", "refunded"),
        ("watch", "watches", "watched", "watching"),
        ("quick", "quickly"),
    ],
)
def test_forms_of_one_word_meet(forms: tuple[str, ...]) -> None:
    assert len({stem(form) for form in forms}) == 1


@pytest.mark.parametrize(
    "words", [("status", "stat"), ("bus", "bu"), ("this", "thi"), ("press", "pres"), ("sing", "s")]
)
def test_other_words_stay_apart(words: tuple[str, str]) -> None:
    assert stem(words[0]) != stem(words[1])


def test_a_question_leaves_out_words_that_carry_nothing() -> None:
    assert query_terms("When does the warranty of my machine end?") == ["warranty", "machin", "end"]
    assert query_terms("我们的发票是什么时候开的？")[:2] == ["们的", "的发"]
    assert query_terms("what is it") == ["what", "is", "it"]
    assert query_terms("a a b b 1 1") == ["b", "1"]
    assert len(query_terms(" ".join(f"w{n}x" for n in range(200)))) == 64


def test_pairs() -> None:
    assert is_pair("发票")
    assert not any(map(is_pair, ("票", "ab", "12", "é!", "")))
