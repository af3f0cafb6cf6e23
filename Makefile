# Two commands are all a newcomer needs: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# A plain `torch` pulls gigabytes of CUDA; this release has a CPU build. On a GPU machine: make setup TORCH=torch
TORCH  ?= torch==2.13.0

.PHONY: help setup demo test check bench docs browser clean

help:
	@echo "make demo   set up and find the wrong labels in a real data set; writes demo/report.html"
	@echo "make test   set up and run every check and test"
	@echo "make setup  the development environment alone      make check  linters, types, import rules"
	@echo "make bench  speed, as ratios                       make docs   the documentation site in site/"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# The demo needs the base install only: no compiler, no torch, a minute of download.
$(VENV)/.base: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml lab/pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet '$(TORCH)'
	$(BIN)/pip install --quiet --editable '.[train,embed,dev]' --editable lab
	@touch $@ $(VENV)/.base

setup: $(VENV)/.dev

demo: $(VENV)/.base
	$(BIN)/eigenclean demo --out demo

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Pages are tested in a real browser. A fresh machine has none: take the distribution's.
browser:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || { \
	  echo "installing chromium for the browser tests"; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; } || { \
	  echo "The browser tests need chromium or google-chrome: please install one." >&2; exit 1; }

test: check browser
	$(BIN)/pytest -n 2 --dist loadfile

bench: setup
	$(BIN)/eigenclean bench detect

docs: setup
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) site demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
