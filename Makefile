# Everything a developer or an operator of one machine types. A bare machine needs Python 3.11+, make, and the
# package index.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
COMPILE := $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-header --quiet pyproject.toml
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help install run test crash kills attacks screenshots lint format requirements clean

help: ## show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 24

install: $(VENV)/.dev ## make the virtual environment, with all that development needs

run: $(VENV)/.base ## run everything on this machine; ARGS='--port 9000' passes options to `stalwart serve`
	@exec $(BIN)/stalwart serve $(ARGS)

test: $(VENV)/.dev ## run the tests; ARGS='-k undo' passes options to pytest
	@exec $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(ARGS)

crash: kills attacks ## all that is killed: every kill point, every pair of processes, a soak of four minutes

kills: $(VENV)/.dev
	@KILL_MATRIX=all $(BIN)/python -m pytest -n 2 --dist load tests/crash/test_kill_matrix.py

# One at a time: how soon work goes on is measured.
attacks: $(VENV)/.dev
	@CRASH=all SOAK_SECONDS=240 $(BIN)/python -m pytest tests/crash --ignore=tests/crash/test_kill_matrix.py

lint: $(VENV)/.dev ## every check but the tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/djlint templates --check --lint --quiet
	$(BIN)/python -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run

screenshots: $(VENV)/.dev ## a picture of every page, into screenshots/; needs chromium
	@exec $(BIN)/python -m tests.screenshots $(ARGS)

format: $(VENV)/.dev ## rewrite the code as the linters want it
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/djlint templates --reformat --quiet

requirements: $(VENV)/.uv ## compile requirements/*.txt anew; ARGS=--upgrade takes newer versions
	$(COMPILE) $(ARGS) -o requirements/base.txt
	$(COMPILE) $(ARGS) --extra models -c requirements/base.txt -o requirements/models.txt
	$(COMPILE) $(ARGS) --extra models --group dev -c requirements/models.txt -o requirements/dev.txt
	$(COMPILE) $(ARGS) --group bench -c requirements/base.txt -o requirements/bench.txt

clean: ## remove the virtual environment and every cache, not the data in .stalwart
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- The virtual environment. The dot files are stamps: a second call does nothing. -------------------------
$(VENV)/.uv:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@touch $@

$(VENV)/.base: requirements/base.txt pyproject.toml | $(VENV)/.uv
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements/base.txt
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --no-deps -e .
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.base
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements/dev.txt
	@touch $@
