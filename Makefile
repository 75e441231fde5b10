# Everything a contributor runs. Needs Python 3.11 or newer and make; the rest goes into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --quiet

# A real package that the demo lints; it is downloaded, never imported.
PACKAGE := vector_quantize_pytorch
PACKAGE_VERSION := 1.32.0
PACKAGE_DIR := $(VENV)/demo/$(PACKAGE)-$(PACKAGE_VERSION)

.DEFAULT_GOAL := help
.PHONY: help demo readme test test-all test-lowest lint coverage ecosystem ecosystem-update clean

help:  ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 18

demo: $(VENV)/base.stamp $(PACKAGE_DIR)  ## lint the founding example and a real package
	@echo
	@echo "1. examples/freezing.py wants to freeze two layers and train the third."
	@echo "   \$$ gradlint check examples/freezing.py"
	@echo
	@$(BIN)/gradlint check examples/freezing.py; code=$$?; \
	  if [ $$code -ne 1 ]; then echo "expected exit 1 and a finding, got exit $$code"; exit 1; fi; \
	  echo; echo "   Exit code 1: findings, so a commit hook or a CI step stops here."
	@echo
	@echo "2. What does the rule say? (the first lines of its page; the rest are examples)"
	@echo "   \$$ gradlint explain GL301"
	@echo
	@$(BIN)/gradlint explain GL301 > $(VENV)/demo/page.txt
	@sed '/^Bad:/,$$d' $(VENV)/demo/page.txt
	@echo "3. The whole of $(PACKAGE) $(PACKAGE_VERSION), as its authors publish it."
	@echo "   \$$ gradlint check --output-format concise --statistics $(PACKAGE)"
	@echo
	@cd $(PACKAGE_DIR) && $(CURDIR)/$(BIN)/gradlint check \
	  --isolated --no-cache --output-format concise --statistics $(PACKAGE); code=$$?; \
	  if [ $$code -gt 1 ]; then echo "expected exit 0 or 1, got exit $$code"; exit 1; fi; \
	  echo; echo "   Exit code $$code. Source only: nothing was imported or run."

test: $(VENV)/dev.stamp  ## the quick tests, some minutes
	$(BIN)/python -m pytest -q

test-all: $(VENV)/dev.stamp  ## all tests, the slow ones too
	$(BIN)/python -m pytest -q -m ""

# The same tests as far as they need no torch, on the oldest versions that pyproject.toml admits.
test-lowest: $(VENV)-lowest/stamp  ## the tests without torch, on the oldest dependencies
	$(VENV)-lowest/bin/python -m pytest -q

lint: $(VENV)/dev.stamp  ## ruff, mypy, and gradlint on itself
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/gradlint check .

readme: $(VENV)/dev.stamp  ## write the table of rules into README.md
	UPDATE_README=1 $(BIN)/python -m pytest -q tests/test_readme.py -k the_table_of_rules

coverage: $(VENV)/dev.stamp  ## branch coverage: 100% of rules and model, 95% of the rest
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -q
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --fail-under=100 \
	  --include="src/gradlint/rules/*,src/gradlint/model.py"
	$(BIN)/coverage report --fail-under=95 \
	  --omit="src/gradlint/rules/*,src/gradlint/model.py"

# `make ecosystem ONLY="timm nni"` lints these packages only.
ONLY :=

ecosystem: $(VENV)/base.stamp  ## lint pinned packages from PyPI: is all found as it is kept?
	@PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m ecosystem check $(VENV)/ecosystem $(ONLY)

ecosystem-update: $(VENV)/base.stamp  ## keep in tests/ecosystem/ what is found in them now
	@PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m ecosystem update $(VENV)/ecosystem $(ONLY)

clean:  ## remove what these targets made
	rm -rf $(VENV) $(VENV)-lowest .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache

# ------------------------------------------------------------------------------- environments

$(VENV)/bin/python:
	@echo "Creating $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/base.stamp: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Installing gradlint (libcst, click, pathspec; no torch)"
	@$(PIP) install --constraint constraints.txt --editable .
	@touch $@

$(VENV)/dev.stamp: $(VENV)/base.stamp
	@echo "Installing the development tools and the CPU build of torch"
	@$(PIP) install --constraint constraints.txt --editable '.[dev]'
	@touch $@

$(VENV)-lowest/stamp: pyproject.toml constraints.txt
	@echo "Installing the oldest versions that pyproject.toml admits"
	@$(PYTHON) -m venv $(VENV)-lowest
	@sed -n '/^dependencies/,/^]/s/.*"\([a-z]*\)>=\([0-9.]*\).*/\1==\2/p' pyproject.toml \
	  > $(VENV)-lowest/oldest.txt
	@$(VENV)-lowest/bin/python -m pip --quiet --quiet install --constraint $(VENV)-lowest/oldest.txt \
	  --editable . pytest hypothesis packaging pre-commit
	@touch $@

$(PACKAGE_DIR): | $(VENV)/bin/python
	@echo "Downloading $(PACKAGE) $(PACKAGE_VERSION) to lint it (unpacked, not installed)"
	@mkdir -p $(VENV)/demo
	@$(PIP) download --no-deps --dest $(VENV)/demo $(PACKAGE)==$(PACKAGE_VERSION)
	@$(BIN)/python -m zipfile -e $(VENV)/demo/$(PACKAGE)-$(PACKAGE_VERSION)-*.whl $@
