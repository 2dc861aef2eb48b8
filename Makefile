# The commands of development. The workflows call the same ones.
#
#   make lint types test TESTS=tests/forest
#
# PYTHON has what `pip install -e ".[dev]"` installs: an active environment's, unless PYTHON=path says another.

PYTHON ?= python3
TESTS ?=
PAGES ?= docs/_build
DIST ?= dist
bin := $(dir $(shell command -v $(PYTHON)))
kernel = git ls-files "mddf/_kernel/*.[ch]pp" | xargs $(bin)clang-format

# ccache keeps what was compiled before, where there is one.
ifneq (,$(shell command -v ccache))
export CMAKE_CXX_COMPILER_LAUNCHER ?= ccache
endif

.PHONY: dev rebuild test lint format types docs pictures record wheel stable-wheel kernel arm64 sanitize workflows

dev: ## an editable install with the tools for a first change
	$(PYTHON) -m pip install -q "scikit-build-core>=0.11" "nanobind>=2.4" "setuptools-scm>=8" "cmake>=3.18" "ninja>=1.11"
	$(PYTHON) -m pip install -q --no-build-isolation -e ".[test-core,lint]"
	$(PYTHON) -m pre_commit install

rebuild: ## the kernel of the editable install, after changes of C++
	$(PYTHON) -m pip install -q --no-build-isolation --no-deps -e .

test: ## the tests, or those of TESTS
	$(PYTHON) -P -m pytest -n auto $(TESTS)

lint:
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(kernel) --dry-run -Werror
	$(bin)lint-imports --no-cache

format:
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .
	$(kernel) -i

types:
	$(PYTHON) -m mypy

docs: ## the pages, into PAGES
	$(PYTHON) -P -m sphinx -q -W -E -j auto docs $(PAGES)

pictures: ## the picture of README, from the league's table
	$(PYTHON) scripts/report/accuracy_cost.py --out docs/pictures

record: ## small fits of every estimator give the bits on record
	$(PYTHON) -P -m pytest -q tests/test_record.py

wheel: ## a source distribution and a wheel, into DIST
	$(PYTHON) -m build --sdist --wheel --outdir $(DIST) .

stable-wheel: ## the wheel for Python 3.12 and later: built from a source distribution, audited, tested
	PYTHON=$(PYTHON) sh scripts/maintain/stable_wheel.sh

kernel: ## the kernel's tests and the record, with and without wide vectors
	$(PYTHON) tests/run_kernel.py

arm64: ## the record on ARM64, under qemu
	PYTHON=$(PYTHON) sh scripts/maintain/arm64.sh

sanitize:
	PATH="$(bin):$$PATH" PYTHON=$(PYTHON) sh scripts/maintain/sanitize.sh memory
	PATH="$(bin):$$PATH" PYTHON=$(PYTHON) sh scripts/maintain/sanitize.sh threads

workflows: ## the workflows have the form that GitHub and Read the Docs know
	$(PYTHON) -m check_jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(PYTHON) -m check_jsonschema --builtin-schema vendor.readthedocs .readthedocs.yaml
