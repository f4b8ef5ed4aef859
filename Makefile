# python-sandbox: make help lists what there is to make.

FLAVOUR ?= plain
ifeq ($(FLAVOUR),plain)
BUILD := build
else
BUILD := build/$(FLAVOUR)
endif

VERSION := 0.1.0
# What version says: the commit, or what a package is called; and when, which SOURCE_DATE_EPOCH fixes.
# Root may ask in a user's tree: make install runs what is in it anyway.
REVISION := $(or $(REVISION),$(shell git -c safe.directory='$(CURDIR)' describe --always --abbrev=12 --dirty \
	2>/dev/null),unknown)
BUILT    := $(shell date -u -d "@$${SOURCE_DATE_EPOCH:-$$(date +%s)}" +%Y-%m-%dT%H:%M:%SZ)
CC      ?= gcc
PREFIX  ?= /usr/local
FUZZ_SECONDS ?= 60
PKGS    := libcurl libcjson libseccomp libmicrohttpd nettle

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes \
	-Wmissing-prototypes -Wold-style-definition -Wformat=2 -Wvla -Wundef -Wcast-qual -Wwrite-strings \
	-Wpointer-arith -Wnull-dereference -Wduplicated-cond -Wduplicated-branches -Wlogical-op \
	-Wswitch-enum -Wimplicit-fallthrough
HARDENING := -O2 -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection \
	-fcf-protection=full -ftrivial-auto-var-init=zero -fno-strict-overflow
LINK_HARDENING := -pie -Wl,-z,relro,-z,now,-z,noexecstack,--as-needed
ifeq ($(FLAVOUR),asan)
# LeakSanitizer does not work under the processes' own filters.
override CPPFLAGS += -DCONFINE_OFF
HARDENING      := -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined
LINK_HARDENING := -pie -fsanitize=address,undefined
else ifeq ($(FLAVOUR),fuzz)
CC             := clang-14
WARNINGS       := -Wall -Wextra
HARDENING      := -O1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined \
	-fno-sanitize-recover=undefined
LINK_HARDENING := -pie -fsanitize=fuzzer,address,undefined
else ifeq ($(FLAVOUR),analyze)
# At -O1 and above gcc 12 misses leaks that it reports at -Og.
HARDENING := -Og -fanalyzer
else ifeq ($(FLAVOUR),fixtures)
override CPPFLAGS += -DCONFORMANCE_FIXTURES
else ifeq ($(FLAVOUR),hostile)
# A front that has been taken over, for the tests of the walls around it.
override CPPFLAGS += -DHOSTILE_FRONT
endif
ifdef CI
WARNINGS += -Werror
endif

override CPPFLAGS += -D_GNU_SOURCE -DVERSION='"$(VERSION)"' -Isrc $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
# A build says nothing of the folder that it was made in.
override CFLAGS   += -std=gnu17 -g -ffile-prefix-map='$(CURDIR)'=. -fPIE $(WARNINGS) $(HARDENING)
override LDFLAGS  += $(LINK_HARDENING)
LDLIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null)
ifdef STATIC
# Links in what comes as an archive. Debian has none of cJSON, nor of p11-kit, which GnuTLS needs for
# libmicrohttpd; libcurl is loaded when it is needed.
ARCHIVES := $(foreach lib,microhttpd seccomp nettle cjson,\
	$(if $(filter /%,$(shell $(CC) -print-file-name=lib$(lib).a)),lib$(lib)))
LDLIBS := $(ARCHIVES:%=-l:%.a) -lgnutls -lm $(filter-out $(ARCHIVES:lib%=-l%),$(LDLIBS))
endif

Q := $(if $(V),,@)
say = $(if $(V),,@echo "  $(1)")

