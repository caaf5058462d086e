# make demo    build, and show IoT messages being aggregated and disaggregated by two P4 switches
# make check   format, lints and unit tests of what was changed
# make test    every test
# make help    the rest
#
# Needs git, make, Rust (rustup reads rust-toolchain.toml) and Python 3.11. A C linker and `ip` are taken from Debian when
# they are missing and the user is root; otherwise it is said what to install.

CARGO ?= cargo
# Where cargo puts what it builds.
TARGET = $(abspath $(or $(CARGO_TARGET_DIR),target))
FOREBAY = $(TARGET)/release/forebay

.PHONY: help system build install packages package-archive package-deb package-oci package-vm test-packages test-dpdk test-tester demo lint doc check test book release conformance clients functions demo-telemetry soak siege fuzz mutate differential metamorphic memcheck concurrency bench baselines python python-if-possible wheel clean

help:
	@echo "make demo          build, and run the IoT aggregation pair (with root over veth, otherwise in memory)"
	@echo "make check         what was changed since the main branch: format, lints, unit tests"
	@echo "make test          all tests, formatting and lints"
	@echo "make build         $(FOREBAY)"
	@echo "make doc           the crates' documentation; a warning is an error"
	@echo "make book          the documents as a site in $(TARGET)/book (needs mdbook)"
	@echo "make install       executable, manual pages, completions, functions; PREFIX=/usr/local, DESTDIR="
	@echo "make packages      in $(DIST): archive, Debian package, container, virtual machine, bill of materials;"
	@echo "                   needs root, mmdebstrap, qemu-utils. Or one: package-archive, package-deb, package-oci, package-vm"
	@echo "make test-packages  the packages in fresh systems; needs root, lintian, umoci, runc, qemu-system-x86, genisoimage, iperf3"
	@echo "make release VERSION=X.Y.Z  the archive of a tagged version, with its checksum"
	@echo "make test-dpdk     ports over DPDK's virtual devices; needs root, libdpdk-dev, dpdk"
	@echo "make test-tester   the tester: 10 million frames with faults, known delays, in memory and over a cable of the kernel's;"
	@echo "                   records them in docs/tester_known_answers.json; needs root"
	@echo "make conformance P4C=DIR   run p4c's own programs (a checkout of github.com/p4lang/p4c) against Forebay"
	@echo "make clients       controllers that others wrote (from PyPI) against forebay run --grpc; needs root; STRICT=1: what is left out is a failure"
	@echo "make functions     the network functions of functions/ between hosts in network namespaces; needs root; STRICT=1"
	@echo "make demo-telemetry  monitoring and in-band telemetry in namespaces; needs root"
	@echo "make soak          controllers that die in mid-batch, 10,000 sessions, 1,000 idle streams, 1 GB of rubbish; a switch"
	@echo "                   that is killed 1,000 times while its disk is full half of the time; needs root"
	@echo "make siege         one controller that tries to push a switch over for all others; needs root"
	@echo "make fuzz          10 minutes for each fuzz target (needs a nightly toolchain and cargo-fuzz)"
	@echo "make mutate        changed packets of the functions' tests through both engines: the same must leave"
	@echo "make differential  half an hour of random P4 programs in interpreter, machine code, timed chip, several workers"
	@echo "make metamorphic  programs rewritten without a change of meaning do the same; P4C=DIR: also p4c's"
	@echo "make memcheck      random programs as machine code under valgrind: nothing is read or written outside of what is its own"
	@echo "make concurrency   what threads see of each other: every interleaving (loom), and a million writes beside packets"
	@echo "make bench         benchmarks"
	@echo "make baselines     aggregation by SDN controllers and by server software beside Forebay, and the path over a long link: 40 minutes; needs root"
	@echo "make python        the Python package: its wheel, and its tests in an environment of their own (packages from PyPI)"
	@echo "make wheel         the Python package for users, in $(TARGET)/wheels"

# What the build links with, and what the tests of real interfaces make namespaces with.
system:
	@command -v $(CARGO) >/dev/null || { echo "Rust is missing: see https://rustup.rs"; exit 2; }
	@missing=""; \
	command -v cc >/dev/null || missing="$$missing gcc libc6-dev"; \
	command -v ip >/dev/null || missing="$$missing iproute2"; \
	if [ -n "$$missing" ]; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && apt-get install -y -qq $$missing; \
		else \
			echo "please install:$$missing"; command -v cc >/dev/null || exit 2; \
		fi; \
	fi

# The executable is stripped; what debuggers and profilers need is put beside it, where they look for it. (Line tables are not among
# what rustc's split-debuginfo takes out of an executable.)
build: system
	$(CARGO) build --release --package forebay-cli
	@if command -v objcopy >/dev/null && readelf -S $(FOREBAY) 2>/dev/null | grep -q '\.debug_line'; then \
		objcopy --only-keep-debug --compress-debug-sections $(FOREBAY) $(FOREBAY).debug && \
		objcopy --strip-all $(FOREBAY) $(FOREBAY).stripped && \
		(cd $(dir $(FOREBAY)) && objcopy --add-gnu-debuglink=forebay.debug forebay.stripped) && \
		mv $(FOREBAY).stripped $(FOREBAY); \
	fi

