# The commands a newcomer and CI need. Each sets up what it uses (system packages, .venv, build) and repeats nothing.
#   make demo          train the example          make demo-compare  the same under PyTorch and under us
#   make test          all quick tests            make conformance   every operator against PyTorch (long)
#   make dev           build only                 make bench         speed against PyTorch
#   make bench-ops     each operator's speed      (one by one, small and large)
#   make bench-mindspore   what a call on the device "mindspore" costs over MindSpore's own
#   make bench-files   torch.save and torch.load  make fuzz-files    forged checkpoints, kills during saves
#   make sanitize      ASan+UBSan tests           make lint          clang-format, ruff, mypy
#   make test-mindspore   the device "mindspore", with MindSpore in an environment of its own
#   make compare-mindspore   four trainings on `cpu` and on the device "mindspore", loss by loss
#   make ecosystem     libraries of others under us and under PyTorch, in an environment of its own (long)
#   make own-tests     the libraries' own tests under us and under PyTorch; ARGS="--only einops" (long)
#   make ecosystem-imports   how long libraries take to import under us and under PyTorch
#   make ecosystem-scripts   public example scripts under us and under PyTorch, loss by loss (long)
#   make reference     writes docs/operators.md anew from the registry
#   make support       writes docs/support.md anew; RUNS="a.json b.json" takes in new conformance runs first
VENV ?= .venv
MINDSPORE_VENV ?= .venv-mindspore
ECOSYSTEM_VENV ?= .venv-ecosystem
BUILD ?= build
PYTHON ?= $(shell sh scripts/find_python.sh)
PY := $(VENV)/bin/python
STAMPS := $(VENV)/.stamps
PIP := $(PY) -m pip install -q --disable-pip-version-check
export PATH := $(abspath $(VENV)/bin):$(PATH)

.PHONY: demo demo-compare test test-mindspore compare-mindspore bench-mindspore ecosystem own-tests ecosystem-scripts ecosystem-imports conformance bench \
	bench-ops bench-files dev sanitize sanitize-fuzz fuzz-files sanitize-files lint reference support package clean
.DELETE_ON_ERROR:

demo: package $(STAMPS)/demo
	$(VENV)/bin/ms-adapter run examples/digits/train.py

demo-compare: package $(STAMPS)/test
	$(PY) examples/digits/compare.py

test: package $(STAMPS)/test
	ninja -C $(BUILD) core_tests
	failed=0; $(BUILD)/core_tests || failed=1; $(PY) -m pytest -q $(PYTEST_ARGS) || failed=1; exit $$failed

test-mindspore: package $(STAMPS)/test $(MINDSPORE_VENV)/.stamp
	CONFORMANCE_ORACLE="$$($(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" PYTHONPATH=. \
	  $(MINDSPORE_VENV)/bin/python -m pytest -q tests/mindspore_device $(PYTEST_ARGS)

compare-mindspore: package $(MINDSPORE_VENV)/.stamp
	$(MINDSPORE_VENV)/bin/python examples/mindspore/compare.py

bench-mindspore: package $(MINDSPORE_VENV)/.stamp
	PYTHONPATH=. $(MINDSPORE_VENV)/bin/python bench/mindspore_overhead.py $(ARGS)

ecosystem: MODULE = ecosystem
own-tests: MODULE = ecosystem.own_tests
ecosystem-scripts: MODULE = ecosystem.scripts
ecosystem-imports: MODULE = ecosystem.imports
ecosystem own-tests ecosystem-scripts ecosystem-imports: package $(STAMPS)/test $(ECOSYSTEM_VENV)/.stamp
	$(ECOSYSTEM_VENV)/bin/python -m $(MODULE) $(ARGS) \
	  --torch-path "$$($(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"

conformance: package $(STAMPS)/test
	$(PY) -m conformance $(or $(SUITE),all) $(ARGS)

bench: package $(STAMPS)/test
	$(PY) bench/bench.py $(ARGS)

bench-ops: package $(STAMPS)/test
	$(PY) bench/ops.py $(ARGS)

sanitize: package $(STAMPS)/test
	sh scripts/sanitize.sh $(VENV)

bench-files: package $(STAMPS)/test
	$(PY) bench/files.py $(ARGS)

fuzz-files: package
	$(PY) scripts/fuzz_files.py $(or $(ARGS),--count 5000)
	$(PY) scripts/kill_saves.py --count 100

sanitize-files: package
	sh scripts/sanitize.sh $(VENV) scripts/fuzz_files.py $(or $(ARGS),--count 1000)

sanitize-fuzz: package $(STAMPS)/test
	sh scripts/sanitize.sh $(VENV) -m conformance fuzz --rows --timeout 300 $(or $(ARGS),--max-samples 10)

lint: $(STAMPS)/lint
	git ls-files '*.h' '*.cpp' | xargs -r clang-format --dry-run --Werror
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy

reference: $(STAMPS)/venv
	$(PY) -m opgen --ops ops --reference docs/operators.md

support: package $(STAMPS)/test
	if [ -n "$(RUNS)" ]; then $(PY) -m conformance.support merge $(RUNS); fi
	$(PY) -m conformance.support page

# The build: configured once (ninja configures again by itself), then as much as changed.
dev: $(STAMPS)/build
	[ -f $(BUILD)/build.ninja ] || cmake -S . -B $(BUILD) -G Ninja -DPython_EXECUTABLE=$(abspath $(PY))
	ninja -C $(BUILD) $(NINJA_ARGS)

# The editable installation adds the dependencies, the metadata and the ms-adapter command.
package: dev $(BUILD)/.installed

$(BUILD)/.installed: pyproject.toml $(STAMPS)/build
	$(PIP) --no-build-isolation -e .
	touch $@

$(STAMPS)/system: scripts/setup_system.sh
	sh scripts/setup_system.sh "$(PYTHON)"
	mkdir -p $(STAMPS) && touch $@

$(STAMPS)/venv: | $(STAMPS)/system
	[ -x $(PY) ] || $(PYTHON) -m venv $(VENV)
	$(PIP) -U "pip>=25.1"
	mkdir -p $(STAMPS) && touch $@

$(STAMPS)/build: $(STAMPS)/venv
	$(PIP) "scikit-build-core>=0.11" "ninja>=1.10" "cmake>=3.20"
	touch $@

$(STAMPS)/demo $(STAMPS)/test $(STAMPS)/lint: $(STAMPS)/%: pyproject.toml $(STAMPS)/venv
	$(PIP) --group $*
	touch $@

$(ECOSYSTEM_VENV)/.stamp: $(addprefix ecosystem/,libraries.toml own_tests.toml scripts.toml install.py) $(STAMPS)/venv
	[ -x $(ECOSYSTEM_VENV)/bin/python ] || $(PYTHON) -m venv $(ECOSYSTEM_VENV)
	$(ECOSYSTEM_VENV)/bin/python ecosystem/install.py
	touch $@

$(MINDSPORE_VENV)/.stamp: pyproject.toml $(STAMPS)/venv
	[ -x $(MINDSPORE_VENV)/bin/python ] || $(PYTHON) -m venv $(MINDSPORE_VENV)
	$(PY) -m pip --python $(MINDSPORE_VENV)/bin/python install -q --disable-pip-version-check --group mindspore
	touch $@

clean:
	rm -rf $(BUILD) build-sanitize ms_adapter/_C*.so
