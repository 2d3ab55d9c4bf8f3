# The same names as in the Makefile, which knows how to set everything up.

_list:
    @just --list --unsorted

# the main job on a shipped trace: no key, no network
demo:
    @make demo

# all tests
test:
    @make test

# what has to pass before a commit: lint, types, contracts, test
check:
    @make check

# ruff: rules and format
lint:
    @make lint

# mypy --strict
types:
    @make types

# which room may import which
contracts:
    @make contracts

# what ruff can mend by itself
format:
    @make format

# time per step, and start-up, against baselines in the same run
bench:
    @make bench
