# SPDX-License-Identifier: MIT
# All of them work on a fresh Debian 12, for they install what they need by scripts/setup.
PREFIX ?= /usr/local
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
BUILD := build/release

.PHONY: help setup build demo check test test-long docs bench install uninstall format clean
help:
	@echo "make demo       set up, build, and judge three sample models"
	@echo "make build      the library and the program, in $(BUILD)"
	@echo "make check      set up, build, and run the quick tests: a minute or two"
	@echo "make test       every test, also under ASan and UBSan: 13 minutes on two idle cores"
	@echo "make test-long  ThreadSanitizer, fuzzing, more kills, other compilers, Slurm, ABI: an hour"
	@echo "make docs       the documentation as a site, in build/docs"
	@echo "make bench      speed against the published method in Python"
	@echo "make install    into PREFIX, $(PREFIX)"
	@echo "make uninstall  remove what make install put there"
	@echo "make format     clang-format everything"
	@echo "make clean      remove build/ and out/"

setup:
	@scripts/setup

# The library and the program, without the tests. PREFIX is no part of the build.
build:
	@cmake --preset release
	@cmake --build --preset release -j $(JOBS)

demo: setup build
	@mkdir -p out
	@$(BUILD)/bin/plumb doctor
	@echo
	@$(BUILD)/bin/plumb demo --out out/demo.json --report out/demo.html

check:
	@scripts/setup tests
	@JOBS=$(JOBS) scripts/test check

test:
	@scripts/setup tests
	@JOBS=$(JOBS) scripts/test test

test-long:
	@scripts/setup long
	@JOBS=$(JOBS) scripts/test long

docs: build
	@scripts/docs

bench: build
	@bench/measure

# The tests install too, so the list of what is installed here is kept under a name of its own.
install: build
	@cmake --install $(BUILD) --prefix "$(PREFIX)"
	@cp $(BUILD)/install_manifest.txt $(BUILD)/installed.txt

uninstall:
	@scripts/uninstall $(BUILD)/installed.txt

format:
	@find include src tests fuzz bench examples -name '*.[ch]' -exec clang-format -i {} +

clean:
	@rm -rf build out