demo: build
	$(FOREBAY) demo

lint: system
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	@if $(CARGO) deny --version >/dev/null 2>&1; then \
		$(CARGO) deny --log-level error check licenses bans sources; \
	else \
		echo "cargo-deny is not installed: licences and sources of dependencies are not checked"; \
	fi

# Links of the crates' documentation that lead nowhere, and other mistakes in it, are errors.
doc: system
	RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" $(CARGO) doc --workspace --no-deps --document-private-items --quiet

# Quick enough for every commit; BASE names another branch than main to compare with.
check: system
	$(CARGO) run --quiet --package xtask -- check $(if $(BASE),--base $(BASE))

test: lint doc
	$(CARGO) test --workspace --quiet
	$(TARGET)/debug/forebay test --quiet --engine both --all programs functions tests/stf docs/tutorial
	$(LOOM) --quiet -p forebay-tables --lib publication
	@$(MAKE) --no-print-directory python-if-possible

book:
	@mdbook --version >/dev/null 2>&1 || { \
		echo "mdbook is missing: cargo install mdbook --version 0.4.52 --locked"; exit 2; }
	python3 packaging/book.py --out $(TARGET)/book-sources
	mdbook build $(TARGET)/book-sources --dest-dir $(TARGET)/book

PREFIX ?= /usr/local
DESTDIR ?=
install: build
	python3 packaging/tree.py --binary $(FOREBAY) --prefix $(PREFIX) $(if $(DESTDIR),--destdir $(DESTDIR))

DIST = $(TARGET)/dist
VERSION_NOW = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
MADE = $(DIST)/forebay-$(VERSION_NOW)
DEB = $(DIST)/forebay_$(VERSION_NOW)_$(shell dpkg --print-architecture 2>/dev/null).deb

packages: package-archive package-deb package-oci package-vm
	@ls -lh $(DIST)

package-archive: build
	$(CARGO) xtask release --dry-run --version $(VERSION_NOW) --binary $(FOREBAY) --out $(DIST)
	python3 packaging/sbom.py > $(MADE).cdx.json

package-deb: build
	python3 packaging/deb.py --binary $(FOREBAY) --out $(DIST)

package-oci: build
	python3 packaging/oci.py --binary $(FOREBAY) --out $(DIST)

package-vm: package-deb
	python3 packaging/vm.py --package $(DEB) --out $(DIST)

test-packages:
	FOREBAY=$(FOREBAY) python3 tests/packages/test_manifests.py $(MADE).cdx.json
	python3 tests/packages/test_install.py $(FOREBAY)
	python3 tests/packages/test_documents.py $(FOREBAY)
	python3 tests/packages/test_deb.py $(DEB)
	python3 tests/packages/test_oci.py $(MADE)-oci.tar
	python3 tests/packages/test_vm.py $(MADE)-vm.qcow2
	FOREBAY=$(FOREBAY) python3 tests/packages/test_vm.py --vhost $(MADE)-vm.qcow2

# The devices of DPDK that are interfaces of the kernel too are in a namespace of their own.
test-dpdk:
	$(CARGO) test -p forebay-ports --features dpdk --test link -- devices dpdk
	unshare --net $(CARGO) test -p forebay-ports --features dpdk --test link -- devices --ignored --test-threads 1

# What a test of the second command starts in a namespace without a link is no test of its own. Delays to the microsecond want a
# quiet machine: the last command measures and records them, and fails only where they are not told apart.
test-tester: build
	$(CARGO) test --release -p forebay-tester --test known_answers -- --ignored --nocapture --skip on_the_machines_clock
	unshare --net sh -c 'ip link add va type veth peer name vb && ip link set va up && ip link set vb up && \
		TESTER_INTERFACES=1@va,2@vb $(CARGO) test --release -p forebay-tester --test interfaces -- --ignored --nocapture \
		--test-threads 1 --skip a_link'
	python3 benches/tester_known_answers.py --forebay $(abspath $(FOREBAY)) --out $(abspath docs/tester_known_answers.json)

release: build
	@test -n "$(VERSION)" || { echo "say which: make release VERSION=0.1.0"; exit 2; }
	$(CARGO) xtask release --version $(VERSION) --binary $(FOREBAY) --out $(TARGET)/dist

conformance:
	@test -n "$(P4C)" || { echo "say where the p4c checkout is: make conformance P4C=DIR"; exit 2; }
	$(CARGO) xtask conformance --p4c $(P4C)

# Every order of threads with at most PREEMPTIONS preemptions: 2 take seconds, 3 minutes.
PREEMPTIONS = 2
LOOM = RUSTFLAGS="--cfg loom" LOOM_MAX_PREEMPTIONS=$(PREEMPTIONS) $(CARGO) test --release --target-dir $(TARGET)/loom

concurrency: PREEMPTIONS = 3
concurrency: system
	$(LOOM) -p forebay-tables --lib publication
	$(LOOM) -p forebay-switch --lib ring::model
	FOREBAY_STRESS_WRITES=1000000 $(CARGO) test -p forebay-pipeline --release --test pipeline stress -- --nocapture --test-threads 1

