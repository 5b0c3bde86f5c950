# The same commands locally and in CI. `make` alone lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# pytest keeps the tests that it has rewritten there: 4 s of each run.
unexport PYTHONDONTWRITEBYTECODE
# One process for the node tests, one for all others (tests/shares.py): on two cores a third makes
# waits so long that some run out.
SHARED := -n 2 --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help venv demo test check unit format bench chaos lock clean

help:  ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

venv: $(STAMP)  ## the virtual environment with everything pinned

$(STAMP): requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(STAMP)  ## a push to Git becomes running, verified, measured pods (KEEP=1 leaves it up, NO_APT=1 installs no packages)
	$(BIN)/levelset demo $(if $(KEEP),--keep) $(if $(NO_APT),--no-apt)

test: $(STAMP)  ## unit, contract and node tests; installs what they need
	$(BIN)/levelset tools install --for tests $(if $(NO_APT),--no-apt)
	$(BIN)/pytest $(SHARED) -m "not bench and not kind and not chaos" --durations=15

check: $(STAMP)  ## format, lint, types, layers, unit tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2 tests/unit

unit: $(STAMP)  ## the unit tests alone
	$(BIN)/pytest -n 2 tests/unit

format: $(STAMP)  ## put the code into shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)  ## measure, side by side; rewrites docs/benchmarks.md
	$(BIN)/levelset tools install --for bench $(if $(NO_APT),--no-apt)
	rm -f build/benchmarks.json  # no table of a bench that is no more
	$(BIN)/pytest tests/bench -m bench -s

chaos: $(STAMP)  ## kill, freeze and cut off at random (LEVELSET_CHAOS_SEED repeats a run)
	$(BIN)/levelset tools install --for bench $(if $(NO_APT),--no-apt)
	$(BIN)/pytest tests/chaos -m chaos --durations=0

lock: $(STAMP)  ## rewrite the lock files
	requirements/lock.sh

clean:  ## remove the virtual environment and caches of this checkout
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
