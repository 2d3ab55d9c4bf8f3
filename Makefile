# Everything sets itself up: `make test` and `make demo` work on a bare clone with Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
EXTRAS := dev hf mcp object-storage pdf postgres
SOURCES := $(shell find contextctl schemas profiles -type f -not -path '*/.*' -not -name '*.pyc' 2>/dev/null)

.PHONY: help setup demo test check lint types contracts format bench lock local-model clean

help:           ## this list
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 16

setup: $(VENV)/installed        ## the virtual environment, with contextctl installed

demo: $(VENV)/installed         ## the main job on a shipped trace: no key, no network
	$(BIN)/contextctl demo

test: $(VENV)/installed         ## all tests
	$(BIN)/python -m pytest -q -n $(WORKERS)

check: lint types contracts test        ## what has to pass before a commit

lint: $(VENV)/locked            ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/locked           ## mypy --strict
	$(BIN)/mypy --strict

contracts: $(VENV)/locked       ## which room may import which
	$(BIN)/lint-imports --no-cache

format: $(VENV)/locked          ## what ruff can mend by itself
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/installed        ## time per step, and start-up, against baselines in the same run
	$(BIN)/python bench/step_cost.py
	$(BIN)/python bench/startup.py

lock:           ## write requirements.lock again (needs uv); it holds hashes and no addresses
	uv lock --quiet --upgrade
	uv export --quiet --no-header --no-annotate --no-emit-project $(EXTRAS:%=--extra %) \
		--output-file requirements.lock >/dev/null

local-model: $(VENV)/local-model        ## a small real model, for the tests marked local_model

clean:          ## remove what was set up
	rm -rf $(VENV) dist build

$(VENV)/locked: requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "contextctl needs Python 3.11 or newer; set PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	@touch $@

$(VENV)/installed: $(VENV)/locked pyproject.toml $(SOURCES)
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --force-reinstall .
	@touch $@

$(VENV)/local-model: $(VENV)/locked .ci/local-model.lock
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r .ci/local-model.lock
	@touch $@
