# Each target sets up everything it needs; only Python 3.11 or newer and make are required.
PYTHON ?= python3
OLDEST ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Other versions of dependencies emit other warnings.
ELSEWHERE := -n auto --maxprocesses=4 --dist loadfile --no-loadscope-reorder -o filterwarnings=default

.PHONY: demo test test-long mutants bench docs check tables release-check lowest newest clean

demo: $(VENV)/.installed  ## Install what users need (no development tools), and run the main job on a synthetic corpus; results in demo/
	$(BIN)/ltr-duel demo --out demo --overwrite
	@echo "Next, in this shell: . $(BIN)/activate; then ltr-duel --help"

test: $(READY)  ## Install the development tools too, compile the policies once, and run all tests except the long ones (MOST=10: none may take 10 s of processor time)
	$(BIN)/python -m tests.compile_policies
	$(BIN)/python -m pytest -n auto --maxprocesses=4 --dist loadfile --no-loadscope-reorder $(if $(MOST),--most-seconds=$(MOST))

test-long: $(READY)  ## Run the tests that take long, on two processes; about twelve minutes
	$(BIN)/python -m tests.compile_policies
	$(BIN)/python -m pytest -m long -n 2 --dist loadgroup

mutants: $(READY)  ## Change 200 lines, one at a time, and print the changes that no test notices; about two hours
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'cosmic-ray>=8.4'
	$(BIN)/python tools/mutants.py

bench: $(READY)  ## Measure speed and memory in a quarter of an hour (BENCH='--quick' for fewer rows), and write docs/performance.md
	$(BIN)/python -m benchmarks $(BENCH)
	$(BIN)/python -m benchmarks.page

docs: $(READY)  ## Build the site: docs/_build/html/index.html
	$(BIN)/python -m sphinx -W --keep-going -n -q -b html docs docs/_build/html

check: $(READY)  ## Check style, types, layers and dependencies
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry ltr_duel
	$(BIN)/deptry tests benchmarks data_scripts examples tools --ignore DEP002,DEP004

tables: $(READY)  ## Update the tables in docs/ of policies, methods, click models, corpora and floors
	$(BIN)/python tools/component_tables.py docs
	$(BIN)/python tools/floors.py

release-check:  ## Build sdist and wheel, and test the wheel alone on each supported Python on this machine
	$(PYTHON) tools/release_check.py $(if $(REQUIRE),--require) $(if $(QUICK),--quick)

lowest: .lowest/.ready  ## Run the tests with the oldest versions that pyproject.toml allows
	.lowest/bin/python -m pytest $(ELSEWHERE) $(TESTS)

newest: .newest/bin/uv  ## Run the tests with the newest versions, including pre-releases, under both compilers
	.newest/bin/uv pip install --quiet --python .newest/bin/python --upgrade --prerelease allow --resolution highest --editable '.[dev]'
	.newest/bin/python -m pytest $(ELSEWHERE) $(TESTS)
	LTR_DUEL_COMPILER=plain .newest/bin/python -m pytest $(ELSEWHERE) $(TESTS)

clean:
	rm -rf $(VENV) .lowest .newest .release demo docs/_build docs/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "ltr_duel needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 2; }
	@echo "Installing ltr_duel and its dependencies into $(VENV), about 40 packages; this takes a minute."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(READY): $(VENV)/.installed
	@echo "Installing the development tools, about 100 packages; this takes a minute."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

.lowest/.ready: pyproject.toml
	$(OLDEST) -m venv --clear .lowest  # newer Pythons have no wheels of the oldest versions
	.lowest/bin/python -m pip install --quiet --disable-pip-version-check uv
	.lowest/bin/uv pip install --quiet --python .lowest/bin/python --resolution lowest-direct --editable '.[dev]'
	@touch $@

.newest/bin/uv:
	$(PYTHON) -m venv --clear .newest
	.newest/bin/python -m pip install --quiet --disable-pip-version-check uv
