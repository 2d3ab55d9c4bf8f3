"""The gates against a table of candidates in Chinese and English, written by hand."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from contextctl.core.memory.gates import admit, lifetime_s
from contextctl.core.memory.sensitive import sensitive_kinds
from contextctl.model.memory import HOLD, REFUSE, STORE, Candidate
from contextctl.model.profile_parts import MemoryRule

TABLES = Path(__file__).resolve().parents[2] / "fixtures/memory"
RULE = MemoryRule(enabled=True)


def rows() -> list[dict[str, Any]]:
    tables = sorted(TABLES.glob("gates*.jsonl"))
    return [json.loads(one) for table in tables for one in table.read_text("utf-8").splitlines()]


def candidate(row: dict[str, Any]) -> Candidate:
    values = {"subject": "user:7", **{key: row[key] for key in row if key != "want"}}
    return Candidate(**values)


def test_the_table_is_large_and_in_two_languages() -> None:
    table = rows()
    chinese = [row for row in table if any("一" <= char <= "鿿" for char in row["text"])]
    wanted = Counter(row["want"] == "ok" for row in table)
    assert len(table) >= 60
    assert len(chinese) >= 40
    assert wanted[True] >= 30
    assert wanted[False] >= 30


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row['want']}: {row['text'][:40]}")
def test_each_candidate_meets_its_gate(row: dict[str, Any]) -> None:
    verdict = admit(candidate(row), RULE)
    assert verdict.code == row["want"], verdict.reason
    outcome = {"ok": STORE, "unconfirmed": HOLD}.get(row["want"], REFUSE)
    assert verdict.outcome == outcome


def test_precision_and_recall_of_what_is_let_in() -> None:
    counts: Counter[tuple[bool, bool]] = Counter()
    for row in rows():
        let_in = admit(candidate(row), RULE).outcome == STORE
        counts[row["want"] == "ok", let_in] += 1
    right, missed, wrong = counts[True, True], counts[True, False], counts[False, True]
    precision, recall = right / (right + wrong), right / (right + missed)
    print(f"precision {precision:.3f}, recall {recall:.3f} of {sum(counts.values())} candidates")
    assert precision == 1.0
    assert recall >= 0.95


def test_the_first_gate_speaks() -> None:
    everything = Candidate("限时 验证码 482913", kind="mood", confidence=0.1, subject="")
    assert admit(everything, RULE).code == "not_stable"
    unsure = Candidate("验证码是 482913", confidence=0.1, subject="")
    assert admit(unsure, RULE).code == "low_confidence"
    assert admit(Candidate("验证码是 482913", subject=""), RULE).code == "sensitive"


def test_the_profile_sets_the_gates() -> None:
    careful = MemoryRule(enabled=True, min_confidence=0.95, kinds=("preference",))
    assert admit(Candidate("likes tea", "fact", subject="user:1"), careful).code == "not_stable"
    liked = Candidate("likes tea", "preference", subject="user:1", confidence=0.9)
    assert admit(liked, careful).code == "low_confidence"
    assert admit(liked, RULE).code == "ok"


def test_a_session_may_know_what_holds_today_and_forgets_it_within_a_day() -> None:
    today = Candidate("is at the airport right now", subject="user:1", session="s1")
    assert admit(today, RULE).code == "ok"
    assert lifetime_s(today, RULE) == 86_400
    assert lifetime_s(Candidate("x", session="s1", ttl_days=30), RULE) == 86_400
    assert lifetime_s(Candidate("x", session="s1", ttl_days=0.5), RULE) == 43_200
    assert lifetime_s(Candidate("x"), RULE) is None
    assert lifetime_s(Candidate("x", ttl_days=2), RULE) == 172_800
    assert lifetime_s(Candidate("x"), MemoryRule(ttl_days=1)) == 86_400


@pytest.mark.parametrize(
    ("number", "is_card"),
    [
        ("6222020000000000000", True),  # UnionPay, 19 digits: the checksum is right
        ("6222020000000000001", False),
        ("5555555555554444", True),
        ("5555555555554445", False),
        ("1234567812345670", False),  # passes the checksum, but nobody issues this range
    ],
)
def test_cards_are_told_by_range_and_checksum(number: str, is_card: bool) -> None:
    assert ("card" in sensitive_kinds(f"no. {number}")) is is_card


@pytest.mark.parametrize(
    ("number", "is_resident"),
    [
        ("11010519491231002X", True),
        ("11010519491231002x", True),
        ("110105194912310020", False),  # another checksum
        ("110105194913310021", False),  # there is no 13th month
        ("990105194912310023", False),  # there is no such province
    ],
)
def test_resident_numbers_are_told_by_province_date_and_checksum(
    number: str, is_resident: bool
) -> None:
    assert ("identity" in sensitive_kinds(f"编号 {number}")) is is_resident
