# Each target does all its own set-up: Linux, Python 3.11 or newer and make are enough.
#   make demo    the three baselines through one broken path, taken apart; where to look in MLflow
#   make test    all tests
#   make check   format, lint, types, import layers, tests, the task catalogue: what must hold before a commit
#   make deps    install the sandbox program and what else the system lacks (root, or sudo without a password)
#   make lock    write the pinned, hashed requirements anew

VENV ?= .venv
BIN := $(VENV)/bin
export VENV

.PHONY: demo test check deps docs lock build clean ready-demo ready-dev
.NOTPARALLEL:

demo: ready-demo
	$(BIN)/crosspath demo

test: ready-dev
	$(BIN)/python -m pytest -n 2 --dist loadfile

check: ready-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest -n 2 --dist loadfile
	$(BIN)/crosspath tasks check

deps:
	@sh scripts/install_deps.sh

ready-demo:
	@sh scripts/set_up.sh requirements.lock

ready-dev:
	@sh scripts/set_up.sh requirements-dev.lock

docs: ready-dev
	$(BIN)/python scripts/paths_page.py > docs/paths.md.new && mv docs/paths.md.new docs/paths.md

lock: ready-dev
	sh scripts/write_locks.sh

build: ready-dev
	$(BIN)/python -m hatchling build

clean:
	rm -rf $(VENV) dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
