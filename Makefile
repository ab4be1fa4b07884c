# Everything a person needs. Each target sets up what it needs by itself; nothing has to be installed by hand but
# Python 3.11+ (with venv), Java 17+ and make.

SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
N ?= 20
MINUTES ?= 60
FLEET ?= 10000

.PHONY: help setup demo demo-fleet demo-check audit-check demo-plant demo-reset manage clients-check \
  fault fault-pool fault-auditors test test-long test-unit lint types bench-auditors bench-switch bench-gateway \
  bench-coordinator bench-fresh bench-health bench-mail bench-plan bench-pipeline bench-web format wheel lock clean \
  browser haproxy record

help:  ## What there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: $(READY)  ## The virtual environment with the locked dependencies

$(READY): requirements.lock
	@$(PYTHON) setup/check_host.py
	@echo "Creating the virtual environment in $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@echo "Installing the locked dependencies (a minute or some the first time; PySpark alone is 450 MB) ..."
	@setup/install.sh $(VENV) \
	  || { echo "error: The dependencies could not be installed. Check that this machine reaches a Python package index" \
	    "(pip config list shows which), then run make again."; rm -rf $(VENV); exit 1; }
	@touch $(READY)

demo: $(READY)  ## The whole of hadash on embedded servers, with live Kafka clients; Ctrl-C stops it
	@$(BIN)/python -m hadash_sandbox demo

demo-fleet: $(READY)  ## The demo beside a large generated fleet (FLEET=10000 AppIDs; up to 100000; EVERY_DAY=yes)
	@$(BIN)/python -m hadash_sandbox demo-fleet --appids $(FLEET) $(if $(EVERY_DAY),--every-day)

demo-reset: $(READY)  ## Forget the demo's data; the next make demo starts over
	@$(BIN)/python -m hadash_sandbox reset

demo-plant: $(READY)  ## Plant a difference in a mirror of the running demo (TOPIC=shop.carts); its auditors find it
	@$(BIN)/python -m hadash_sandbox plant --topic $(or $(TOPIC),shop.carts)

manage: $(READY)  ## manage.py beside the running demo: make manage ARGS="create_token olga --name mine"
	@$(BIN)/python -m hadash_sandbox manage $(ARGS)

demo-check: $(READY)  ## Real switches without a person; prints JSON, exit 0 only if nothing was lost or doubled
	@$(BIN)/python -m hadash_sandbox check

audit-check: $(READY)  ## Switches there and back, of which auditors must find nothing (MINUTES=60)
	@$(BIN)/python -m hadash_sandbox audit-check --minutes $(MINUTES)

clients-check: $(READY)  ## Clients of fourteen libraries, there and back; needs Go 1.26, Node 20 (LIBRARIES="sarama …")
	@$(BIN)/python -m hadash_sandbox clients-check $(if $(LIBRARIES),--libraries $(LIBRARIES))

bench-switch: $(READY)  ## N=20 switches back and forth; writes var/bench/switch.json
	@$(BIN)/python -m hadash_sandbox bench-switch -n $(N)

bench-gateway: $(READY)  ## The Gateway beside the broker itself; writes var/bench/gateway.json (PARTS="latency …")
	@$(BIN)/python -m hadash_sandbox bench-gateway $(PARTS)

bench-coordinator: $(READY)  ## Rebalances of a consumer pool; writes var/bench/coordinator.json
	@$(BIN)/python -m hadash_sandbox bench-coordinator $(PARTS)

bench-auditors: $(READY)  ## How much an auditor compares, beside reading alone; writes var/bench/auditors.json
	@$(BIN)/python -m hadash_sandbox bench-auditors

bench-fresh: $(READY)  ## How soon a new demo shows all that jobs make, and all of it again; writes var/bench/fresh.json
	@$(BIN)/python -m hadash_sandbox bench-fresh

bench-health: $(READY)  ## What health pages and /metrics say while a server hangs; writes var/bench/health.json
	@$(BIN)/python -m hadash_sandbox bench-health

bench-mail: $(READY)  ## One schedule with 10,000 recipients; writes var/bench/mail.json
	@$(BIN)/python -m hadash_sandbox bench-mail

