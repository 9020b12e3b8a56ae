# Two commands need nothing but Python 3.11+ and make:
#   make solve   set up .venv with what solving needs and search for a good schedule of a benchmark instance, for ten
#                seconds; leaves the schedule and a picture of it in out/
#   make test    add the rest, torch and a browser for the HTML pages among it, then run all tests

PYTHON ?= python3
VENV ?= .venv
INSTANCE ?= ta01
TIME_LIMIT ?= 10
BIN := $(VENV)/bin
STAMP := $(VENV)/.set-up
DEV_STAMP := $(VENV)/.set-up-for-development
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: solve test lint docs setup browser clean

solve: $(STAMP)
	@mkdir -p out
	$(BIN)/l2s solve $(INSTANCE) --time-limit $(TIME_LIMIT) --output out/$(INSTANCE).json --gantt out/$(INSTANCE).png

test: setup browser
	$(BIN)/pytest -n 2 --dist loadgroup

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# NO_MKDOCS_2_WARNING: no word about later versions of other programs
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

setup: $(DEV_STAMP)

# done again only when what is to be installed has changed
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed, $(PYTHON) is older; try: make PYTHON=python3.12" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) -e '.[cp-sat,plot]'
	@touch $(STAMP)

$(DEV_STAMP): $(STAMP)
	$(INSTALL) -e '.[dev]'
	@touch $(DEV_STAMP)

# HTML pages are tested in a real one: Chromium is installed where that is possible, or the message says how
browser: setup
	@$(BIN)/python tests/browser.py

clean:
	rm -rf out .pytest_cache .mypy_cache .ruff_cache .hypothesis
