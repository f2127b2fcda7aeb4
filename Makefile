# Ostler's commands. `make run` and `make test` need Python 3.11 or newer, make and git; all else they install.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
BIN := .venv/bin
# Python below 3.13 cannot start in a folder with an accent in its name under the locale C.
export LC_ALL := C.UTF-8
ARGS ?=
KILLS ?=
SEEDS ?=
PROJECT := pyproject.toml requirements-build.lock

# An environment whose Python is gone, or that belongs to another folder (the clone was moved or copied), is made anew.
ifneq ($(filter-out help clean,$(MAKECMDGOALS)),)
HERE := import os, ostler; print(os.path.samefile(ostler.__path__[0], "src/ostler"))
ifneq ($(shell LC_ALL=C.UTF-8 $(BIN)/python -I -c '$(HERE)' 2>/dev/null),True)
$(shell rm -f .venv/.runtime .venv/.dev)
endif
endif

help: ## show these commands
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' Makefile

setup: .venv/.runtime ## install ostler in .venv from the hashed lock (PYTHON=… names the Python)
	@echo 'ready: .venv/bin/ostler'

run: .venv/.runtime ## start ostler with its dashboard (no key: with the simulated cloud)
	@exec $(BIN)/ostler up $(ARGS)

test: .venv/.dev ## run every tier of tests (ARGS=tests/unit for one of them)
	@sh tools/test-tools.sh
	@exec $(BIN)/python -m pytest --numprocesses=auto --maxprocesses=8 --dist=loadgroup $(ARGS)

check: .venv/.dev ## linters, layers, dependencies, dead code, types: all of them, whichever fails
	@failed=; for check in "ruff format --check ." "ruff check ." lint-imports "deptry ." vulture mypy; do \
		echo "== $$check"; $(BIN)/$$check || failed="$$failed; $$check"; \
	done; [ -z "$$failed" ] || { echo "failed: $${failed#; }"; exit 1; }

fix: .venv/.dev ## let ruff format and mend what it can, and fill the generated parts of the documents
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/python -m tools.generate_docs

bench: .venv/.dev ## print the benchmark table (ARGS=name for one of them)
	@exec $(BIN)/python -m benchmarks $(ARGS)

chaos: .venv/.dev ## long fault runs (KILLS=100 real kills per database, SEEDS=1000 runs in process)
	@OSTLER_TEST_KILLS=$(KILLS) OSTLER_TEST_SEEDS=$(SEEDS) \
		exec $(BIN)/python -m pytest --capture=no --timeout=0 tests/chaos $(ARGS)

lock: .venv/.runtime ## renew the hashed locks from pyproject.toml
	@sh tools/lock.sh

clean: ## remove all that the commands above have made
	rm -rf .venv .tools .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build

.venv/.runtime: requirements.lock $(PROJECT)
	@sh tools/setup.sh requirements.lock

.venv/.dev: requirements-dev.lock requirements.lock $(PROJECT)
	@sh tools/setup.sh requirements-dev.lock

.PHONY: help setup run test check fix bench chaos lock clean
