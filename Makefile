# make demo    build, and show IoT messages being aggregated and disaggregated by two P4 switches
# make test    every test
# make help    the rest
#
# Needs git, make, Rust (rustup reads rust-toolchain.toml) and Python 3.11; what Debian packages are missing is said.

CARGO ?= cargo

.PHONY: help demo test lint build conformance fuzz bench clean

help:
	@echo "make demo          build, and run the IoT aggregation pair (with root over veth, otherwise in memory)"
	@echo "make test          all tests, formatting and lints"
	@echo "make build         target/release/forebay"
	@echo "make conformance P4C=DIR   run p4c's own programs (a checkout of github.com/p4lang/p4c) against Forebay"
	@echo "make fuzz          10 minutes for each fuzz target (needs a nightly toolchain and cargo-fuzz)"
	@echo "make bench         benchmarks"

build:
	$(CARGO) build --release --package forebay-cli

demo: build
	./target/release/forebay demo

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings

test: lint
	$(CARGO) test --workspace --quiet
	$(CARGO) build --release --package forebay-cli --quiet
	./target/release/forebay test --all programs
	./target/release/forebay test --all tests/stf

conformance:
	@test -n "$(P4C)" || { echo "say where the p4c checkout is: make conformance P4C=DIR"; exit 2; }
	$(CARGO) xtask conformance --p4c $(P4C)

clean:
	$(CARGO) clean

# Ten minutes for each target; what a run finds stands in fuzz/artifacts.
fuzz:
	@cargo fuzz --version >/dev/null 2>&1 || { echo "cargo install cargo-fuzz, and a nightly toolchain, are needed"; exit 2; }
	cd fuzz && for target in source_text stf_text ir_text packets; do \
		cargo +nightly fuzz run $$target -- -max_total_time=600 -max_len=16384 -timeout=10 -rss_limit_mb=2048 || exit 1; done

bench:
	$(CARGO) bench -p forebay-benches
	$(CARGO) bench -p forebay-tables
