# Everything happens in .venv; the only needs are make and Python 3.11+ (PYTHON=… names another).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
EXTRAS := dev,bench,docs,plots,data,geo,vision,console,trace,spark
# Two workers, a file each at a time; one hash seed, so that both collect the same cases.
PYTEST := PYTHONHASHSEED=0 $(BIN)/python -m pytest -n 2 --dist loadfile
PYTEST_ARGS ?=
BENCH_ARGS ?=
COMPILE_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help install compile run test test-pure lint format bench wheels docs clean clean-core

help: ## show this list
	@echo "make TARGET, where TARGET is one of:"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Gossamer needs Python 3.11 or later: make PYTHON=…" \
		if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV): a few minutes and two gigabytes, the first time"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --retries 5 -e '.[$(EXTRAS)]'
	touch $(STAMP)

install: $(STAMP) compile ## create .venv with everything in it and compile the core

compile: $(STAMP) ## compile the core with mypyc if its sources changed
	@$(BIN)/python tools/compile_core.py $(COMPILE_ARGS)

run: install ## a city of sensors on three brokers, the console, a Spark pipeline (Ctrl-C ends)
	@$(BIN)/gossamer demo

test: install ## run all tests (PYTEST_ARGS="-k name" for some of them)
	$(PYTEST) $(PYTEST_ARGS)

test-pure: $(STAMP) ## run the tests of the core from its sources, uncompiled
	GOSSAMER_PURE=1 GOSSAMER_EXAMPLES=quick $(PYTEST) \
		$(wildcard $(addprefix tests/,wire topics bloom plus session broker mesh)) $(PYTEST_ARGS)

lint: $(STAMP) ## style, types and layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP) ## rewrite the sources in the one format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: install ## measure this broker beside its peers (BENCH_ARGS="--quick")
	$(BIN)/gossamer bench brokers $(BENCH_ARGS)

wheels: install ## the package for every machine and, compiled, for machines like this: dist/
	$(BIN)/python tools/build_wheels.py --out dist

docs: $(STAMP) ## the guides as a site, its links checked: site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --site-dir site

clean-core: ## remove the compiled modules, so that the sources run
	@find src -name '*.so' -delete; rm -f src/.compiled-core

clean: clean-core ## remove what was made: compiled modules, caches, .venv
	rm -rf $(VENV) build dist out site .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -rf src/*.egg-info .import_linter_cache
