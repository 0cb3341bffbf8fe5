# make train: a detector, trained.   make demo: a stuck training, explained.   make test: every check.   They set up what they need, once.

PYTHON ?= python3.11
VENV   ?= .venv

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
TREES := src tests benchmarks docs demo fuzz

.PHONY: train demo test test-quick test-every test-versions check format docs bench fuzz clean help
.DEFAULT_GOAL := help

help:
	@echo "make train   set up and train a tiny detector on pictures of shapes (minutes after the set-up); ARGS='--epochs 5' adds options"
	@echo "make demo    set up and show a stuck training being explained (about a minute after the set-up)"
	@echo "make test    set up and run every check: lint, types, docs, tests on each backend"
	@echo "make test-quick  the checks, and the tests of every room that neither start a process nor wait: two minutes"
	@echo "make test-every  the same, and the specifications of detectors on each backend: a quarter of an hour more"
	@echo "make test-versions  run the same programs on every version of the frameworks: some hours, and 30 GB of environments"
	@echo "make check   lint, types and docs only: seconds"
	@echo "make format  put the code into form"
	@echo "make docs    write the generated pages again"
	@echo "make bench   run every specimen for real, and measure the overhead: an hour or more"
	@echo "make fuzz    give every parser 100,000 inputs, twice: half an hour"
	@echo "make clean   remove what was set up"
	@echo "PYTHON=python3.11 names the interpreter, VENV=.venv the environment"

# --- set-up: a stamp for each, made again when pyproject.toml changes ---

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Unstall needs Python 3.11 or newer. Received: PYTHON=$(PYTHON). Try: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.ready-for-demo: pyproject.toml | $(BIN)/python
	@echo "setting up $(VENV) with TensorFlow for the demo (once, a few minutes)"
	@$(PIP) install -e '.[tensorflow]'
	@touch $@

$(VENV)/.ready-for-train: pyproject.toml | $(BIN)/python
	@echo "setting up $(VENV) with TensorFlow and what reads data (once, a few minutes)"
	@$(PIP) install -e '.[data,tensorflow]'
	@touch $@ $(VENV)/.ready-for-demo

# tf_keras asks for the tensorflow that carries CUDA, half a gigabyte; tensorflow-cpu serves it as well.
$(VENV)/.ready-for-test: pyproject.toml | $(BIN)/python
	@echo "setting up $(VENV) with TensorFlow, JAX, PyTorch and the tools of the tests (once, several minutes)"
	@$(PIP) install -e '.[test]'
	@$(PIP) install --no-deps 'tf_keras~=2.18'
	@touch $@ $(VENV)/.ready-for-demo $(VENV)/.ready-for-train

# --- what one does ---

train: $(VENV)/.ready-for-train
	@$(BIN)/unstall train $(ARGS)

demo: $(VENV)/.ready-for-demo
	@$(BIN)/python demo/demo.py

test: $(VENV)/.ready-for-test
	@$(BIN)/python tests/run_all.py

test-quick: $(VENV)/.ready-for-test
	@$(BIN)/python tests/run_all.py quick

check: $(VENV)/.ready-for-test
	@$(BIN)/python tests/run_all.py check

# One group of tests/run_all.py: torch, jax, tensorflow or no-backend.
tests-%: $(VENV)/.ready-for-test
	@$(BIN)/python tests/run_all.py $*

# Every specification of the detectors on every backend, compiled ones too: a quarter of an hour more.
test-every:
	@UNSTALL_EVERY_BACKEND=1 $(MAKE) --no-print-directory test

# The same programs on every version of the frameworks; environments are set up once, in $$XDG_CACHE_HOME/unstall/stacks.
test-versions: $(VENV)/.ready-for-test
	$(BIN)/python -m benchmarks.versions $(ARGS)

format: $(VENV)/.ready-for-test
	$(BIN)/ruff check --fix $(TREES)
	$(BIN)/ruff format $(TREES)

docs: $(VENV)/.ready-for-test
	$(BIN)/python docs/generate.py

bench: $(VENV)/.ready-for-test
	$(BIN)/python -m benchmarks.diagnosis
	$(BIN)/python -m benchmarks.overhead
	$(BIN)/python -m benchmarks.reading
	$(BIN)/python -m benchmarks.checking

fuzz: $(VENV)/.ready-for-test
	@$(PIP) install -e '.[fuzz]'
	$(BIN)/python -m fuzz.run --out benchmarks/results/fuzzing.json

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
