# The interface for people and for CI. `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGES := generator trainer trainer/cleanup
MACHINE := $(BIN)/python -m tools.machine

# A package that was installed by half is whole to pip: what was cut off begins anew.
INSTALLING := $(VENV)/installing
ifneq ($(shell test ! -e $(INSTALLING) || kill -0 "$$(cat $(INSTALLING))" 2>/dev/null || echo dead),)
$(info the last installation was cut off: $(VENV) is made anew)
$(shell rm -rf $(VENV))
endif

.PHONY: help run test test-full test-matrix lint format image cluster-up cluster-down bench soak simulate signs lock clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

run: $(VENV)/run.stamp ## train the digits example on this machine: 1 ps, 2 workers, 1 chief
	@$(BIN)/tf-cluster run values-examples/digits.params.yaml

test: $(VENV)/dev.stamp ## lint, unit, chart, trainer and cluster tests
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m tests.suites

test-full: $(VENV)/dev.stamp ## the same with the long cases too
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m tests.suites --full

test-matrix: $(VENV)/dev.stamp ## the chart on an API server of each Kubernetes that it is for, trainings on an older one (root, Debian, Go)
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m tests.suites.older
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest tests/cluster/test_versions.py

lint: $(VENV)/dev.stamp ## ruff, mypy --strict, shellcheck, helm lint, value lint
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m tests.suites lint

format: $(VENV)/dev.stamp ## ruff format and its safe fixes
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

image: $(VENV)/dev.stamp ## build the trainer image (TARGET=gpu|notebook, TF_VERSION=, BASE=), and load it into the test cluster when that is up (LOAD=kind:NAME: into kind; none)
	@$(MACHINE) image $(if $(TARGET),--target $(TARGET)) $(if $(TF_VERSION),--tf-version $(TF_VERSION)) \
	  $(if $(BASE),--base $(BASE)) $(if $(LOAD),--load $(LOAD))

cluster-up: $(VENV)/dev.stamp ## a real Kubernetes on this machine (root, Debian); prints KUBECONFIG
	@$(MACHINE) up

cluster-down: $(VENV)/dev.stamp ## end it and leave nothing
	@$(MACHINE) down

bench: $(VENV)/dev.stamp ## the figures of docs/benchmarks.md, as this machine makes them (hours; MEASURES="rate start": some; SAMPLES=1: a look)
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m tests.bench $(MEASURES) $(addprefix --samples=,$(SAMPLES))

soak: $(VENV)/dev.stamp ## 20 minutes of trainings that lose tasks at random (SEED=… repeats one)
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m tests.soak $(addprefix --seed=,$(SEED))

simulate: $(VENV)/dev.stamp ## whole attempts in virtual time, drawn at random (SEEDS=200000 how many, FIRST=… from which; SEED=… tells the story of one)
	@$(BIN)/python -m tests.trainer.simulation $(SEED) $(addprefix --seeds=,$(SEEDS)) $(addprefix --first=,$(FIRST))

signs: $(VENV)/dev.stamp ## how good a house the code is: attributes, lines, arrows, what is kept twice
	@$(BIN)/python -m tools.signs

lock: $(VENV)/dev.stamp ## requirements/*.txt anew from requirements/*.in (TF_VERSION=…: the images' locks for another TensorFlow)
	@UV="$(CURDIR)/$(BIN)/uv" requirements/lock.sh $(TF_VERSION)

clean: ## remove what was made here (not the user cache)
	rm -rf $(VENV) build runs

# --no-deps: the lock is complete, and tf-keras would pull the GPU wheel over tensorflow-cpu.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; \
	  sys.exit(0 if (3, 10) <= v <= (3, 13) else f"Python 3.10 to 3.13 is needed, $(PYTHON) is {v[0]}.{v[1]}: set PYTHON=…")'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: requirements/run.txt generator/pyproject.toml trainer/pyproject.toml trainer/cleanup/pyproject.toml | $(VENV)/bin/python
	@echo "installing into $(VENV) (once)…" >&2
	@echo $$PPID > $(INSTALLING)
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $<
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation $(addprefix -e ./,$(PACKAGES))
	@rm $(INSTALLING)
	@touch $@

$(VENV)/dev.stamp: requirements/dev.txt $(VENV)/run.stamp
	@echo $$PPID > $(INSTALLING)
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $<
	@rm $(INSTALLING)
	@touch $@
