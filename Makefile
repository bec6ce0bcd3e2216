# Thin front of Meson and pytest; `tools/setup` installs what each target needs, once.
#   make build   build/leadline
#   make demo    leadline on an example
#   make quick   in two minutes: units, goldens, one interpreter end to end
#   make test    everything that can be checked without watching a clock
#   make bench   figures, side by side with the peers
#   make soak    half an hour of threads, processes and tasks that come and go: the recorder's memory stays flat
#   make wheel   dist/*.whl, what pip installs
#   make install PREFIX=/usr/local   the tool alone; DESTDIR is honoured
CACHE    := $(shell tools/setup --cache)
PYTHON   := $(CACHE)/venv/bin/python
comma    := ,
SANITIZE := -Dstatic_tool=false -Db_lundef=false
CLANG     = CC="$(strip $(shell command -v ccache) clang)"
PYTEST    = LEADLINE=$(CURDIR)/build/leadline LEADLINE_ASAN=$(CURDIR)/build-asan/leadline $(PYTHON) -m pytest -q
SIDE_BY_SIDE := $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 1200
SOAK_MINUTES ?= 30
FUZZ_TARGETS ?=
# Meson finds ccache itself where no compiler is named. Debug information may then name another checkout.
export CCACHE_DIR := $(CACHE)/ccache
export CCACHE_NOHASHDIR := 1

# $(call configure,FOLDER,ENVIRONMENT,OPTIONS): once; Meson's own words when it fails.
configure = test -f $(1)/build.ninja || $(2) meson setup $(1) $(3) >/dev/null || \
	{ tail -15 $(1)/meson-logs/meson-log.txt >&2; exit 1; }

# $(call agents,FOLDER): configures anew when interpreters have come or gone since, so that each gets its agent.
agents = tools/agent_headers >$(1)/agents.new; cmp -s $(1)/agents.new $(1)/agents.list || \
	{ test ! -f $(1)/agents.list || meson setup --reconfigure $(1) >/dev/null; mv $(1)/agents.new $(1)/agents.list; }

.PHONY: build build-all demo quick test bench soak fuzz wheel install format clean unit page check build-asan asan tsan fuzz-short e2e setup-test pictures

build:
	@tools/setup build
	@$(call configure,build)
	@$(call agents,build)
	@ninja -C build leadline >build/ninja.log || { cat build/ninja.log; exit 1; }

# With the unit tests and the programs that the end-to-end tests watch.
build-all: build
	@ninja -C build >build/ninja.log || { cat build/ninja.log; exit 1; }

demo: build
	@tools/demo

setup-test:
	@tools/setup test

# Unit tests run here under sanitizers only.
test: setup-test build-all
	@tools/run_steps check,page,asan,tsan fuzz-short e2e

quick: setup-test unit
	@$(PYTEST) -p no:benchmark -n $(SIDE_BY_SIDE) --dist loadfile -m "not measured and not alone" -k "(test_golden and static) or (3.13 and not 3.13t and not sanitized)" tests/golden tests/e2e

unit: build-all
	@meson test -C build --no-rebuild --print-errorlogs --suite unit

page:
	@cd ui && node_modules/.bin/tsc --noEmit && node_modules/.bin/vitest run --dir src --reporter=dot

check:
	@tools/check_format
	@$(PYTHON) tools/check_layers.py
	@$(PYTHON) tools/check_docs.py

# The fuzz targets are built with it: the same parts under the same sanitizers, compiled once.
build-asan:
	@$(call configure,build-asan,$(CLANG),-Dfuzz=true -Db_sanitize=address$(comma)undefined $(SANITIZE))
	@ninja -C build-asan >build-asan/ninja.log || { cat build-asan/ninja.log; exit 1; }

asan: build-asan
	@meson test -C build-asan --no-rebuild --print-errorlogs --suite unit

tsan:
	@$(call configure,build-tsan,$(CLANG),-Dagents=false -Db_sanitize=thread $(SANITIZE))
	@ninja -C build-tsan tests/test_wire_ring tests/test_collect_agents_session >build-tsan/ninja.log || { cat build-tsan/ninja.log; exit 1; }
	@meson test -C build-tsan --no-rebuild --print-errorlogs wire/ring collect/agents/session

fuzz-short:
	@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=60

fuzz: build-asan
	@tools/run_fuzz build-asan $(FUZZ_SECONDS) $(FUZZ_TARGETS)

# Files side by side, one more than there are CPUs because tests wait, too; then one test after the other what measures or looks at
# the machine: docs/decisions/0040.
e2e: build-all
	@status=0; \
	$(PYTEST) --durations=15 --durations-min=5 -p no:benchmark -n $(SIDE_BY_SIDE) --dist loadfile -m "not alone and (not measured or beside)" tests || status=1; \
	$(PYTEST) --durations=15 --durations-min=5 -m "alone or (measured and not beside)" tests || status=1; \
	exit $$status

# The guide's, out of real recordings; whoever changes the page looks at them and commits them.
pictures: build setup-test
	@cd ui && LEADLINE=$(CURDIR)/build/leadline LEADLINE_PICTURES=$(CURDIR)/docs/guide/pictures \
		node_modules/.bin/vitest run --dir e2e --testTimeout=300000 --hookTimeout=300000 pictures

bench: setup-test build-all
	@$(PYTHON) benchmarks/run.py

soak: setup-test build
	@$(PYTHON) benchmarks/soak.py --minutes $(SOAK_MINUTES)

# What people get from PyPI, one file for x86-64 and a small one for machines that the tool does not run on.
wheel: setup-test
	@mkdir -p dist
	@$(PYTHON) tools/wheel.py dist >dist/wheel.log 2>&1 || { tail -15 dist/wheel.log >&2; exit 1; }
	@grep '\.whl ' dist/wheel.log

# One executable, which brings the agents, the page and the Python package that programs under it import.
install: build
	@install -D -s -m 755 build/leadline '$(DESTDIR)$(PREFIX)/bin/leadline'
	@install -D -m 644 -t '$(DESTDIR)$(PREFIX)/share/doc/leadline' README.md LICENSE
	@install -D -m 644 -t '$(DESTDIR)$(PREFIX)/share/doc/leadline/man' docs/man/*.md
	@echo '$(DESTDIR)$(PREFIX)/bin/leadline'

format:
	@tools/check_format --fix

clean:
	rm -rf build build-asan build-tsan build-wheel dist
