# Thin front of Meson and pytest; `tools/setup` installs what each target needs, once.
#   make build   build/leadline
#   make demo    leadline on an example
#   make test    everything that can be checked without watching a clock
#   make bench   figures, side by side with the peers
CACHE    := $(shell tools/setup --cache)
PYTHON   := $(CACHE)/venv/bin/python
SANITIZE := -Dstatic_tool=false -Db_lundef=false
FUZZ_SECONDS ?= 1200

.PHONY: build demo test bench fuzz wheel format clean unit check asan tsan fuzz-short e2e setup-test

build:
	@tools/setup build
	@test -f build/build.ninja || meson setup build >/dev/null
	@ninja -C build leadline >build/ninja.log || { cat build/ninja.log; exit 1; }

demo: build
	@tools/demo

setup-test:
	@tools/setup test

test: build setup-test
	@tools/run_steps unit check asan tsan fuzz-short e2e

unit: build
	@ninja -C build >build/ninja.log || { cat build/ninja.log; exit 1; }
	@meson test -C build --no-rebuild --print-errorlogs --suite unit

check:
	@tools/check_format
	@$(PYTHON) tools/check_layers.py
	@$(PYTHON) tools/check_docs.py

asan:
	@test -f build-asan/build.ninja || CC=clang meson setup build-asan -Db_sanitize=address,undefined $(SANITIZE) >/dev/null
	@ninja -C build-asan >build-asan/ninja.log || { cat build-asan/ninja.log; exit 1; }
	@meson test -C build-asan --no-rebuild --print-errorlogs --suite unit

tsan:
	@test -f build-tsan/build.ninja || CC=clang meson setup build-tsan -Db_sanitize=thread $(SANITIZE) >/dev/null
	@ninja -C build-tsan >build-tsan/ninja.log || { cat build-tsan/ninja.log; exit 1; }
	@meson test -C build-tsan --no-rebuild --print-errorlogs wire/ring collect/session

fuzz-short:
	@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=60

fuzz:
	@test -f build-fuzz/build.ninja || CC=clang meson setup build-fuzz -Dfuzz=true -Dtests=false -Db_sanitize=address,undefined $(SANITIZE) >/dev/null
	@ninja -C build-fuzz >build-fuzz/ninja.log || { cat build-fuzz/ninja.log; exit 1; }
	@tools/run_fuzz build-fuzz $(FUZZ_SECONDS)

e2e: build
	@LEADLINE=$(CURDIR)/build/leadline LEADLINE_ASAN=$(CURDIR)/build-asan/leadline $(PYTHON) -m pytest -q tests

bench: build setup-test
	@ninja -C build >/dev/null
	@$(PYTHON) benchmarks/run.py

wheel: setup-test
	@$(PYTHON) -m pip wheel --quiet --no-deps --wheel-dir dist .
	@ls dist/*.whl

format:
	@tools/check_format --fix

clean:
	rm -rf build build-asan build-tsan build-fuzz dist
