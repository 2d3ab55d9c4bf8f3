"""The screen of ``explain``: 100 columns, everything on it whole, text and JSON of one value."""

from __future__ import annotations

import json
import shlex
import subprocess
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextctl.model.explanation import (
    Advice,
    BucketRow,
    Edit,
    Explanation,
    Fix,
    Growth,
    Root,
    Rung,
    Source,
)
from contextctl.model.ledger import Action
from contextctl.report.columns import WIDTH, chunks, columns, command, table, wrapped
from contextctl.report.explain_text import explanation_text

PATCH = """diff --git a/profiles/coder.yaml b/profiles/coder.yaml
--- a/profiles/coder.yaml
+++ b/profiles/coder.yaml
@@ -24 +24,2 @@
   read_file: {result: {max_tokens: 800}}
+  run_tests: {result: {max_tokens: 1200}}
"""


def why(**changes: Any) -> Explanation:
    """A step that overflows because a test run of 1,412 lines came back whole."""
    rows = (
        BucketRow("system", 1_500, 1_212, 1_212, 0, 1_212, 0),
        BucketRow("tools_schema", 6_500, 6_140, 6_140, 0, 6_140, 0),
        BucketRow("tool_results", 11_000, 9_860, 21_296, -1_218, 20_078, 10_218, 9_078),
        BucketRow("retrieved", None, 0, 0, 0, 0, 0),
        BucketRow("history", 8_000, 7_322, 9_736, -1_930, 7_806, 484),
        BucketRow("memory", 1_000, 884, 884, 0, 884, 0),
        BucketRow("query", 672, 410, 410, 0, 410, 0),
        BucketRow("total", 28_672, 25_828, 39_678, -3_148, 36_530, 10_702, 7_858),
    )
    value = Explanation(
        task="coder/task-0042",
        step=14,
        steps=14,
        status="overflow",
        model="openai/gpt-4.1-mini",
        zone="overflow",
        ratio=1.2741,
        total=36_530,
        usable=28_672,
        window=32_768,
        reserve_output=4_096,
        profile="profiles/coder.yaml@9f31c2",
        tokenizer="o200k_base",
        exact=True,
        factor=1.0,
        digest="sha256:4be1",
        matches=True,
        record="e01..e58",
        rows=rows,
        grew=(
            Growth(
                9_954,
                "tool_results",
                "e57",
                "run_tests result (step 13)",
                "whole: under 12,000 of shaping.max_tokens",
            ),
            Growth(1_102, "history", "e56", "assistant, calls run_tests, read_file"),
            Growth(
                264,
                "tool_results",
                "e58",
                "read_file result (step 13)",
                "shape 1,482 -> 264 by profiles/coder.yaml:24",
            ),
            Growth(-618, "history", "e03", "assistant, text", "left the window"),
        ),
        root=Root(
            "e57",
            "run_tests result (step 13)",
            13,
            1,
            9_954,
            9_954,
            'run_tests {"path": "tests/"}',
            "whole: under 12,000 of shaping.max_tokens",
            decides=True,
        ),
        sources=(
            Source("run_tests results", "tool_results", 3, 14_020, "e57"),
            Source("tool schemas", "tools_schema", 0, 6_140, ""),
        ),
        did=(
            Action("trim", "e02", "history", 1_930, 0, "/history", "profiles/coder.yaml:31"),
            Action(
                "shape",
                "e58",
                "tool_results",
                1_482,
                264,
                "/tools/read_file/result",
                "profiles/coder.yaml:24",
                new=True,
            ),
        ),
        did_more=0,
        did_rest=0,
        rungs=(
            Rung(
                1,
                "tool result shaping",
                "tools.run_tests.result.max_tokens: 1200",
                8_754,
                True,
                8_754,
                27_776,
                "kept",
                (Edit("/tools/run_tests/result/max_tokens", 1200),),
            ),
            Rung(
                2,
                "history trimming",
                "compaction.protect_steps: 1",
                2_240,
                False,
                2_240,
                25_536,
                "cut@e04",
            ),
            Rung(
                5,
                "subagent isolation",
                "steps 9-12 by a delegate, its answer booked at 600",
                5_330,
                False,
                3_004,
                22_532,
                "cut@e27",
                booked="steps 9-12",
            ),
        ),
        look_first="select",
        advice=(
            Advice(
                "select",
                "a part is counted as the whole",
                "the question counts ('how many')",
                "offer a tool that counts: tools.list_orders.result.aggregate",
            ),
            Advice(
                "budget",
                "tool results are over half",
                "tool_results take 55% of the window",
                "declare what of it is read: tools.run_tests.result.max_tokens",
                1,
            ),
        ),
        prefix="25,828 of 36,530 tokens (71%) as in the step before",
        fix=Fix("rung 1 is enough alone", 27_776, 896, "tools: …", PATCH, "profiles/coder.yaml"),
        reported="the provider counted 25,900 tokens in and 310 out; our count of it: -0.3%",
        notes=("2 turns were aborted",),
        next=("contextctl explain latest task-0042 --step 14 --patch | git apply",),
    )
    return replace(value, **changes)