bench-plan: $(READY)  ## Finding and moving what moves together; writes var/bench/plan.json (PARTS="closure batch")
	@$(BIN)/python -m hadash_sandbox bench-plan $(PARTS)

bench-pipeline: $(READY)  ## 10 M and 100 M access reports beside DuckDB; writes var/bench/pipeline.json (SIZES="…")
	@$(BIN)/python -m hadash_sandbox bench-pipeline $(if $(SIZES),--reports $(SIZES))

bench-web: $(READY) browser  ## Pages, API, browser; writes var/bench/web.json (PARTS="…" SIZES="…" KEEP=folder)
	@$(BIN)/python -m hadash_sandbox bench-web $(PARTS) $(if $(SIZES),--sizes $(SIZES)) $(if $(KEEP),--keep $(KEEP))

record: $(READY)  ## Access reports of real clients again, as the fixture of fleets; needs Go 1.26, Node 20 and a JDK
	@$(BIN)/python -m hadash_sandbox record

fault: $(READY)  ## What dies in each stage of a switch; writes var/bench/fault.json (FAULTS="…" STAGES="…")
	@$(BIN)/python -m hadash_sandbox fault --faults $(FAULTS) --stages $(STAGES)

fault-pool: $(READY)  ## What dies in each state of a consumer pool (WHATS="…" STATES="…")
	@$(BIN)/python -m hadash_sandbox fault-pool --whats $(WHATS) --states $(STATES)

fault-auditors: $(READY)  ## What dies beside auditors, in each state (WHATS="…" STATES="…")
	@$(BIN)/python -m hadash_sandbox fault-auditors --whats $(WHATS) --states $(STATES)

browser: $(READY)  ## Chromium for the browser tests, from Debian's packages
	@setup/browser.sh

haproxy:  ## HAProxy for the tests of the PROXY protocol, from Debian's packages
	@setup/haproxy.sh

test: $(READY) browser haproxy  ## All tests but the long ones, on stacks of their own
	@setup/test.sh

test-long: $(READY) browser haproxy  ## What takes minutes a test: every library, clusters that die or are lost
	@$(BIN)/python -m hadash_sandbox exec -- $(BIN)/python -m pytest -m "long or in_turn" tests

test-unit: $(READY)  ## The tests that need no server, in minutes
	@$(BIN)/python -m pytest -m "not stack and not browser and not spark"

# Tests in seconds, without servers, of what is easily forgotten: docs/settings.md and docs/states.md as the code says,
# a variable of the pages that a Gateway must not refuse, links in the docs, lines that are too long.
FORGOTTEN = tests/test_settings_page.py tests/switching/test_states_page.py tests/gateway/test_settings.py \
  tests/dashboard/test_translations.py tests/test_docs.py tests/test_line_lengths.py

lint: $(READY)  ## Style, what may import what, that every migration is there, and what is easily forgotten
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/lint-imports \
	  && $(BIN)/python manage.py makemigrations --check --dry-run \
	  && $(BIN)/python -m pytest -q --no-header -p no:cacheprovider $(FORGOTTEN)

types: $(READY)  ## Types
	@$(BIN)/mypy

format: $(READY)  ## Format the code
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

wheel: $(READY)  ## The wheel that operators install, into var/dist (deploy/requirements.lock pins what it needs)
	@$(BIN)/uv build --quiet --wheel --no-build-isolation --python $(BIN)/python -o var/dist . && ls var/dist/*.whl

lock: $(READY)  ## Pin the dependencies of pyproject.toml again
	@$(BIN)/uv pip compile pyproject.toml --group sandbox --group test --group dev --generate-hashes --universal \
	  --python-version 3.11 --no-emit-index-url --no-header -q -o requirements.lock
	@sed 's/ *\\$$//; /--hash/d; /^ *#/d' requirements.lock > var/constraints.txt
	@$(BIN)/uv pip compile pyproject.toml -c var/constraints.txt --generate-hashes --universal \
	  --python-version 3.11 --no-emit-index-url --no-header --no-annotate -q -o deploy/requirements.lock

clean:  ## Remove the virtual environment and everything under var
	rm -rf $(VENV) var
