# Every target installs its dependencies into a virtual environment, .venv, with the versions pinned in locks/.
# It requires Python 3.11 or later and a package index; `make PYTHON=/path/to/python3.12 test` selects another Python.

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.NOTPARALLEL:

VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
APPORTION := $(BIN)/apportion
STACK ?= dev
WORKERS ?= auto
export PYTHON
# Without bytecode, every process that a test starts compiles the modules that it imports.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help
help: ## list the targets
	@echo "make TARGET, where TARGET is one of:"
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-16s %s\n", $$1, $$2 }'

.PHONY: demo
demo: install-base ## compile the example organisation for every environment, and simulate training and inference on a shared cluster
	@$(APPORTION) dev demo

.PHONY: test
test: install-test ## run the unit, golden and property tests
	@$(PY) -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

.PHONY: test-slow
test-slow: install-dev ## run the slow tests: the wheel, large inputs, hostile policies
	@$(PY) -m pytest -n $(WORKERS) --dist worksteal -m "slow and not (e2e or bench or browser)" $(ARGS)

.PHONY: test-browser
test-browser: install-browser ## open the HTML reports in a headless Chromium (installs Debian's package if possible)
	@bash tests/browser/run.sh

.PHONY: test-lowest
test-lowest: install-dev ## run the tests with the oldest versions that pyproject.toml allows
	@.ci/test-lowest

.PHONY: check
check: install-dev ## run every linter and type checker
	@.ci/check

.PHONY: lint-imports
lint-imports: install-dev ## check the import contracts
	@$(BIN)/lint-imports

.PHONY: format
format: install-dev ## format the code and apply the safe fixes
	@$(PY) -m ruff check --fix --quiet
	@$(PY) -m ruff format

.PHONY: golden
golden: install-test ## regenerate the expected output of the tests; review the diff before committing it
	@$(PY) -m pytest -q -n $(WORKERS) --update-golden tests/golden tests/bindings tests/diagnostics tests/conformance tests/unit/policy/test_schema.py $(ARGS)
	@git status --short -- tests docs compiler/apportion_compiler/schemas

.PHONY: docs
docs: install-dev docs-tables ## build the documentation into site/; a dead link, or a page outside the navigation, fails
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict
	@echo "wrote site/index.html"

.PHONY: docs-tables
docs-tables: install-base ## regenerate the tables in docs/
	@$(APPORTION) dev docs

.PHONY: bench
bench: install-test ## measure speed and memory at full size
	@$(PY) -m pytest -m bench -s tests/benchmarks $(ARGS)

.PHONY: bench-smoke
bench-smoke: install-test ## run the benchmarks once on small input, without time limits; lists those that need other programs
	@$(PY) -m pytest -m bench --bench-smoke tests/benchmarks $(ARGS)

.PHONY: e2e
e2e: install-test ## run against a real kube-apiserver and etcd on loopback (needs Go)
	@bash tests/e2e/run.sh

.PHONY: conformance-refresh
conformance-refresh: install-test ## compare a simulated engine with decisions of another version: ENGINE=kueue CASES=decided.jsonl.gz
	@$(PY) -m tests.conformance.decision_comparison $(ENGINE) $(CASES) $(ARGS)

.PHONY: up
up: install-base ## run `pulumi up` for one environment: make up STACK=dev
	@test -f Pulumi.yaml || { echo "apportion: this tree has no Pulumi.yaml, so there is no program for \`pulumi up\`" >&2; exit 3; }
	@command -v pulumi >/dev/null || { echo "apportion: \`pulumi\` is not on PATH; install it to deploy a stack" >&2; exit 3; }
	@pulumi up --stack $(STACK)

.PHONY: lock
lock: install-dev ## update the versions in locks/, to releases older than a week
	@.ci/lock

.PHONY: build
build: install-dev ## build the wheel and the source distribution into dist/
	@rm -rf dist
	@$(PY) -m hatchling build

.PHONY: clean
clean: ## remove the virtual environment, caches and built files
	@rm -rf $(VENV) dist build site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage .coverage.*
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: install-base install-test install-browser install-dev
install-base install-test install-browser install-dev: install-%:
	@.ci/install $*
