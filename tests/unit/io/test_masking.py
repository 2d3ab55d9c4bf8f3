"""What has the shape of a key is masked, and what only begins like one is not."""

from __future__ import annotations

import pytest

from contextctl.io.recorder.masking import masked


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-averysecretkey1234567890",
        "sk-ant-api03-Abc_def-9Xyz",
        "sk-abcd****wxyz",
        "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "hf_AbCdEfGhIjKlMnOpQrStUv12345",
        "AKIAIOSFODNN7EXAMPLE",
    ],
)
def test_a_key_is_masked(key: str) -> None:
    assert masked(f"with {key}, it failed") == "with ***, it failed"


@pytest.mark.parametrize(
    "word",
    ["skeleton_builder", "sk-learn-extras-and-more", "pk_constraint_name", "hfree_space_left1",
     "skip_connections_2", "rkhunter-report", "risk-assessment-2024", "task-0123456789abcdef"],
)  # fmt: skip
def test_an_ordinary_name_is_not(word: str) -> None:
    assert masked(f"in {word}.py") == f"in {word}.py"
