# Two words for a new machine: `make train` and `make test`. Both install what they need.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/ready
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

.DEFAULT_GOAL := help
.PHONY: help install train test test-all check format lint type house smoke bench docs wheel clean

help: ## list these words
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "srb-train needs Python 3.11 or newer; say make PYTHON=python3.12"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	@# Torch first and exactly: any other road may pull gigabytes of CUDA.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

install: $(READY) ## make .venv and install everything

train: $(READY) ## train landing with the default label, then evaluate it
	$(BIN)/srb agent train --algo sb3_ppo --env landing
	$(BIN)/srb agent eval --algo sb3_ppo --env landing --episodes 200 --video

test: $(READY) ## the whole suite but its slow lane
	$(PYTEST) -m "not slow"

test-all: $(READY) ## the whole suite
	$(PYTEST)

check: format lint type house ## what CI runs before the tests

format: $(READY) ## ruff format, as a check
	$(BIN)/ruff format --check .

lint: $(READY) ## ruff and codespell
	$(BIN)/ruff check .
	$(BIN)/codespell srb_train configs docs tests README.md AGENTS.md CHANGELOG.md

type: $(READY) ## mypy, strict
	$(BIN)/mypy

house: $(READY) ## floors, budgets, light doors, the tree in the README
	$(BIN)/lint-imports
	$(PYTEST) tests/house

smoke: $(READY) ## every label for a few seconds
	$(PYTEST) -v tests/families -k a_smoke_run

bench: $(READY) ## measure and write benchmarks/ (labels and tasks by their names only)
	$(BIN)/python -m benchmarks

docs: $(READY) ## regenerate what is generated in docs/ and README.md
	$(BIN)/python -m srb_train.cli.reference > docs/cli.md
	$(BIN)/python -m srb_train.cli.readme README.md
	$(BIN)/python -m srb_train.mcp_server.reference > docs/mcp.md

wheel: $(READY) ## build the wheel
	$(BIN)/python -m build --wheel

clean: ## remove what was built; runs in logs/ stay
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