# Random P4 programs in all executors, for half an hour.
differential: system
	$(CARGO) run --release --package forebay-differential -- --minutes 30

# Programs of the corpus, and of p4c's where P4C says where it is, in many rewritten forms.
metamorphic: system
	$(CARGO) xtask metamorphic --forms 50 $(if $(P4C),--p4c $(P4C))

# Random programs of the IR as machine code, each read and write of which is watched.
memcheck: system
	@valgrind --version >/dev/null 2>&1 || { echo "valgrind is needed: apt-get install valgrind"; exit 2; }
	CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="valgrind --undef-value-errors=no --smc-check=all --error-exitcode=9" \
		$(CARGO) test --release -p forebay-jit --test differential -- --test-threads 1

clients: build
	FOREBAY=$(abspath $(FOREBAY)) python3 tests/clients/run.py $(if $(STRICT),--strict)

functions: build
	FOREBAY=$(abspath $(FOREBAY)) python3 functions/test.py $(if $(STRICT),--strict)

# Changed packets of the functions' tests through both engines.
mutate: build
	FOREBAY=$(abspath $(FOREBAY)) python3 functions/mutate.py --packets 10000 --seed $$(date +%s)

demo-telemetry: build
	FOREBAY=$(abspath $(FOREBAY)) python3 functions/telemetry/demo.py

soak: build
	SOAK=1 FOREBAY=$(abspath $(FOREBAY)) python3 tests/clients/run.py soak state_soak

siege: build
	SIEGE=1 SIEGE_RESULTS=$(abspath docs/siege.json) FOREBAY=$(abspath $(FOREBAY)) python3 tests/clients/run.py siege

# Ten minutes for each target; what a run finds stands in fuzz/artifacts.
fuzz:
	@cargo fuzz --version >/dev/null 2>&1 || { echo "cargo install cargo-fuzz, and a nightly toolchain, are needed"; exit 2; }
	python3 fuzz/seed.py
	cd fuzz && for target in source_text stf_text ir_text pipeline_text packets pfcp telemetry_reports vhost_user memif; do \
		cargo +nightly fuzz run $$target -- -max_total_time=600 -max_len=16384 -timeout=60 -rss_limit_mb=2048 || exit 1; done
	cd fuzz && for function in 0 1 2 3 4 5 6 7 8; do FUNCTION=$$function \
		cargo +nightly fuzz run function_packets -- -max_total_time=600 -max_len=16384 -timeout=60 -rss_limit_mb=2048 || exit 1; done

# The wheel for users, for CPython 3.10 and later: pip install target/wheels/forebay-*.whl
wheel: system
	python3 -m venv $(TARGET)/python-build
	$(TARGET)/python-build/bin/pip install --quiet --disable-pip-version-check 'maturin>=1.9,<2'
	cd python && $(TARGET)/python-build/bin/maturin build --release --quiet --out $(TARGET)/wheels

# The wheel, quickly built, in an environment of its own. PYTHON_FLAGS=--durations=10, for example, goes to pytest.
PYTHON_ENVIRONMENT = $(TARGET)/python
PIP = $(PYTHON_ENVIRONMENT)/bin/pip --quiet --disable-pip-version-check
python: system
	python3 -m venv --clear $(PYTHON_ENVIRONMENT)
	$(PIP) install 'maturin>=1.9,<2'
	rm -rf $(TARGET)/python-wheel
	cd python && $(PYTHON_ENVIRONMENT)/bin/maturin build --profile dev --quiet --out $(TARGET)/python-wheel
	$(PIP) install "$$(echo $(TARGET)/python-wheel/*.whl)[test]"
	cd python && $(PYTHON_ENVIRONMENT)/bin/ruff check --quiet . ../docs/notebooks && \
		$(PYTHON_ENVIRONMENT)/bin/ruff format --quiet --check . ../docs/notebooks && \
		$(PYTHON_ENVIRONMENT)/bin/mypy && $(PYTHON_ENVIRONMENT)/bin/python -m pytest ./tests --pyargs forebay $(PYTHON_FLAGS)

# For make test: without a virtual environment or PyPI it is said that nothing was tested.
python-if-possible:
	@if python3 -m venv --clear $(PYTHON_ENVIRONMENT) >/dev/null 2>&1 && \
		$(PIP) install --timeout 20 --retries 1 'maturin>=1.9,<2' >/dev/null 2>&1; then \
		$(MAKE) --no-print-directory python; \
	else \
		echo "python: not tested, since packages cannot be installed (python3-venv, PyPI)"; \
	fi

bench: build
	$(FOREBAY) bench
	$(CARGO) bench -p forebay-tables

baselines: build
	python3 benches/baselines/measure.py --forebay $(abspath $(FOREBAY)) --record $(abspath docs/baselines/record.json) \
		--figure $(abspath docs/baselines/goodput.svg)
	python3 benches/baselines/iot_path.py --forebay $(abspath $(FOREBAY)) --record $(abspath docs/baselines/path.json)
	python3 benches/baselines/report.py

clean:
	$(CARGO) clean