SRC   := $(sort $(shell find src -name '*.c'))
CMD   := $(sort $(wildcard cmd/*.c))
UNIT  := $(sort $(wildcard tests/unit/test_*.c))
FAKE  := $(sort $(wildcard tests/fake/*.c))
FUZZ  := $(sort $(wildcard tests/fuzz/fuzz_*.c))
OBJ   := $(SRC:%.c=$(BUILD)/obj/%.o) $(BUILD)/obj/gen/supervisor.o $(BUILD)/obj/gen/recipe.o
CMDO  := $(CMD:%.c=$(BUILD)/obj/%.o)
FAKEO := $(FAKE:%.c=$(BUILD)/obj/%.o)
UNITB := $(UNIT:tests/unit/%.c=$(BUILD)/tests/%)
FUZZB := $(FUZZ:tests/fuzz/%.c=$(BUILD)/fuzz/%)
RIGO  := $(patsubst %.c,$(BUILD)/obj/%.o,$(sort $(wildcard tests/fuzz/rig/*.c)))
RIGGED := $(addprefix $(BUILD)/fuzz/fuzz_,container engine service)
GEN   := $(BUILD)/gen/supervisor.c
ABOUT := $(BUILD)/obj/cmd/version.o
RECIPE := $(addprefix docker/images/,Dockerfile fill.sh fonts.py slim.txt datascience.txt gpu.txt)
LIB   := $(BUILD)/libpython-sandbox.a

# libFuzzer brings a main of its own; without it the inputs are replayed.
FUZZMAIN := $(if $(filter fuzz,$(FLAVOUR)),,$(BUILD)/obj/tests/fuzz/replay.o)

all: $(BUILD)/python-sandbox

help:
	@echo 'make          build/python-sandbox              make setup    packages, engine, image'
	@echo 'make demo     set up, build, run real scripts   make test     set up, build, pass every test'
	@echo 'make check    unit tests only                   make lint     formatter, linters, house rules'
	@echo 'make asan     unit tests with sanitizers        make valgrind unit tests under valgrind'
	@echo 'make replay   fuzz inputs with sanitizers       make fuzz     look for new ones (FUZZ_SECONDS=60)'
	@echo 'make analyze  gcc -fanalyzer                    make bench    measure'
	@echo 'make install  below $$(DESTDIR)$$(PREFIX)          make uninstall'
	@echo 'make deb      build/python-sandbox_*.deb        make clean    remove build/'
	@echo 'STATIC=1 links in the libraries that come as archives; SOURCE_DATE_EPOCH fixes the date of a build'
	@echo 'V=1 shows whole command lines; CI=1 makes warnings errors; FLAVOUR=asan builds in build/asan'

$(BUILD)/python-sandbox: $(CMDO) $(LIB)
	$(call say,LINK $@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(LIB): $(OBJ)
	$(call say,AR   $@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(BUILD)/obj/%.o: %.c Makefile $(BUILD)/gen/version
	$(call say,CC   $<)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# Made anew whenever anything else is, so that it tells when and from what.
$(ABOUT): private override CPPFLAGS += -DREVISION='"$(REVISION)"' -DBUILT='"$(BUILT)"' \
	-DFLAVOUR='"$(FLAVOUR)"' -DARCHIVES='"$(strip $(ARCHIVES))"'
$(ABOUT): $(LIB) $(filter-out $(ABOUT),$(CMDO)) $(BUILD)/gen/about

# What came from the command line the last time, for what holds it.
$(BUILD)/gen/about: TEXT := $(REVISION) $(SOURCE_DATE_EPOCH) $(ARCHIVES)
$(BUILD)/gen/version: TEXT := $(VERSION)
$(BUILD)/gen/about $(BUILD)/gen/version: FORCE
	$(Q)mkdir -p $(@D) && { echo '$(TEXT)' | cmp -s - $@ || echo '$(TEXT)' > $@; }

# The supervisor, its parts in the order of their names, as a C array, NUL-terminated.
$(GEN): $(sort $(wildcard src/sandbox/supervisor/*.py)) Makefile
	$(call say,GEN  $@)
	$(Q)mkdir -p $(@D) && { echo '#include "sandbox/supervisor.h"'; echo 'const char supervisor_py[] = {'; \
		cat $(filter %.py,$^) | od -An -v -tu1 | sed 's/\([0-9][0-9]*\)/\1,/g'; echo '0};'; } > $@.tmp && mv $@.tmp $@

# The files of the images, each as a C array, and the table of them.
$(BUILD)/gen/recipe.c: $(RECIPE) Makefile
	$(call say,GEN  $@)
	$(Q)mkdir -p $(@D) && { echo '#include "sandbox/recipe.h"'; \
		for f in $(RECIPE); do echo "static const char $$(basename $$f | tr . _)[] = {"; \
			od -An -v -tu1 $$f | sed 's/\([0-9][0-9]*\)/\1,/g'; echo '};'; done; \
		echo 'const struct recipe_file recipe_files[] = {'; \
		for f in $(RECIPE); do n=$$(basename $$f); v=$$(echo $$n | tr . _); \
			echo "{\"$$n\", $$v, sizeof($$v)},"; done; echo '{0}};'; } > $@.tmp && mv $@.tmp $@

$(BUILD)/obj/gen/%.o: $(BUILD)/gen/%.c
	$(call say,CC   $<)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(BUILD)/tests/%: tests/unit/%.c $(FAKEO) $(LIB)
	$(call say,UNIT $@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) -Itests $(CFLAGS) $(LDFLAGS) -MMD -MP -MF $@.d -MT $@ -o $@ $< \
		$(FAKEO) $(LIB) $(LDLIBS) -lcmocka

$(FUZZB): $(FUZZMAIN) $(LIB)
$(RIGGED): $(RIGO)

$(BUILD)/fuzz/%: tests/fuzz/%.c
	$(call say,FUZZ $@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -MMD -MP -MF $@.d -MT $@ -o $@ $< \
		$(filter %.o,$^) $(LIB) $(LDLIBS)

# Each runs every program, and fails at the end when one of them failed.
check: $(UNITB)
	$(Q)failed=0; for t in $(UNITB); do echo "== $$t"; \
		$(RUNNER) $$t || { echo "$$t: exit $$?"; failed=1; }; done; exit $$failed

ifeq ($(FLAVOUR),asan)
replay: $(FUZZB)
	$(Q)failed=0; for f in $(FUZZB); do name=$${f##*/fuzz_}; \
		if $$f tests/fuzz/corpus/$$name/*; then echo "ok   replay $$name"; \
		else echo "FAIL replay $$name: exit $$?"; failed=1; fi; done; exit $$failed
else
replay:
	$(Q)$(MAKE) --no-print-directory FLAVOUR=asan replay
endif

ifeq ($(FLAVOUR),fuzz)
fuzz: $(FUZZB)
	$(Q)for f in $(FUZZB); do name=$${f##*/fuzz_}; mkdir -p $(BUILD)/new/$$name; echo "== $$name"; \
		$$f -max_total_time=$(FUZZ_SECONDS) -max_len=65536 -timeout=10 -print_final_stats=1 \
			-artifact_prefix=$(BUILD)/$$name- $(BUILD)/new/$$name tests/fuzz/corpus/$$name || exit 1; done
