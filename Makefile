# Plyroom: `make run` plays, `make test` checks everything, `make help` lists the rest.

PORT ?= 8000
DATA ?= data
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TYPESCRIPT := 7.0.2
AXE := 4.14.1
BOARDGAME := 0.50.2
TSC := $(VENV)/npm/node_modules/.bin/tsc
PYTEST_ARGS ?=
SUITES ?=
OPEN_SPIEL ?=
BENCH_ARGS ?=
ONLY ?=

# Python's bytecode is written also where the environment forbids it: else each of the hundreds of processes that the
# tests start would compile the project again.
unexport PYTHONDONTWRITEBYTECODE

SHELL := /bin/sh
.DELETE_ON_ERROR:
.SUFFIXES:
.NOTPARALLEL:
.DEFAULT_GOAL := help

.PHONY: help
help: ## show this list
	@echo "Plyroom. Targets:"
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'

# ---------------------------------------------------------------- set-up (each step runs once)

$(BIN)/python:
	@PYTHON="$(PYTHON)" VENV="$(VENV)" sh server/deploy/setup/venv.sh

$(VENV)/.run: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing Plyroom and its pinned dependencies into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[tui]'
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing Plyroom with its pinned test and development tools into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,mqtt,postgres,tui]'
	@touch $@ $(VENV)/.run

$(VENV)/.npm-$(TYPESCRIPT)-$(AXE): | $(BIN)/python
	@sh server/deploy/setup/system.sh node
	@echo "Installing TypeScript $(TYPESCRIPT) and axe-core $(AXE) into $(VENV)/npm (checks of the browser client only) ..."
	@npm install --no-save --no-package-lock --no-audit --no-fund --loglevel=error --prefix $(VENV)/npm \
		typescript@$(TYPESCRIPT) axe-core@$(AXE) >/dev/null
	@touch $@

$(VENV)/.peers-$(BOARDGAME): | $(BIN)/python
	@sh server/deploy/setup/system.sh node
	@echo "Installing boardgame.io $(BOARDGAME) into $(VENV)/peers (a peer of the benchmarks only) ..."
	@npm install --no-save --no-package-lock --no-audit --no-fund --loglevel=error --prefix $(VENV)/peers \
		boardgame.io@$(BOARDGAME) >/dev/null
	@touch $@

# ---------------------------------------------------------------- play

.PHONY: run
run: $(VENV)/.run ## set up and start the server (PORT=8000, DATA=data); Ctrl-C stops it
	@exec $(BIN)/plyroom serve --port $(PORT) --data "$(DATA)"

.PHONY: cluster
cluster: $(VENV)/.dev ## start a cluster like that of docker-compose.yml, without Docker: 3 nodes, 2 workers, PostgreSQL, Mosquitto, proxy
	@sh server/deploy/setup/system.sh mosquitto postgresql haproxy
	@exec $(BIN)/python -m server.deploy.cluster

# ---------------------------------------------------------------- checks and tests

.PHONY: test
test: $(VENV)/.dev system ## set up, check, then run all tests, some in a real Chromium
	@$(MAKE) --no-print-directory --jobs check bytecode
	@echo "Running all tests ..."
	@$(BIN)/python -m pytest -m "not long" -n auto --dist loadscope --no-loadscope-reorder $(PYTEST_ARGS)

.PHONY: test-long
test-long: $(VENV)/.dev system ## run the tests that take minutes
	@$(BIN)/python -m pytest -m long $(PYTEST_ARGS)

.PHONY: bytecode
bytecode: $(VENV)/.dev # once, in place of once in each process of the tests
	@$(BIN)/python -m compileall -q -j 0 client engine server tests

.PHONY: check
check: lint types types-js ## check style, import rules, types of Python and JavaScript

.PHONY: lint
lint: $(VENV)/.dev ## check style and import rules only (seconds)
	@echo "Style (ruff) ..."
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo "Import rules (import-linter) ..."
	@$(BIN)/lint-imports --no-logo

.PHONY: types
types: $(VENV)/.dev ## check the types of the Python code (mypy, strict)
	@echo "Types (mypy) ..."
	@$(BIN)/mypy

.PHONY: types-js
types-js: $(VENV)/.npm-$(TYPESCRIPT)-$(AXE) ## check the types of the browser client (TypeScript reads its JSDoc)
	@echo "Types of the browser client (tsc) ..."
	@$(TSC) --project client/tsconfig.json

.PHONY: fix
fix: $(VENV)/.dev ## fix the style where ruff can
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

.PHONY: system
system: ## install what the tests need: Chromium, Mosquitto, PostgreSQL, HAProxy, Node, OpenSSL
	@sh server/deploy/setup/system.sh chromium mosquitto postgresql haproxy node openssl

.PHONY: screenshots
screenshots: $(VENV)/.dev ## take screenshots of every page and state into screenshots/ (ONLY=WORD for some of them)
	@sh server/deploy/setup/system.sh chromium
	@$(BIN)/python -m tests.system.screenshots --only "$(ONLY)"

# ---------------------------------------------------------------- benchmarks

.PHONY: bench
bench: bench-engine ## run the benchmarks of docs/how-to/benchmarks.md
	@sh server/deploy/setup/system.sh mosquitto postgresql haproxy
	@$(BIN)/python -m engine.bench.classes
	@$(BIN)/python -m server.bench moves
	@$(BIN)/python -m server.bench traces
	@$(BIN)/python -m server.bench analyses
	@$(BIN)/python -m server.bench hints
	@$(BIN)/python -m server.bench restart
	@$(BIN)/python -m server.bench moves --postgres
	@$(BIN)/python -m server.bench cluster
	@$(BIN)/python -m server.bench first-moves
	@sh server/deploy/setup/system.sh chromium
	@$(BIN)/python -m tests.system.page_loads
	@$(BIN)/python -m tests.system.search_steps

.PHONY: bench-pages
bench-pages: $(VENV)/.dev ## measure in Chromium the first load of each page, on a fast and a slow line, and steps through a large search
	@sh server/deploy/setup/system.sh chromium
	@$(BIN)/python -m tests.system.page_loads
	@$(BIN)/python -m tests.system.search_steps

.PHONY: bench-peers
bench-peers: $(VENV)/.dev $(VENV)/.peers-$(BOARDGAME) ## compare the server with a bare relay and boardgame.io, ten minutes (BENCH_ARGS="--only fast")
	@$(BIN)/python -m server.bench peers $(BENCH_ARGS)

BENCH_TABLE = $(BIN)/python -m tests.engine.search_peers --json $(if $(OPEN_SPIEL),--open-spiel "$(OPEN_SPIEL)") | \
	$(BIN)/python -m engine.bench.table --add - $(if $(SUITES),--suites "$(SUITES)")

.PHONY: bench-engine
bench-engine: $(VENV)/.dev ## run the engine's benchmarks only, minutes (SUITES=DIR with files of positions, OPEN_SPIEL=DIR with its sources)
	@$(BENCH_TABLE)
	@$(BIN)/python -m tests.engine.perft_peers

.PHONY: bench-engine-long
bench-engine-long: $(VENV)/.dev ## run bench-engine's table with Othello's FFO 45 to 59 and draughts' tables too: up to hours
	@$(BENCH_TABLE) --long

# ---------------------------------------------------------------- cleaning

.PHONY: clean
clean: ## remove everything that was built or installed here (never data/)
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage htmlcov
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