def test_the_screen(snapshot: Any) -> None:
    assert explanation_text(why()) == snapshot


def test_the_same_value_as_json(snapshot: Any) -> None:
    text = json.dumps(why().to_json(), ensure_ascii=False, indent=1)
    assert json.loads(text)["over"] == 7_858
    assert text == snapshot


LONG = "profiles/" + "very-long-folder-name/" * 6 + "coder.yaml"


@pytest.mark.parametrize(
    "changes",
    [
        {"task": "t" * 250},
        {"task": "任务" * 90},
        {"profile": f"{LONG}@9f31c2"},
        {"did": (Action("shape", "e58", "tool_results", 9, 2, "/shaping", f"{LONG}:24"),)},
        {"notes": ("w " * 300,)},
        {"window": 10**12, "usable": 10**12 - 4_096, "total": 10**11},
        {"next": (f"contextctl explain {LONG} --patch",)},
    ],
)
def test_nothing_is_cut_off_and_no_line_is_longer_than_the_screen(changes: dict[str, Any]) -> None:
    screen = explanation_text(why(**changes))
    assert max(map(columns, screen.splitlines())) <= WIDTH
    joined = "".join(screen.split())
    for value in changes.values():
        for text in [value] if isinstance(value, str) else []:
            assert "".join(text.split()) in joined
    if "did" in changes:
        assert "".join(LONG.split()) in joined


@given(st.text("ab 字🙂é ", max_size=400), st.integers(0, 40))
def test_wrapping_keeps_every_character_and_the_width(text: str, indent: int) -> None:
    lines = list(wrapped(text, " " * indent, "x"))
    assert all(columns(line) <= WIDTH for line in lines)
    assert "".join("".join(lines).split()) == "x" + "".join(text.split())


@given(st.text("ab字", min_size=1, max_size=500))
def test_chunks_put_together_are_the_line(text: str) -> None:
    assert "".join(chunks(text)) == text


def test_a_table_leans_as_told_and_wraps_its_last_column() -> None:
    lines = list(table([["a", "1", "x"], ["任务", "1,000", "word " * 30]], [False, True, False]))
    assert lines[0] == "a         1  x"
    assert lines[1].startswith("任务  1,000  word")
    assert lines[2].startswith(" " * 13 + "word")


@pytest.mark.parametrize(
    "words",
    [
        ["contextctl", "explain", "/a/very/long/path/" + "x" * 230, "--step", "4"],
        ["contextctl", "show", "a folder with 'quotes' and  spaces " * 2, "--set", "a=b c" * 20],
        ["contextctl", "replay", *["trace.jsonl"] * 30],
    ],
)
def test_a_command_over_several_lines_can_be_copied_into_a_shell(words: list[str]) -> None:
    typed = " ".join(map(shlex.quote, words))
    copied = "\n".join(command(typed, "     ", "NEXT ")).removeprefix("NEXT ")
    shell = ["bash", "-c", f'printf "%s\\0" {copied}']
    got = subprocess.run(shell, capture_output=True, text=True, check=True).stdout
    assert got.split("\0")[:-1] == words
