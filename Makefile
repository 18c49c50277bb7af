# Each target does all its own set-up: it needs Python 3.11 or newer, and make.
PYTHON ?= python3
OLDEST ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Other versions warn of other things.
ELSEWHERE := -n auto --maxprocesses=4 --dist loadfile --no-loadscope-reorder -o filterwarnings=default

.PHONY: demo test test-long mutants bench docs check tables release-check lowest newest clean

demo: $(READY)  ## Run the main job on a synthetic corpus; results in demo/
	$(BIN)/ltr-duel demo --out demo
	@echo "Next, in this shell: . $(BIN)/activate; then ltr-duel --help"

test: $(READY)  ## Run all tests but the long ones
	$(BIN)/python -m pytest -n auto --maxprocesses=4 --dist loadfile --no-loadscope-reorder

test-long: $(READY)  ## Run the tests that take minutes
	$(BIN)/python -m pytest -m long

mutants: $(READY)  ## Change 200 lines, one at a time, and see that a test fails; about half an hour
	$(BIN)/python -m tests.mutants

bench: $(READY)  ## Measure speed and memory in a quarter of an hour (or some rows: BENCH='--quick'), and write docs/performance.md
	$(BIN)/python -m benchmarks $(BENCH)
	$(BIN)/python -m benchmarks.page

docs: $(READY)  ## Build the site: docs/_build/html/index.html
	$(BIN)/python -m sphinx -W --keep-going -n -q -b html docs docs/_build/html

check: $(READY)  ## Style, types, layers and dependencies
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry ltr_duel
	$(BIN)/deptry tests benchmarks data_scripts examples tools --ignore DEP002,DEP004

tables: $(READY)  ## Renew the tables of docs/ that list policies, methods, click models, corpora and floors
	$(BIN)/python tools/component_tables.py docs
	$(BIN)/python tools/floors.py

release-check:  ## Build sdist and wheel, and try the wheel alone on each supported Python that is here
	$(PYTHON) tools/release_check.py $(if $(REQUIRE),--require) $(if $(QUICK),--quick)

lowest: .lowest/.ready  ## Run the tests with the oldest versions of everything that pyproject.toml allows
	.lowest/bin/python -m pytest $(ELSEWHERE) $(TESTS)

newest: .newest/bin/uv  ## Run the tests with the newest versions of everything, pre-releases too, under both compilers
	.newest/bin/uv pip install --quiet --python .newest/bin/python --upgrade --prerelease allow --resolution highest --editable '.[dev]'
	.newest/bin/python -m pytest $(ELSEWHERE) $(TESTS)
	LTR_DUEL_COMPILER=plain .newest/bin/python -m pytest $(ELSEWHERE) $(TESTS)

clean:
	rm -rf $(VENV) .lowest .newest .release demo docs/_build docs/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "ltr_duel needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 2; }
	@echo "Installing ltr_duel and what it needs into $(VENV), some 150 packages; this takes one or two minutes."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --editable '.[dev]'
	@touch $(READY)

.lowest/.ready: pyproject.toml
	$(OLDEST) -m venv --clear .lowest  # newer ones have no wheels of versions that old
	.lowest/bin/python -m pip install --quiet --disable-pip-version-check uv
	.lowest/bin/uv pip install --quiet --python .lowest/bin/python --resolution lowest-direct --editable '.[dev]'
	@touch $@

.newest/bin/uv:
	$(PYTHON) -m venv --clear .newest
	.newest/bin/python -m pip install --quiet --disable-pip-version-check uv
