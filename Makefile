# SPDX-License-Identifier: MIT
# The two that matter are `make demo` and `make test`; both work on a fresh Debian 12.
PREFIX ?= /usr/local
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
BUILD := build/release

.PHONY: help setup build demo test bench install uninstall format clean
help:
	@echo "make demo       set up, build, and judge three sample models"
	@echo "make test       set up, build, and run every test, also under ASan and UBSan"
	@echo "make build      the library and the program, in $(BUILD)"
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

test:
	@scripts/setup tests
	@scripts/test release asan

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
