# Everything a person needs: make study, make test, make test-slow, make test-torch, make test-matrix, make docs, make bench.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TORCH := .venv-torch
DOCS := .venv-docs
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: study test lint test-slow test-torch test-matrix bench docs clean

study: $(VENV)/ready-to-run
	$(BIN)/truefit study breast_cancer --out report.html

test: lint
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile --durations 15

lint: $(VENV)/ready-to-develop
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test-slow: $(VENV)/ready-to-develop
	$(BIN)/python -m pytest -m slow --numprocesses auto --dist loadfile --durations 15

test-torch: $(TORCH)/ready
	$(TORCH)/bin/python -m pytest tests/torch src/truefit/torch docs/networks.md

# Other interpreters and versions, as far as they are found; what is installed comes from the package index.
test-matrix: $(VENV)/ready-to-develop
	$(BIN)/nox

bench: $(VENV)/ready-to-develop
	$(BIN)/python -m benchmarks

# The documentation site, in build/docs/html: examples are run, warnings and dead links are errors.
docs: $(DOCS)/ready
	$(DOCS)/bin/python -m sphinx --builder html --fail-on-warning --keep-going --quiet docs build/docs/html

clean:
	rm -rf $(VENV) $(TORCH) $(DOCS) build/docs docs/api docs/gallery dist .nox
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/ready-to-run: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e .
	touch $@

$(VENV)/ready-to-develop: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e '.[dev]'
	touch $@ $(VENV)/ready-to-run

# Networks have an environment of their own: torch is large, and nothing else needs it.
$(TORCH)/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(TORCH)
	$(TORCH)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,torch]' skorch
	touch $@

# The site has an environment of its own: its packages pin others that nothing else needs.
$(DOCS)/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	touch $@