else
fuzz:
	$(Q)command -v clang-14 >/dev/null || { echo 'make fuzz: apt-get install clang-14 libclang-rt-14-dev'; exit 1; }
	$(Q)$(MAKE) --no-print-directory FLAVOUR=fuzz fuzz
endif

setup:
	docker/setup.sh build engine

# The packages that setup brings change what pkg-config says: build in a make of its own.
demo: setup
	$(Q)$(MAKE) --no-print-directory all
	$(Q)python3 tests/demo/demo.py $(BUILD)/python-sandbox

test:
	docker/setup.sh build engine test
	$(Q)tests/run.sh

lint:
	$(Q)CPPFLAGS='$(subst ','\'',$(CPPFLAGS))' tests/lint/all.sh

asan:
	$(Q)$(MAKE) --no-print-directory FLAVOUR=asan all check

valgrind:
	$(Q)$(MAKE) --no-print-directory check RUNNER='valgrind -q --error-exitcode=1 --leak-check=full'

analyze:
	$(Q)$(MAKE) --no-print-directory FLAVOUR=analyze CI=1 all
	$(Q)CPPFLAGS='$(subst ','\'',$(CPPFLAGS))' tests/lint/tidy.sh

bench: all
	$(Q)for b in tests/bench/*.py; do echo "== $$b"; python3 $$b || exit 1; done

include cmd/share/share.mk

clean:
	rm -rf build

-include $(patsubst %.o,%.d,$(OBJ) $(CMDO) $(FAKEO) $(RIGO) $(FUZZMAIN)) $(UNITB:%=%.d) $(FUZZB:%=%.d)

FORCE:

.PHONY: FORCE all help check replay fuzz setup demo test lint asan valgrind analyze bench clean
.DELETE_ON_ERROR:
