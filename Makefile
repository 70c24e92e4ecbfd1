# Everything that a developer or CI runs. `make` alone lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Targets of `make test` run in the order given, also under -j: the first failure is the one that is seen.
.NOTPARALLEL:
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
# `make demo DEMO_ARGS=--open` opens a browser as well, DEMO_ARGS=--check tells what was found and ends.
DEMO_ARGS ?=
# Passed on to pytest, for example: make unit PYTEST_ARGS="-p randomly -p no:cacheprovider -p 'randomly_seed=1'"
PYTEST_ARGS ?=
# Processes that share the tests: they wait for servers much of the time, so one more than a small machine has cores. A file's tests
# stay together, since they may share a server.
PYTEST_PROCESSES ?= 3
# `make lock UPGRADE=--upgrade` moves every pin to the newest release; without it, pins that still fit stay.
UPGRADE ?=
DASHBOARDS_ARGS ?=
# `make image IMAGE=registry.example/kuberay-advisor IMAGE_ARGS="--build-arg BASE_IMAGE=python:3.13-slim-bookworm@sha256:..."`
IMAGE ?= kuberay-advisor
IMAGE_ARGS ?=
# What one environment needs beside, see there.
PIP_ARGS :=

# "command:debian-package" for each tool beside Python that tests need, or "/file:debian-package". None has to run as a service.
SYSTEM_TOOLS ?= prometheus:prometheus promtool:prometheus chromium:chromium curl:curl \
  /usr/share/dict/british-english:wbritish

DEMO := .venv/bin
TEST := .venv-test/bin
BUILD := .venv-build/bin
LOCK := .venv-lock/bin
SBOM := .venv-sbom/bin
BUILDER := .venv-dashboards/bin
BROWSER := tests/browser

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: .venv/.stamp build ## install into .venv and watch a simulated operator go through faults, in a browser
	$(DEMO)/python -m pip install --quiet --no-deps --force-reinstall dist/*.whl
	$(DEMO)/kuberay-advisor demo $(DEMO_ARGS)

.PHONY: test
test: system-deps lint types layers dashboards-check unit lab-smoke ## run every check and test, as CI does
	@echo "test: everything passed"

.PHONY: lint
lint: .venv-test/.stamp ## ruff: rules and format
	$(TEST)/ruff check
	$(TEST)/ruff format --check

.PHONY: format
format: .venv-test/.stamp ## ruff: format and mend what can be mended
	$(TEST)/ruff check --fix
	$(TEST)/ruff format

.PHONY: types
types: .venv-test/.stamp ## mypy, strict
	$(TEST)/mypy

.PHONY: layers
layers: .venv-test/.stamp ## import-linter: layers and purity
	$(TEST)/lint-imports --no-logo

# PYTHONSAFEPATH keeps the source tree off sys.path: what is tested is the wheel as a user installs it.
.PHONY: unit
unit: .venv-test/.stamp .venv-sbom/.stamp $(BROWSER)/node_modules/.stamp chart-tools build ## pytest against the installed wheel, with branch coverage
	$(TEST)/python -m pip install --quiet --no-deps --force-reinstall dist/*.whl
	$(TEST)/coverage erase
	PYTHONSAFEPATH=1 ADVISOR_EXPECT_WHEEL=1 $(TEST)/coverage run -m pytest --numprocesses $(PYTEST_PROCESSES) --dist loadfile $(PYTEST_ARGS)
	$(TEST)/coverage combine --quiet
	$(TEST)/coverage report

# Grafana's dashboards: YAML of grafana-dashboard-builder in dashboards/sources, which is needed to make them and for nothing else.
.PHONY: dashboards
dashboards: .venv-dashboards/.stamp ## write dashboards/*.json from their sources (DASHBOARDS_ARGS="--clusters --out DIR")
	$(BUILDER)/python -m scripts.dashboards $(DASHBOARDS_ARGS)

.PHONY: dashboards-check
dashboards-check: .venv-dashboards/.stamp ## fail where the dashboards are not what their sources say
	$(BUILDER)/python -m scripts.dashboards --check

# Needs prometheus: what is drawn is what a real one answers for recordings of a real operator.
.PHONY: dashboards-pictures
dashboards-pictures: .venv-test/.stamp ## draw the dashboards for the docs into docs/pictures
	$(TEST)/python -m scripts.dashboards.pictures

# Needs chromium: the demo's pages as README and docs show them.
.PHONY: pictures
pictures: .venv-test/.stamp ## take the pictures of the demo's pages for the docs into docs/pictures
	$(TEST)/python -m tests.browser.pictures

# The traces are stored, so tests need no Go; this plays them anew on the real queues.
.PHONY: conformance
conformance: ## renew the traces of the real Go queues (needs go)
	go -C tests/conformance/go test -count=1 -run '^TestTraces$$' . -args -write
	git diff --stat -- tests/data/conformance

.PHONY: rules
rules: .venv-test/.stamp ## write rules/ and docs/alerts.md from scripts/rules
	$(TEST)/python -m scripts.rules
	$(TEST)/python -m scripts.generate_docs

.PHONY: rules-replay
rules-replay: .venv-test/.stamp ## play the rules over all recordings and hours, and write where they fire
	$(TEST)/python -m tests.rules.replayed
	$(TEST)/python -m scripts.generate_docs

.PHONY: chart
chart: .venv-test/.stamp ## write what helm/kuberay-advisor has of rules, dashboards and the comments of its values
	$(TEST)/python -m scripts.chart

# Helm is built from its Go module, once: some minutes on a small machine. Without, the chart's tests are skipped; in CI
# that is a failure of theirs.
.PHONY: chart-tools
chart-tools: .venv-test/.stamp ## build helm, which the chart's tests need (needs go)
	@if command -v go >/dev/null; then \
	  $(LAB) build helm; \
	else \
	  echo "chart-tools: no go here, so tests of the chart are left out"; \
	fi

RECORDINGS ?= ../shared/recordings

.PHONY: fidelity
fidelity: .venv-test/.stamp ## predict recordings of a real operator and write docs/fidelity.md
	$(TEST)/python -m scripts.fidelity $(RECORDINGS)

# The lab: a real control plane and the real KubeRay controllers on loopback; docs/lab.md.
LAB = $(TEST)/python -m tests.lab
LAB_ARGS ?=
REPEAT ?= 1

.PHONY: lab-build
lab-build: .venv-test/.stamp ## build the lab's programs (needs go; some twenty minutes the first time)
	$(LAB) build

.PHONY: lab
lab: .venv-test/.stamp ## bring up a control plane and KubeRay's controllers; Ctrl-C takes them down
	$(LAB) up $(LAB_ARGS)

.PHONY: lab-run
lab-run: .venv-test/.stamp ## run SCENARIO=NAME in the lab and analyse it
	$(LAB) run $(SCENARIO)

.PHONY: lab-test
lab-test: .venv-test/.stamp ## run the lab's scenarios and check the product's verdicts (REPEAT=5 for five runs)
	$(LAB) test --repeat $(REPEAT) $(LAB_ARGS)

# Part of `make test`, where Go tools and the lab's programs are; says so where they are not.
.PHONY: lab-smoke
lab-smoke: .venv-test/.stamp ## the proxy's own tests, and one small scenario if the lab is built
	@if command -v go >/dev/null; then \
	  go -C tests/lab/go/faultproxy vet ./... && go -C tests/lab/go/faultproxy test ./...; \
	else \
	  echo "lab-smoke: no go here, so the proxy's own tests are left out"; \
	fi
	$(LAB) smoke

# The date of everything in sdist and wheel, so that a second build gives the same bytes: that of the last commit, in an unpacked
# sdist the date that this one was built with, else hatchling's own.
BUILD_DATE = $(shell git log -1 --format=%ct 2>/dev/null || $(PYTHON) -c 'import os; print(int(os.stat("PKG-INFO").st_mtime))' \
  2>/dev/null || echo 1580601600)

.PHONY: build
build: .venv-build/.stamp ## sdist, and from it the wheel, in dist/; the same bytes from the same tree
	rm -rf dist
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$(BUILD_DATE)} $(BUILD)/python -m build --no-isolation --outdir dist .

# Licences are read from the environment of the tests, which has what an install brings in the same versions.
.PHONY: sbom
sbom: .venv-sbom/.stamp .venv-test/.stamp build ## bill of materials (CycloneDX) of what an install brings, in dist/; and docs/licences.md
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$(BUILD_DATE)} $(SBOM)/python -m scripts.sbom --installed .venv-test \
	  --built dist/*.whl dist/*.tar.gz --out dist/kuberay_advisor.cdx.json
	$(TEST)/python -m scripts.generate_docs

# Its layers carry the time of the last commit where the engine can do that; docs/image.md.
.PHONY: image
image: ## build the container image with docker or podman (IMAGE=NAME IMAGE_ARGS=...)
	@engine=""; \
	for one in docker podman; do if $$one info >/dev/null 2>&1; then engine=$$one; break; fi; done; \
	if [[ -z "$$engine" ]]; then \
	  echo "image: neither docker nor podman answers here; start one, or build where one runs" >&2; exit 1; \
	fi; \
	version="$$(sed -n 's/^__version__ = "\(.*\)"/\1/p' advisor/__init__.py)"; \
	revision="$$(git rev-parse HEAD 2>/dev/null || true)"; \
	when="$$(git log -1 --format=%ct 2>/dev/null || echo 0)"; \
	SOURCE_DATE_EPOCH="$$when" $$engine build --build-arg SOURCE_DATE_EPOCH="$$when" --build-arg VERSION="$$version" \
	  --build-arg REVISION="$$revision" --tag "$(IMAGE):$$version" $(IMAGE_ARGS) .; \
	echo "image: $(IMAGE):$$version"

# Lock files cover every platform and Python >= 3.11, hold hashes, and name no index.
.PHONY: lock
lock: .venv-lock/.stamp ## pin the dependencies again (UPGRADE=--upgrade for the newest)
	compile() { $(LOCK)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-emit-find-links --custom-compile-command "make lock" $(UPGRADE) "$$@"; }; \
	compile requirements/lock.in --output-file requirements/lock.txt; \
	compile pyproject.toml --output-file requirements/runtime.txt; \
	compile requirements/build.in --output-file requirements/build.txt; \
	compile requirements/sbom.in --output-file requirements/sbom.txt; \
	compile --no-deps requirements/dashboards.in --output-file requirements/dashboards.txt; \
	compile pyproject.toml requirements/dev.in --constraint requirements/runtime.txt --output-file requirements/dev.txt; \
	compile pyproject.toml --extra kubernetes --constraint requirements/dev.txt --output-file requirements/image.txt
	@if grep -n '://' requirements/*.txt; then echo "lock: a lock file names an address"; exit 1; fi

# A Debian package starts its service when it is installed and at each boot. Tests start what they need themselves, so
# both are kept from happening: the first by the policy that Debian asks, the second by disabling what came.
.PHONY: system-deps
system-deps: ## install the system packages that tests need, if any is missing
	@missing=""; \
	for pair in $(SYSTEM_TOOLS); do \
	  [[ " $$missing " == *" $${pair##*:} "* ]] || [[ -e "$${pair%%:*}" ]] \
	    || command -v "$${pair%%:*}" >/dev/null || missing+=" $${pair##*:}"; \
	done; \
	if [[ -z "$$missing" ]]; then \
	  echo "system-deps: nothing to install"; \
	elif ! command -v apt-get >/dev/null; then \
	  echo "system-deps: no apt-get here; install by hand, or tests are skipped:$$missing"; \
	else \
	  echo "system-deps: installing$$missing"; \
	  as_root=""; [[ $$EUID -eq 0 ]] || as_root=sudo; \
	  policy=/usr/sbin/policy-rc.d; \
	  if [[ ! -e $$policy ]]; then \
	    trap "$$as_root rm -f $$policy" EXIT; \
	    printf '#!/bin/sh\nexit 101\n' | $$as_root install -m 755 /dev/stdin $$policy; \
	  fi; \
	  $$as_root apt-get update --quiet; \
	  $$as_root env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends $$missing; \
	  if command -v systemctl >/dev/null; then \
	    dpkg-query --listfiles $$missing | sed -n 's|.*/systemd/system/\([^/]*\.service\)$$|\1|p' \
	      | xargs --no-run-if-empty $$as_root systemctl --quiet disable; \
	  fi; \
	fi

.PHONY: clean
clean: ## remove environments, builds and caches
	rm -rf .venv .venv-test .venv-build .venv-lock .venv-sbom .venv-dashboards $(BROWSER)/node_modules build dist htmlcov lab-recordings \
	  .coverage .coverage.* .hypothesis \
	  .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One environment per lock file, made anew when the file changes.
.venv/.stamp: requirements/runtime.txt
.venv-test/.stamp: requirements/dev.txt
.venv-build/.stamp: requirements/build.txt
.venv-lock/.stamp: requirements/lock.txt
.venv-sbom/.stamp: requirements/sbom.txt
.venv-dashboards/.stamp: requirements/dashboards.txt
# The builder's own dependencies are a client to upload with, and Kerberos; what it needs is in the lock file.
.venv-dashboards/.stamp: PIP_ARGS := --no-deps
.venv/.stamp .venv-test/.stamp .venv-build/.stamp .venv-lock/.stamp .venv-sbom/.stamp .venv-dashboards/.stamp:
	rm -rf $(@D)
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) --require-hashes --requirement $<
	touch $@

# What the browser tests need beside Chromium. Without npm they are skipped; in CI that is a failure of theirs.
$(BROWSER)/node_modules/.stamp: $(BROWSER)/package-lock.json $(BROWSER)/package.json
	@if command -v npm >/dev/null; then \
	  npm ci --ignore-scripts --no-fund --no-audit --loglevel=error --prefix $(BROWSER) && touch $@; \
	else \
	  echo "browser: no npm here, so tests with a browser are left out"; \
	fi
