# 'make demo' and 'make test' do all their set-up themselves, in a virtual environment of their own.
PYTHON ?= python3
VENV ?= .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
READY := $(VENV)/.ready
BENCH := $(VENV)/.bench
SCRATCH ?= /tmp/momentlp-bench
ESTIMATORS := tests/unit/estimator tests/unit/features/test_graph.py tests/unit/spec/test_prepared.py
CLASSES ?= classes.csv
REPRODUCE ?= momentlp-reproduce

.DEFAULT_GOAL := help
.PHONY: help demo test tests lint imports types docs coverage dist bench bench-cost bench-targets bench-peers bench-growth bench-classes bench-matching test-slow test-oldest reproduce verify mutation clean

help:
	@echo "make demo        find one digit among 1797 from 30 known ones, and draw it"
	@echo "make test        lint, types, tests and doctests: what every change must pass"
	@echo "                 (in parts: lint, types, tests; docs runs only the examples and links of README and docs)"
	@echo "make coverage    the tests with line and branch coverage; htmlcov/index.html shows it line by line"
	@echo "make test-slow   the long tests that 'make test' leaves out"
	@echo "make test-oldest the estimators, with the checks of scikit-learn, on the oldest versions that are supported"
	@echo "make verify      every property with 10,000 examples, hard and hostile problems, fuzzing: about half an hour on 2 cores"
	@echo "make mutation    break the package in more than thirty ways and see that the tests notice each"
	@echo "make bench       momentlp beside its peers: targets, tables, growth; about two hours on 2 idle cores, 4 GB in SCRATCH"
	@echo "                 (in parts: bench-cost, bench-targets, bench-peers, bench-growth; what needs the USPS digits is left"
	@echo "                 out, and said so, where MOMENTLP_USPS does not name their folder)"
	@echo "make bench-classes  find a class from few labels, beside the strongest other methods; about two hours"
	@echo "make bench-matching  whole sets and matched samples, beside integer solvers and packages for matching; half an hour"
	@echo "make reproduce   every figure and number of the paper, and what is beyond it, on the USPS digits that MOMENTLP_USPS names;"
	@echo "                 under half an hour on 2 cores. Stopped, it goes on where it was. Tables and pictures: docs/results"
	@echo "make dist        build wheel and sdist in dist/"
	@echo "make clean       remove the virtual environment and what tools left behind"

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "momentlp needs Python 3.11 or later: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade 'pip>=25.1'  # the first that installs dependency groups
	$(PIP) install --group test --group lint --editable '.[all]'
	@touch $@

demo: $(READY)
	$(BIN)/momentlp demo

lint: $(READY) imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell .

imports: $(READY)
	$(BIN)/lint-imports

types: $(READY)
	$(BIN)/mypy

tests: $(READY)
	$(BIN)/python -m pytest -m 'not slow'

test: lint types tests

docs: $(READY)
	$(BIN)/python -m pytest README.md docs tests/unit/test_links.py

coverage: $(READY)
	$(PIP) install --group coverage
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest -m 'not slow'
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage html --quiet
	$(BIN)/python -m coverage report

dist: $(READY)
	$(PIP) install --group build
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*

test-slow: $(READY)
	$(BIN)/python -m pytest -m slow

test-oldest:
	$(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip install --quiet --disable-pip-version-check --constraint tests/oldest_versions.txt polars --editable '.[testing,glpk,parquet]'
	$(VENV)-oldest/bin/python -m pytest $(ESTIMATORS)

verify: $(READY)
	$(PIP) install --group fuzz
	$(BIN)/python tests/verify.py

mutation: $(READY)
	$(BIN)/python tests/mutation.py

bench: bench-cost bench-targets bench-peers bench-growth

$(BENCH): $(READY)
	$(PIP) install --group bench
	@touch $@

bench-cost: $(BENCH)
	@if $(BIN)/python -m benchmarks.common.usps_digits; then $(BIN)/python -m benchmarks.cost.overhead; fi
	$(BIN)/python -m benchmarks.cost.import_time
	@if $(BIN)/python -m benchmarks.common.usps_digits; then $(BIN)/python -m benchmarks.cost.solver_options; fi

bench-targets: $(BENCH)
	$(BIN)/python -m benchmarks.speed.targets --scratch $(SCRATCH)

bench-peers: $(BENCH)
	$(BIN)/python -m benchmarks.speed.peers_table

bench-growth: $(BENCH)
	$(BIN)/python -m benchmarks.speed.growth --scratch $(SCRATCH)

bench-classes: $(BENCH)
	$(BIN)/python -m benchmarks.classes.run --out $(CLASSES)
	$(BIN)/python -m benchmarks.classes.report --results $(CLASSES) --docs docs/results/benchmarks

bench-matching: $(READY)
	$(PIP) install --group bench-matching
	$(BIN)/python -m benchmarks.matching.run

reproduce: $(READY)
	$(BIN)/momentlp reproduce all --out $(REPRODUCE)
	cd $(REPRODUCE) && find . \( -name '*.md' -o -name '*.png' -o -name '*.csv' \) -exec cp --parents {} $(CURDIR)/docs/results \;

clean:
	rm -rf $(VENV) $(VENV)-oldest .coverage* htmlcov dist .mypy_cache .import_linter_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
