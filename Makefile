# Everything happens in .venv; the only needs are make and Python 3.11+ (PYTHON=… names another).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Two workers, a file each at a time; one hash seed, so that both collect the same cases.
PYTEST := PYTHONHASHSEED=0 $(BIN)/python -m pytest -n 2 --dist loadfile
PYTEST_ARGS ?=
BENCH_ARGS ?=
COMPILE_ARGS ?=
ROOM ?=

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help ready-to-run ready-to-test install compile run test test-pure quick lint format bench \
	wheels docs clean clean-core

help: ## show this list
	@echo "make TARGET, where TARGET is one of:"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Each installs what is missing, by uv where it can be had; nothing if that was done before.
ready-to-run:
	@$(PYTHON) tools/set_up.py run

ready-to-test:
	@$(PYTHON) tools/set_up.py test

install: ready-to-run compile ## create .venv for running and compile the core

compile: ready-to-run ## compile the core with mypyc if its sources changed
	@$(BIN)/python tools/compile_core.py $(COMPILE_ARGS)

run: ready-to-run ## start the demo: sensors on three brokers, the console, a Spark pipeline (Ctrl-C stops it)
	@$(BIN)/python tools/run_demo.py

# All tests are for what ships, compiled. Some of them take what is compiled if it is true to the
# sources, and else the sources: nobody waits for the compiler to see one file's tests.
ifeq ($(strip $(PYTEST_ARGS)),)
test: ready-to-test compile ## run all tests (PYTEST_ARGS="-k name" for some: those do not compile)
	$(PYTEST)
else
test: ready-to-test
	@$(BIN)/python tools/compile_core.py --check || export GOSSAMER_PURE=1; $(PYTEST) $(PYTEST_ARGS)
endif

test-pure: ready-to-test ## run the tests of the core, uncompiled
	GOSSAMER_PURE=1 GOSSAMER_EXAMPLES=quick $(PYTEST) \
		$(wildcard $(addprefix tests/,wire topics bloom plus session broker client mesh \
		lab/trials/test_window_trials.py)) $(PYTEST_ARGS)

quick: ready-to-test ## test what changed, uncompiled, in seconds (ROOM=session for one room)
	@$(BIN)/python tools/quick.py $(ROOM) --pytest="$(PYTEST_ARGS)"

lint: ready-to-test ## check style, types and import layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: ready-to-test ## format the sources
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: ready-to-test compile ## benchmark this broker and other brokers (BENCH_ARGS="--quick")
	$(BIN)/gossamer bench brokers $(BENCH_ARGS)

wheels: install ## build wheels: pure, compiled for this platform, and the lab's
	$(BIN)/python tools/build_wheels.py --out dist

docs: ready-to-test ## build the guides as a site and check its links: site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --site-dir site

clean-core: ## remove the compiled modules
	@find src -name '*.so' -delete; rm -f src/.compiled-core

clean: clean-core ## remove compiled modules, caches and .venv
	rm -rf $(VENV) build packaging/lab/build dist out site .mypy_cache .ruff_cache .pytest_cache
	rm -rf .hypothesis src/*.egg-info .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
