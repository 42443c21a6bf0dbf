# make book | test | reproduce | full | verify | serve | live | client | release | lint | lock | robustness | bench | rivals | clean | distclean      (README.md says what each does)
# Needs Python 3.11 or newer with venv, and make. Another interpreter: make book PYTHON=python3.12

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help env book test reproduce full verify serve live client release lint lock robustness bench rivals clean distclean

PYTHON ?=
JOBS ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
PORT ?= 8000
BIN := .venv/bin

# One thread for each job, because several run at once; one family of routines, so that machines agree.
THREADS := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
ifneq (,$(shell grep -m1 -o avx2 /proc/cpuinfo 2>/dev/null))
THREADS += OPENBLAS_CORETYPE=Haswell
endif
# Nothing is left in the home folder except below .cache.
export MPLCONFIGDIR := $(CURDIR)/_build/cache/matplotlib
export JUPYTER_PLATFORM_DIRS := 1
# Many processes import the same modules: compiled once, they are kept.
unexport PYTHONDONTWRITEBYTECODE

help:
	@sed -n '1,2s/^# //p' Makefile

# The environment is what requirements.lock says, with hashes. It is made again when the lock, the package's
# metadata or the requested interpreter changes.
env:
	@set -e; py=""; \
	for candidate in $(if $(PYTHON),$(PYTHON),python3.11 python3 python3.12 python3.13 python3.14); do \
	  if $$candidate -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then py=$$candidate; break; fi; \
	done; \
	if [ -z "$$py" ]; then echo "No Python 3.11 or newer with venv and pip was found$(if $(PYTHON), as $(PYTHON)). On Debian: apt-get install python3-venv"; exit 1; fi; \
	if [ -x $(BIN)/python ] && [ -n "$(PYTHON)" ] && [ "$$($(BIN)/python -V)" != "$$($$py -V)" ]; then rm -rf .venv; fi; \
	if ! cat requirements.lock pyproject.toml 2>/dev/null | cmp -s - .venv/.installed-from; then \
	  echo "Installing the locked environment into .venv (about a minute) ..."; \
	  [ -x $(BIN)/python ] || $$py -m venv .venv; \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock; \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .; \
	  cat requirements.lock pyproject.toml > .venv/.installed-from; \
	fi

book: env
	@$(BIN)/python -m compendium.book.pages --jobs $(JOBS)
	@$(BIN)/python -m compendium.book.build --jobs $(JOBS)

# Every unit of a paper computed again, beside what is stored; nothing below data/ is written. PAPER=zhou2024, or all.
PAPER ?= all
reproduce: env
	$(THREADS) $(BIN)/python -m compendium reproduce $(PAPER) --jobs $(JOBS)

# Every unit that is not stored or is outdated, computed and stored below data/results.
full: env
	$(THREADS) $(BIN)/python -m compendium full --jobs $(JOBS)

# Stored results computed again from the data and compared: a sample of so many seconds, drawn by the commit; with ALL=1
# everything.
SAMPLE ?= 90
verify: env
	$(BIN)/python -m compendium verify $(if $(ALL),--all,--sample $(SAMPLE)) --jobs $(JOBS)

# Every theorem, data set, notebook and page; with ALL=1 each rule on further cases as well, as before a release;
# with MACHINE=1 only what needs more than Python and the packages.
test: env
	$(THREADS) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(if $(ALL),--exhaustive) $(if $(MACHINE),--machine)

serve: env
	@test -f _build/html/index.html || { echo "There is no book yet: run 'make book' first."; exit 1; }
	@echo "http://127.0.0.1:$(PORT)/  (stop with Ctrl-C)"
	@$(BIN)/python -m http.server $(PORT) --bind 127.0.0.1 --directory _build/html

# The same with a kernel behind it: cells can be changed and run in the page.
live: env
	$(THREADS) $(BIN)/python -m compendium live

# Jupyter's client and the editor for those pages, from their npm packages as locked; needs Node.js.
client:
	cd src/compendium/live/client && npm ci && node build.mjs $(CURDIR)/book/_static/live

# The sources of this commit and the built book, each in one file, with their checksums.
NAME = evenspan-$(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
release:
	@git --version >/dev/null 2>&1 && test -e .git || { echo "A release is made with git, in a clone of the repository."; exit 1; }
	@test -f _build/html/index.html || { echo "There is no book yet: run 'make book' first."; exit 1; }
	@mkdir -p dist
	git archive --prefix=$(NAME)/ -o dist/$(NAME).tar.gz HEAD
	tar -czf dist/$(NAME)-book.tar.gz -C _build html
	cd dist && sha256sum $(NAME).tar.gz $(NAME)-book.tar.gz > SHA256SUMS

lint: env
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/pyright --level error --pythonpath $(BIN)/python tests/core/typed/right.py

# Always for 3.11, the oldest supported version: newer releases of some packages refuse it.
lock: env
	$(BIN)/uv pip compile pyproject.toml --extra experiments --extra audit --extra scale --extra book --extra dev --universal --generate-hashes \
	  --no-emit-index-url --python-version 3.11 --quiet --custom-compile-command "make lock" -o requirements.lock
	$(BIN)/uv pip compile benchmarks/rivals/requirements.in --universal --generate-hashes \
	  --no-emit-index-url --python-version 3.11 --quiet --custom-compile-command "make lock" -o benchmarks/rivals/requirements.lock

# Full disks, kills, damaged files, and ten million rows: stored for the page of the reference. Up to ten minutes.
robustness: env
	$(THREADS) $(BIN)/python benchmarks/robustness.py

bench: env
	$(BIN)/python benchmarks/run.py
	$(THREADS) $(BIN)/python benchmarks/reconstruction.py
	$(THREADS) $(BIN)/python benchmarks/robust.py
	$(THREADS) $(BIN)/python benchmarks/joint_diagonalisation.py
	$(THREADS) $(BIN)/python benchmarks/representation.py
	$(THREADS) $(BIN)/python benchmarks/clustering.py
	$(THREADS) $(BIN)/python benchmarks/sparse.py
	$(BIN)/python benchmarks/from_batches.py
	$(BIN)/python benchmarks/streaming.py
	$(THREADS) $(BIN)/python benchmarks/workers.py
	$(BIN)/python benchmarks/build.py

# Beside other libraries, in an environment of their own below _build. A run that was stopped goes on where it was;
# RIVALS='--data german compas' runs some of the data, '--again METHOD' a method anew.
RIVALS ?=
rivals: env
	@set -e; if ! cmp -s benchmarks/rivals/requirements.lock _build/rivals/venv/.installed-from; then \
	  echo "Installing the other libraries into _build/rivals/venv (several GB) ..."; \
	  $(BIN)/uv venv --quiet --clear --python $(BIN)/python _build/rivals/venv; \
	  $(BIN)/uv pip sync --quiet --python _build/rivals/venv/bin/python --require-hashes benchmarks/rivals/requirements.lock; \
	  cp benchmarks/rivals/requirements.lock _build/rivals/venv/.installed-from; \
	fi
	$(THREADS) $(BIN)/python benchmarks/rivals/measure.py $(RIVALS)
	$(BIN)/python -m compendium ledger

clean:
	rm -rf _build .snakemake .pytest_cache .ruff_cache .hypothesis
	find . -path ./.venv -prune -o -name __pycache__ -type d -print0 | xargs -0 rm -rf

distclean: clean
	rm -rf .venv src/*.egg-info
